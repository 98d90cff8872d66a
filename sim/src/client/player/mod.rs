//! A client that plays a scene when faults are over: several connections, every question and every answer as it must be, and time between them.
//!
//! What a workload of chance brings about too seldom, or what nobody could judge in the midst of it, has its scene here. Between the two acts of a scene the broker goes
//! down. It must not know what a scene is about.

mod groups; // what scenes about groups share
mod stage; // what a scene has to do with the broker
mod topics; // what scenes about topics share

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use klamm::types::Instant;

use self::stage::{Answer, Otherwise, Played, Prompter, Stage};
use super::connection::{earlier, later};
use super::{Client, ClientConnection, ClientContext, ConnectionNews};
use crate::checker::Violation;
use crate::heritage::Heritage;
use crate::world::Crash;

/// A rest of a scene is slept in parts, so that nobody takes it for a wait in vain.
const NAP_NS_MAX: u64 = 10_000_000_000;

macro_rules! scenes {
    ($($(#[doc = $sentence:literal])+ $variant:ident = $module:ident [$($setting:literal),*];)*) => {
        $(mod $module;)*

        /// A scene.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Scene {
            $($(#[doc = $sentence])+ $variant,)*
        }

        impl Scene {
            pub(crate) const ALL: &[Scene] = &[$(Scene::$variant,)*];

            /// Its name.
            fn name(self) -> &'static str {
                match self {
                    $(Scene::$variant => stringify!($module),)*
                }
            }

            /// What the broker must be set to.
            pub(crate) fn settings(self) -> &'static [&'static str] {
                match self {
                    $(Scene::$variant => &[$($setting),*],)*
                }
            }

            fn begin_first(self, stage: Stage) -> Pin<Box<dyn Future<Output = Played>>> {
                match self {
                    $(Scene::$variant => Box::pin($module::play(stage)),)*
                }
            }
        }
    };
}

// Where the log keeper works early, nothing is old by its time: no checker knows what a wall clock that jumps makes old.
scenes! {
    /// Two consumers agree on a protocol, and an admin deletes offsets of theirs.
    Assembly = assembly ["group.max.size=100"];
    /// Members are late, come again under another id, or do not come at all.
    Absentees = absentees ["group.max.size=100"];
    /// A topic is deleted while others read it, write to it, and commit offsets of it.
    Departures = departures ["max.incremental.fetch.session.cache.slots=1000", "offsets.commit.timeout.ms=5000", "log.initial.task.delay.ms=0", "log.retention.ms=-1", "log.retention.check.interval.ms=500"];
    /// Batches are compressed as their topic says.
    Codecs = codecs [];
    /// The cluster and its topics are asked about in every way.
    Inquiries = inquiries ["advertised.listeners=PLAINTEXT://broker.example:9092"];
    /// The topic of committed offsets is deleted while members wait.
    Orphans = orphans ["group.max.size=100"];
    /// Another broker has left committed offsets.
    Elders = elders [];
    /// What no client may have is refused.
    Refusals = refusals ["max.connections.per.ip.overrides=10.0.0.208:5"];
    /// Fetch sessions are put out for others.
    Evictions = evictions ["max.incremental.fetch.session.cache.slots=2"];
    /// A topic is deleted, and one of its name outgrows it.
    Successors = successors ["log.initial.task.delay.ms=0", "log.retention.ms=-1", "log.flush.offset.checkpoint.interval.ms=2000"];
    /// Several segments go at once.
    Bereaved = bereaved ["log.initial.task.delay.ms=0", "log.retention.ms=-1", "log.retention.check.interval.ms=500", "log.flush.offset.checkpoint.interval.ms=60000"];
    /// All records of a topic are old.
    Outlived = outlived ["log.initial.task.delay.ms=0", "log.retention.ms=-1", "log.retention.check.interval.ms=500"];
    /// Two frames that do not come to their end hold all memory for requests, while others wait.
    Scarcity = scarcity ["queued.max.request.bytes=20000", "num.network.threads=3"];
    /// Several partitions are fetched at once, or waited for.
    Readings = readings [];
    /// Offsets are looked up by time, and otherwise.
    Lookups = lookups [];
    /// Topics are made because somebody asks for them.
    Defaults = defaults ["num.partitions=2"];
    /// A topic is configured anew, again and again.
    Settings = settings [];
    /// Somebody asks for as much as is allowed, and for a little more.
    Bounds = bounds [];
    /// A settled group goes on when the power is back.
    Regulars = regulars ["group.max.size=100"];
    /// All members of their groups have left.
    Vacancies = vacancies ["group.max.size=100", "offsets.retention.check.interval.ms=1000"];
    /// A topic that has lost its beginning goes on in another epoch.
    Remnants = remnants ["log.initial.task.delay.ms=0", "log.retention.ms=-1", "log.flush.offset.checkpoint.interval.ms=2000"];
    /// The batches of a producer are numbered.
    Sequences = sequences [];
    /// One record of many is read.
    Glances = glances [];
    /// Each sync takes longer than anybody waits.
    Stalls = stalls ["offsets.commit.timeout.ms=3000"];
    /// Nothing of a topic may go.
    Keepers = keepers ["log.initial.task.delay.ms=0", "log.retention.ms=-1", "log.retention.check.interval.ms=500"];
}

impl Scene {
    /// What another broker must have left.
    pub(crate) fn heritage(self) -> Option<Heritage> {
        match self {
            Scene::Elders => Some(Heritage::Committed),
            _ => None,
        }
    }

    /// How the broker goes down between the acts of a scene that has two.
    pub(crate) fn interval(self) -> Option<Crash> {
        match self {
            Scene::Successors | Scene::Remnants | Scene::Stalls => Some(Crash::Process),
            Scene::Bereaved | Scene::Regulars => Some(Crash::Power),
            _ => None,
        }
    }

    /// Whether no other groups may be there: where the coordinator looks early, one without members and offsets begins anew, and no checker knows its former generations.
    pub(crate) fn wants_no_groups(self) -> bool {
        self == Scene::Vacancies
    }

    /// Whether it has deleted topics when it ends.
    pub(crate) fn leaves_deleted(self) -> bool {
        self == Scene::Departures
    }

    fn begin_second(self, stage: Stage) -> Pin<Box<dyn Future<Output = Played>>> {
        match self {
            Scene::Successors => Box::pin(successors::play_on(stage)),
            Scene::Bereaved => Box::pin(bereaved::play_on(stage)),
            Scene::Regulars => Box::pin(regulars::play_on(stage)),
            Scene::Remnants => Box::pin(remnants::play_on(stage)),
            Scene::Stalls => Box::pin(stalls::play_on(stage)),
            _ => Box::pin(std::future::ready(Ok(()))),
        }
    }
}

/// A part of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// All of it, or what comes before the broker goes down.
    First,
    /// What comes after that.
    Second,
}

/// The client.
pub(crate) struct Player {
    client: u32,
    scene: Scene,
    act: Act,
    /// In which of its lives the broker was when the act before this, or this one, had come to its end, with everything as it has to be.
    played: Rc<Cell<Option<u32>>>,
    /// There is none before the first step.
    play: Option<Pin<Box<dyn Future<Output = Played>>>>,
    prompter: Rc<RefCell<Prompter>>,
    connections: BTreeMap<usize, ClientConnection>,
    attempts: u32,
    is_done: bool,
}

impl Player {
    pub(crate) fn new(client: u32, scene: Scene, act: Act, played: Rc<Cell<Option<u32>>>) -> Player {
        Player {
            client,
            scene,
            act,
            played,
            play: None,
            prompter: Rc::default(),
            connections: BTreeMap::new(),
            attempts: 0,
            is_done: false,
        }
    }

    /// Takes what the connections bring. `false` if one is over: what was to come of the scene nobody knows.
    fn listen(&mut self, context: &mut ClientContext<'_>) -> bool {
        for (role, connection) in &mut self.connections {
            loop {
                match connection.pump(context) {
                    ConnectionNews::Answer(_, _, version, body) => {
                        let mut prompter = self.prompter.borrow_mut();
                        prompter.heard.entry(*role).or_default().push_back(Answer { version, body });
                    }
                    ConnectionNews::Nothing => break,
                    ConnectionNews::Over => return false,
                }
            }
        }
        true
    }

    /// Lets the scene go on, and says whether it is over.
    fn go_on(&mut self, context: &mut ClientContext<'_>) -> bool {
        let now = context.world.now();
        {
            let mut prompter = self.prompter.borrow_mut();
            (prompter.now, prompter.wall_ms) = (now.instant, now.wall.0);
            prompter.is_sound = context.is_machine_sound;
            prompter.bytes_read = context.world.bytes_read();
            prompter.has_started_at_once = self.played.get().is_some_and(|boot| context.boot == boot + 1);
            prompter.rests_until = prompter.rests_until.filter(|until| *until > now.instant);
        }
        let stage = Stage::new(Rc::clone(&self.prompter));
        let play = self.play.get_or_insert_with(|| match self.act {
            Act::First => self.scene.begin_first(stage),
            Act::Second => self.scene.begin_second(stage),
        });
        match play.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => false,
            Poll::Ready(Ok(())) => {
                self.played.set(Some(context.boot));
                true
            }
            Poll::Ready(Err(Otherwise(found))) => {
                context.history.violate(Violation::SceneOtherwise { scene: self.scene.name(), found });
                true
            }
        }
    }

    /// Does what the scene wants done, and says whether there was anything.
    fn act(&mut self, context: &mut ClientContext<'_>) -> bool {
        let (asked, gone, sync_ns) = {
            let mut prompter = self.prompter.borrow_mut();
            (std::mem::take(&mut prompter.asked), std::mem::take(&mut prompter.gone), prompter.sync_ns.take())
        };
        sync_ns.into_iter().for_each(|sync_ns| context.world.slow_syncs(sync_ns));
        let has_acted = !asked.is_empty();
        // Who leaves and asks again comes on another connection.
        self.connections.retain(|role, _| !gone.contains(role));
        for asked in asked {
            let connection = self.connections.entry(asked.role).or_insert_with(|| {
                self.attempts += 1;
                ClientConnection::open(self.client, self.attempts, context)
            });
            asked.send(context, connection);
        }
        has_acted
    }
}

impl Client for Player {
    fn step(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        while !self.is_done {
            self.is_done = !self.listen(context) || self.go_on(context);
            if self.is_done || !self.act(context) {
                break;
            }
        }
        if self.is_done {
            context.world.slow_syncs(0);
            self.play = None;
            self.connections.clear();
            return None;
        }
        let rests_until = self.prompter.borrow().rests_until;
        earlier(rests_until, rests_until.map(|_| later(context, NAP_NS_MAX)))
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn waits_since(&self) -> Option<Instant> {
        self.connections.values().filter_map(ClientConnection::waits_since).min()
    }

    fn waits_for(&self) -> String {
        let waits =
            |(role, connection): (&usize, &ClientConnection)| connection.waits_since().map(|_| role.to_string());
        let roles: Vec<String> = self.connections.iter().filter_map(waits).collect();
        format!("player {} is in the midst of {}, and waits as {}", self.client, self.scene.name(), roles.join(", "))
    }
}
