//! A broker in a machine of its own, for somebody's own test: it touches no thread, socket, file or clock of the real machine, a week passes in
//! milliseconds, and the same seed and the same calls are the same run.
//!
//! `tests/scenarios` shows it at work. It must not know what is asked or what the answers should be: that is the test's part.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use klamm::config::{ConfigProblems, Sources, StaticConfig};
use klamm::protocol::header::decode_response_header;
use klamm::protocol::{ApiKey, DecodeError, Decoder, Message, encode_request};
use klamm::server::StartError;
use klamm::types::{Instant, Now};

use crate::broker_machine::{BrokerMachine, Layout, LogDirectories};
use crate::client_socket::ClientSocket;
use crate::panics::Panic;
use crate::scheduler::{Party, Scheduler};
use crate::world::{Crash, World, WorldOptions};

/// How long a call waits for its answer, in simulated time.
const PATIENCE: Duration = Duration::from_secs(600);
/// An orderly stop is over by then.
const STOP_PATIENCE: Duration = Duration::from_secs(60);
/// What the machine decides; everything else is the caller's or Kafka's default.
const FIXED: [&str; 4] =
    ["listeners=PLAINTEXT://10.1.0.1:9092", "log.dirs=/data", "num.network.threads=2", "num.io.threads=2"];
const HANDLERS: usize = 2;
/// Units of work in one step of a Processor.
const QUANTUM: usize = 16;

/// Why there is no broker.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// A setting that makes no sense.
    #[error(transparent)]
    Config(#[from] ConfigProblems),
    /// The broker does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The broker does not stop in order.
    #[error("the broker does not stop in order: {0}")]
    Stop(String),
}

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The broker is down, or has closed the connection.
    #[error("the connection is over")]
    Over,
    /// Ten minutes of simulated time went by.
    #[error("no answer came within ten minutes")]
    Unanswered,
    /// What came is no answer to this request.
    #[error("what came is no answer: {0}")]
    Unreadable(DecodeError),
    /// The answer belongs to another request.
    #[error("what came is the answer to request {0} of the connection")]
    Foreign(i32),
}

/// The broker, its machine, and who steps next. It runs only while it is called.
pub struct Broker {
    world: World,
    layout: Layout,
    machine: Option<BrokerMachine>,
    scheduler: Scheduler,
    connections: u32,
}

/// A client's connection.
pub struct Connection {
    /// To be read and written by hand, for what no client should send.
    pub socket: ClientSocket,
    incoming: Vec<u8>,
    next_correlation_id: i32,
}

/// A request that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    api_key: ApiKey,
    version: i16,
    correlation_id: i32,
}

/// An answer, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What stands behind the header.
    pub body: Vec<u8>,
    /// The version of the API in which it was asked and answered.
    pub version: i16,
}

impl Answer {
    /// What it says.
    pub fn read<'a, M: Message<'a>>(&'a self) -> Result<M, DecodeError> {
        M::decode(&mut Decoder::new(&self.body), self.version)
    }
}

impl Broker {
    /// Starts a broker on an empty disk of a machine without faults. `settings` are lines `key=value` as in `server.properties`; the machine has the last
    /// word about `listeners`, `log.dirs` and the numbers of threads. The seed decides who steps next, and what chance decides in a machine.
    pub fn start(seed: u64, settings: &[&str]) -> Result<Broker, BrokerError> {
        Broker::start_in(WorldOptions::calm(seed), settings)
    }

    /// Starts it in a machine of the caller's making, for instance one whose disk fails now and then.
    pub fn start_in(options: WorldOptions, settings: &[&str]) -> Result<Broker, BrokerError> {
        let scheduler = Scheduler::new(options.seed);
        Broker::with_scheduler(options, settings, scheduler)
    }

    /// The same with no choice of who steps next: each in its turn. For fuzzers, whose input is the only thing that may vary.
    pub fn start_in_turn(settings: &[&str]) -> Result<Broker, BrokerError> {
        let options = WorldOptions::calm(1);
        let scheduler = Scheduler::in_turn(options.seed);
        Broker::with_scheduler(options, settings, scheduler)
    }

    fn with_scheduler(options: WorldOptions, settings: &[&str], scheduler: Scheduler) -> Result<Broker, BrokerError> {
        let sources = Sources::new().with_overrides(settings.iter().chain(&FIXED).copied());
        let config = StaticConfig::from_sources(&sources)?;
        let layout = Layout {
            closes_idle: false,
            config,
            directories: LogDirectories::default(),
            handlers: HANDLERS,
            handlers_beside: true,
            quantum: QUANTUM,
        };
        let world = World::new(options);
        let mut broker = Broker { world, layout, machine: None, scheduler, connections: 0 };
        broker.restart()?;
        Ok(broker)
    }

    /// Starts it anew on the disk as it is. One that is up is killed before.
    pub fn restart(&mut self) -> Result<(), BrokerError> {
        if self.machine.is_some() {
            self.crash(Crash::Process);
        }
        self.machine = Some(BrokerMachine::start(&self.world, &self.layout)?);
        Ok(())
    }

    /// Takes it down, as a kill does or a power cut.
    pub fn crash(&mut self, crash: Crash) {
        match self.machine.take() {
            Some(machine) => machine.crash(crash),
            None => self.world.crash(crash),
        }
    }

    /// Stops it as `SIGTERM` does: what is in work is answered, everything is synced, and the next start has nothing to recover.
    pub fn stop(&mut self) -> Result<(), BrokerError> {
        let Some(machine) = &mut self.machine else { return Ok(()) };
        let begun = machine.begin_drain();
        self.unless_panicked(begun);
        let limit = self.after(STOP_PATIENCE);
        while self.machine.as_ref().is_some_and(|machine| !machine.is_drained()) && self.go_on(limit) {}
        let stopped = match &self.machine {
            Some(machine) if machine.is_drained() => machine.shut_down(),
            Some(machine) => Err(format!("it waits for something: {}", machine.waits_for())),
            None => Err("it has ended itself, since what is on its disk is unknown".to_string()),
        };
        self.crash(Crash::Process);
        stopped.map_err(BrokerError::Stop)
    }

    /// Whether it is up: neither stopped nor taken down, and it has not ended itself.
    pub fn is_up(&self) -> bool {
        self.machine.is_some()
    }

    /// The machine: its time, its faults, its disk.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// What its clocks show.
    pub fn now(&self) -> Now {
        self.world.now()
    }

    /// How many connections it holds.
    pub fn open_connections(&self) -> u64 {
        self.world.open_connections()
    }

    /// A new connection. Whether somebody listens shows when it is used.
    pub fn connect(&mut self) -> Connection {
        self.connections += 1;
        let port = 1_024 + u16::try_from(self.connections % 60_000).unwrap_or(0);
        let from = SocketAddr::from(([10, 2, 0, 1], port));
        let to = SocketAddr::from(([10, 1, 0, 1], 9_092));
        let socket = self.world.connect(u64::from(self.connections), from, to);
        Connection { socket, incoming: Vec::new(), next_correlation_id: 1 }
    }

    /// Sends a request and lets time pass until its answer is there. Panics if a role of the broker does.
    pub fn call<'m, M: Message<'m>>(
        &mut self,
        connection: &mut Connection,
        api: (ApiKey, i16),
        message: &M,
    ) -> Result<Answer, CallError> {
        let asked = self.send(connection, api, message)?;
        self.receive(connection, asked)
    }

    /// Sends a request. Its answer comes after those to the requests before it.
    pub fn send<'m, M: Message<'m>>(
        &mut self,
        connection: &mut Connection,
        (api_key, version): (ApiKey, i16),
        message: &M,
    ) -> Result<Asked, CallError> {
        let correlation_id = connection.next_correlation_id;
        connection.next_correlation_id = correlation_id.wrapping_add(1);
        let frame = encode_request(api_key, version, correlation_id, Some("scenario"), message);
        let limit = self.after(PATIENCE);
        self.write(connection, &frame.bytes, limit)?;
        Ok(Asked { api_key, version, correlation_id })
    }

    /// Lets time pass until the answer to a request is there.
    pub fn receive(&mut self, connection: &mut Connection, asked: Asked) -> Result<Answer, CallError> {
        let Asked { api_key, version, correlation_id } = asked;
        let limit = self.after(PATIENCE);
        let frame = self.next_frame(connection, limit)?;
        let mut decoder = Decoder::new(&frame);
        let answers = decode_response_header(&mut decoder, api_key, version).map_err(CallError::Unreadable)?;
        if answers != correlation_id {
            return Err(CallError::Foreign(answers));
        }
        let body = frame[frame.len() - decoder.remaining()..].to_vec();
        Ok(Answer { body, version })
    }

    fn write(&mut self, connection: &mut Connection, mut bytes: &[u8], limit: Instant) -> Result<(), CallError> {
        while !bytes.is_empty() {
            match connection.socket.write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait(limit)?,
                Err(_) => return Err(CallError::Over),
            }
        }
        Ok(())
    }

    fn next_frame(&mut self, connection: &mut Connection, limit: Instant) -> Result<Vec<u8>, CallError> {
        let mut buffer = [0; 4_096];
        loop {
            if let Some(frame) = connection.take_frame() {
                return Ok(frame);
            }
            match connection.socket.read(&mut buffer) {
                Ok(0) => return Err(CallError::Over),
                Ok(read) => connection.incoming.extend_from_slice(&buffer[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait(limit)?,
                Err(_) => return Err(CallError::Over),
            }
        }
    }

    fn wait(&mut self, limit: Instant) -> Result<(), CallError> {
        if self.go_on(limit) { Ok(()) } else { Err(CallError::Unanswered) }
    }

    /// Lets so much time pass, and everything happen that comes due in it.
    pub fn pass(&mut self, time: Duration) {
        let limit = self.after(time);
        while self.go_on(limit) {}
    }

    /// The same, but gives up after so many steps: false if the broker does not come to rest.
    pub fn settle(&mut self, time: Duration, steps_max: u64) -> bool {
        let (limit, steps) = (self.after(time), self.scheduler.steps());
        while self.go_on(limit) {
            if self.scheduler.steps() - steps > steps_max {
                return false;
            }
        }
        true
    }

    /// One step of one role, or, if none can go on, a jump of time to what comes next; false when that is after `limit`.
    fn go_on(&mut self, limit: Instant) -> bool {
        while self.world.next_touched_client().is_some() {}
        let moment = self.world.moment();
        let roles = self.machine.iter().flat_map(|machine| machine.runnable(&moment));
        let runnable: Vec<Party> = roles.map(Party::Role).collect();
        drop(moment);
        if !runnable.is_empty() {
            self.step(&runnable);
            return true;
        }
        let roles = self.machine.as_ref().and_then(BrokerMachine::next_due);
        match [self.world.next_due(), roles].into_iter().flatten().min() {
            Some(due) if due <= limit => {
                self.world.advance_to(due);
                true
            }
            _ => {
                self.world.advance_to(limit);
                false
            }
        }
    }

    fn step(&mut self, runnable: &[Party]) {
        let (Party::Role(number), Some(machine)) = (self.scheduler.pick(&self.world, runnable), &mut self.machine)
        else {
            return;
        };
        let stepped = machine.step(number);
        self.unless_panicked(stepped);
        if self.machine.as_ref().is_some_and(BrokerMachine::must_stop) {
            self.crash(Crash::Process);
        }
    }

    /// Whoever tests wants to see a role's panic where the test stands.
    fn unless_panicked(&mut self, stepped: Result<(), Panic>) {
        if let Err(Panic { place, message }) = stepped {
            // Its locks are poisoned: dropping it would panic again.
            std::mem::forget(self.machine.take());
            panic!("a role of the broker panicked at {place}: {message}");
        }
    }

    fn after(&self, time: Duration) -> Instant {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Instant(self.now().instant.0.saturating_add(nanoseconds))
    }
}

impl Connection {
    fn take_frame(&mut self) -> Option<Vec<u8>> {
        let length = usize::try_from(i32::from_be_bytes(*self.incoming.first_chunk()?)).unwrap_or(0);
        let frame = self.incoming.get(4..length.checked_add(4)?)?.to_vec();
        self.incoming.drain(..4 + length);
        Some(frame)
    }
}
