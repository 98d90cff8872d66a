//! The wake-up protocol of the queues under every interleaving that a scheduler of threads draws: nobody sleeps while there is work.
//!
//! The very source of `RequestChannel`, `ConnectionQueue`, `MemoryPool` and `Deadlines` is compiled here against stand-ins for queue, lock and flag, since the
//! scheduler cannot see inside crossbeam. It must not know sockets or requests.
#![allow(clippy::unwrap_used, reason = "a test: a poisoned lock is a failure")]
#![allow(unreachable_pub, missing_docs, dead_code, reason = "the files of the broker are part of this crate here")]

#[path = "../src/apis/deadlines.rs"]
mod deadlines;
#[path = "../src/network/connection_queue.rs"]
mod connection_queue;
#[path = "../src/network/memory_pool.rs"]
mod memory_pool;
#[path = "../src/network/request_channel.rs"]
mod request_channel;
#[path = "interleavings/sync.rs"]
mod sync;

use std::net::SocketAddr;

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Condvar, Mutex};
use shuttle::{Config, Runner, thread};
use std::sync::Arc;

use connection_queue::ConnectionQueue;
use deadlines::Deadlines;
use env::Wake;
use memory_pool::MemoryPool;
use request::{Request, Response};
use request_channel::RequestChannel;
use types::{ConnectionId, Instant, ProcessorId, Ticket};

/// Rooms that the compiled files name.
mod env {
    pub(crate) use klamm::env::Wake;
}
mod limits {
    /// Small, so that it is full at once.
    pub(crate) const CONNECTION_QUEUE_CAPACITY: usize = 1;
}
mod types {
    pub(crate) use klamm::types::{ConnectionId, Instant, ProcessorId, Ticket};
}
mod marks {
    pub(crate) use klamm::marks::Mark;
}
mod zoo {
    pub(crate) use klamm::zoo::{Bug, is};
}
mod request {
    use crate::types::{ConnectionId, Ticket};

    #[derive(Clone, Copy, Debug)]
    pub enum Departure {
        Closed(ConnectionId),
    }

    #[derive(Debug)]
    pub struct Request {
        pub(crate) ticket: Ticket,
    }

    #[derive(Debug)]
    pub struct Response {
        pub(crate) ticket: Ticket,
    }
}

/// Where a thread sleeps; a wake before the sleep is not lost.
#[derive(Default)]
struct Parker {
    is_woken: Mutex<bool>,
    bell: Condvar,
}

impl Parker {
    fn sleep(&self) {
        let mut is_woken = self.is_woken.lock().unwrap();
        while !*is_woken {
            is_woken = self.bell.wait(is_woken).unwrap();
        }
        *is_woken = false;
    }
}

impl Wake for Parker {
    fn wake(&self) {
        *self.is_woken.lock().unwrap() = true;
        self.bell.notify_one();
    }
}

/// Runs `body` under so many schedules; a schedule in which all threads sleep is a failure.
fn under_many_schedules(body: impl Fn() + Send + Sync + Clone + 'static) {
    Runner::new(RandomScheduler::new_from_seed(1, 600), Config::new()).run(body.clone());
    Runner::new(PctScheduler::new_from_seed(1, 3, 600), Config::new()).run(body);
}

fn ticket(processor: u32, number: i32) -> Ticket {
    let connection = ConnectionId { processor: ProcessorId(processor), number: 1 };
    Ticket { connection, ordinal: 0, correlation_id: number, api_key: 0, api_version: 0 }
}

/// How a run is laid out.
#[derive(Clone, Copy)]
struct Layout {
    processors: u32,
    handlers: usize,
    requests: i32,
    capacity: usize,
    /// Each Processor's thread steps a handler of its own.
    has_handlers_beside: bool,
}

fn run(layout: Layout) {
    let parkers = |count: usize| (0..count).map(|_| Arc::new(Parker::default())).collect::<Vec<_>>();
    let (processors, handlers) = (parkers(layout.processors as usize), parkers(layout.handlers));
    let wakers = |parkers: &[Arc<Parker>]| parkers.iter().map(|parker| Arc::clone(parker) as Arc<dyn Wake>).collect();
    let tolerated = usize::from(layout.has_handlers_beside);
    let channel = Arc::new(RequestChannel::new(layout.capacity, wakers(&processors), wakers(&handlers), tolerated));
    let left = Arc::new(AtomicUsize::new(layout.processors as usize * layout.requests as usize));
    let mut threads = Vec::new();
    for (number, parker) in (0..).zip(processors) {
        let (channel, left, handlers) = (Arc::clone(&channel), Arc::clone(&left), handlers.clone());
        threads.push(thread::spawn(move || processor(number, layout, &channel, &parker, &left, &handlers)));
    }
    for (number, parker) in handlers.iter().cloned().enumerate() {
        let (channel, left, handlers) = (Arc::clone(&channel), Arc::clone(&left), handlers.clone());
        threads.push(thread::spawn(move || {
            while left.load(Ordering::SeqCst) > 0 {
                if !handle_one(&channel, None, &left, &handlers) && channel.handler_sleeps(number) {
                    parker.sleep();
                }
            }
        }));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Sends its requests and waits for all answers, as a Processor's driver does.
fn processor(
    number: u32,
    layout: Layout,
    channel: &RequestChannel,
    parker: &Parker,
    left: &AtomicUsize,
    handlers: &[Arc<Parker>],
) {
    let mut to_send: Vec<Request> =
        (0..layout.requests).rev().map(|at| Request { ticket: ticket(number, at) }).collect();
    let mut answered = 0;
    while answered < layout.requests {
        let mut worked = false;
        while channel.take_response(ProcessorId(number)).is_some() {
            (answered, worked) = (answered + 1, true);
        }
        if let Some(request) = to_send.pop() {
            match channel.offer(ProcessorId(number), request) {
                Ok(()) => worked = true,
                Err(refused) => to_send.push(*refused),
            }
        }
        while layout.has_handlers_beside && handle_one(channel, Some(ProcessorId(number)), left, handlers) {
            worked = true;
        }
        if !worked {
            parker.sleep();
        }
    }
}

/// Handles a request, if there is one. Whoever handles the last sends the handlers home.
fn handle_one(
    channel: &RequestChannel,
    own: Option<ProcessorId>,
    left: &AtomicUsize,
    handlers: &[Arc<Parker>],
) -> bool {
    let Some(request) = channel.take() else { return false };
    if left.fetch_sub(1, Ordering::SeqCst) == 1 {
        handlers.iter().for_each(|handler| handler.wake());
    }
    channel.respond(Response { ticket: request.ticket }, own);
    true
}

#[test]
fn a_processor_that_the_full_queue_refused_is_woken_when_there_is_room() {
    under_many_schedules(|| {
        run(Layout { processors: 2, handlers: 1, requests: 2, capacity: 1, has_handlers_beside: false });
    });
}

#[test]
fn several_handlers_leave_no_request_behind() {
    under_many_schedules(|| {
        run(Layout { processors: 1, handlers: 2, requests: 3, capacity: 2, has_handlers_beside: false });
    });
}

#[test]
fn handlers_beside_their_processors_and_a_pool_leave_no_request_behind() {
    under_many_schedules(|| {
        run(Layout { processors: 2, handlers: 1, requests: 2, capacity: 1, has_handlers_beside: true });
    });
}

/// The one that queued two requests is inside the first for as long as the second is not handled: the pool must come.
#[test]
fn no_request_waits_behind_a_slow_one_while_the_pool_is_idle() {
    under_many_schedules(|| {
        let pool = Arc::new(Parker::default());
        let channel =
            Arc::new(RequestChannel::new(4, vec![Arc::new(Parker::default())], vec![Arc::clone(&pool) as _], 1));
        let second_is_handled = Arc::new(Parker::default());
        let handler = {
            let (channel, second_is_handled) = (Arc::clone(&channel), Arc::clone(&second_is_handled));
            thread::spawn(move || {
                loop {
                    match channel.take() {
                        Some(_) => break second_is_handled.wake(),
                        None if channel.handler_sleeps(0) => pool.sleep(),
                        None => {}
                    }
                }
            })
        };
        for number in 0..2 {
            channel.offer(ProcessorId(0), Request { ticket: ticket(0, number) }).unwrap();
        }
        if channel.take().is_some() {
            second_is_handled.sleep();
        }
        handler.join().unwrap();
    });
}

/// An operation is parked and its deadline announced, while the expiry role looks and goes to sleep. Whoever parks does so in this order.
fn park_and_expire(watch_first: bool) {
    const DEADLINE: Instant = Instant(5);
    let expiry = Arc::new(Parker::default());
    let deadlines = Arc::new(Deadlines::new(Arc::clone(&expiry) as _));
    let watched = Arc::new(Mutex::new(None));
    let parking = {
        let (deadlines, watched) = (Arc::clone(&deadlines), Arc::clone(&watched));
        thread::spawn(move || {
            let watch = || *watched.lock().unwrap() = Some(DEADLINE);
            if watch_first {
                watch();
            }
            deadlines.add(DEADLINE);
            if !watch_first {
                watch();
            }
        })
    };
    // The role without a deadline sleeps until it is woken; with one it would wake by itself.
    loop {
        deadlines.disarm();
        let next = *watched.lock().unwrap();
        deadlines.arm(next);
        if next.is_some() {
            break;
        }
        expiry.sleep();
    }
    parking.join().unwrap();
}

#[test]
fn a_deadline_that_is_announced_after_its_operation_is_watched_is_never_missed() {
    under_many_schedules(|| park_and_expire(true));
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_deadline_that_is_announced_before_its_operation_is_watched_is_missed() {
    under_many_schedules(|| park_and_expire(false));
}

#[test]
fn an_acceptor_that_the_full_queue_refused_is_woken_when_there_is_room() {
    under_many_schedules(|| {
        let (acceptor, processor) = (Arc::new(Parker::default()), Arc::new(Parker::default()));
        let queue: Arc<ConnectionQueue<u32>> =
            Arc::new(ConnectionQueue::new(Arc::clone(&acceptor) as _, Arc::clone(&processor) as _));
        let taker = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                let mut taken = Vec::new();
                while taken.len() < 3 {
                    match queue.take() {
                        Some((connection, _)) => taken.push(connection),
                        None => processor.sleep(),
                    }
                }
                taken
            })
        };
        for mut connection in 0..3 {
            let peer = SocketAddr::from(([127, 0, 0, 1], 1));
            while let Err((refused, _)) = queue.offer(connection, peer) {
                connection = refused;
                acceptor.sleep();
            }
        }
        assert_eq!(taker.join().unwrap(), [0, 1, 2], "connections keep their order");
    });
}

#[test]
fn a_processor_that_got_no_memory_is_woken_when_another_gives_some_back() {
    under_many_schedules(|| {
        let parkers = [Arc::new(Parker::default()), Arc::new(Parker::default()), Arc::new(Parker::default())];
        let wakers = parkers.iter().map(|parker| Arc::clone(parker) as Arc<dyn Wake>).collect();
        let pool = Arc::new(MemoryPool::new(Some(10), wakers));
        let processors = (0..).zip(parkers).map(|(number, parker)| {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                for _ in 0..2 {
                    while !pool.try_take(10) {
                        if pool.processor_starves(ProcessorId(number)) {
                            parker.sleep();
                        }
                    }
                    pool.give_back(10);
                }
            })
        });
        processors.collect::<Vec<_>>().into_iter().for_each(|processor| processor.join().unwrap());
        assert!(pool.try_take(10), "all of it is back");
    });
}

/// The proof that a lost wake-up would be seen.
#[test]
#[should_panic(expected = "deadlock")]
fn a_wake_that_is_lost_is_found() {
    struct Deaf;
    impl Wake for Deaf {
        fn wake(&self) {}
    }
    under_many_schedules(|| {
        let channel = Arc::new(RequestChannel::new(1, vec![Arc::new(Deaf)], vec![Arc::new(Deaf)], 0));
        let parker = Arc::new(Parker::default());
        let handler = {
            let channel = Arc::clone(&channel);
            thread::spawn(move || {
                while channel.take().is_none() {
                    if channel.handler_sleeps(0) {
                        parker.sleep();
                    }
                }
            })
        };
        channel.offer(ProcessorId(0), Request { ticket: ticket(0, 0) }).unwrap();
        handler.join().unwrap();
    });
}
