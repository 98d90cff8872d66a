//! One partition of `__consumer_offsets`: the coordinator of its groups, its log, and the appends that are not yet on the disk.
//!
//! Everything a coordinator is asked goes through [`GroupShard::turn`], which appends what it decides and lets it know, in order, what
//! became of each append. It must not know requests, nor how an answer is worded.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use super::group_log::encode_append;
use super::partition::Partition;
use super::shard_timers::ShardTimers;
use crate::coordinator::group::{Append, CoordinatorResult, GroupAnswer, GroupCoordinator};
use crate::error_code::ErrorCode;
use crate::log::{AppendOrigin, Durability};
use crate::marks::Mark;
use crate::types::{Instant, Now, Offset, ProducerId, Ticket};
use crate::zoo::{self, Bug};

/// The shard.
pub(crate) struct GroupShard {
    partition: Arc<Partition>,
    settings: ShardSettings,
    timers: Arc<ShardTimers>,
    state: Mutex<ShardState>,
}

/// What holds for all shards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShardSettings {
    /// What an append must have reached before anybody is answered.
    pub(crate) durability: Durability,
    /// How long anybody waits for that (`offsets.commit.timeout.ms`).
    pub(crate) commit_timeout_ms: i32,
}

struct ShardState {
    coordinator: GroupCoordinator,
    /// Appends in the order of the log.
    waiting: VecDeque<Waiting>,
    /// The deadline that [`ShardTimers`] knows of.
    announced: Option<Instant>,
    phase: Phase,
}

/// What may be asked of a coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Its log is replayed. The sessions of its members begin with the first turn, since to replay other logs takes its time.
    Fresh,
    /// Anything.
    Open,
    /// Nothing new, since the broker is about to stop. What is on its way to the disk is answered.
    Draining,
    /// Nothing: its log is gone.
    Unloaded,
}

/// An append that has not been reported to the coordinator.
struct Waiting {
    append: Append,
    written: Written,
    /// Until when somebody waits for it.
    deadline: Option<Instant>,
}

/// What the log said to an append.
enum Written {
    /// It starts at `base`, and is durable when the high watermark reaches `required`.
    At { base: Offset, required: Offset },
    /// It was refused. This is told in its turn, after those before it.
    Refused(ErrorCode),
}

/// What a turn brought about.
#[derive(Default)]
pub(crate) struct Turn {
    /// Answers that may go out.
    pub(crate) answers: Vec<(Ticket, GroupAnswer)>,
    /// Something was appended that waits for the disk, or `flush.messages` asks for a sync.
    pub(crate) wants_sync: bool,
    /// Something was appended that readers of the log may see at once.
    pub(crate) is_readable: bool,
}

impl GroupShard {
    /// A shard whose coordinator is loaded from the log of `partition`.
    pub(crate) fn new(
        partition: Arc<Partition>,
        settings: ShardSettings,
        timers: Arc<ShardTimers>,
        coordinator: GroupCoordinator,
    ) -> GroupShard {
        let state = ShardState { coordinator, waiting: VecDeque::new(), announced: None, phase: Phase::Fresh };
        GroupShard { partition, settings, timers, state: Mutex::new(state) }
    }

    /// The partition whose log this is.
    pub(crate) fn partition(&self) -> &Arc<Partition> {
        &self.partition
    }

    /// Has the role that watches deadlines make the first turn, now that it finds the shard.
    pub(crate) fn open(&self, now: Now) {
        let mut state = self.state();
        if state.phase == Phase::Fresh {
            state.announced = Some(now.instant);
            self.timers.set(self.partition.key.partition, state.announced);
        }
    }

    /// Asks the coordinator something that may change its state. Fails if the shard was given up in the meantime.
    pub(crate) fn turn(
        &self,
        now: Now,
        act: impl FnOnce(&mut GroupCoordinator) -> CoordinatorResult,
    ) -> Result<Turn, ErrorCode> {
        let mut state = self.state();
        let opened = state.open(now);
        if !state.waiting.is_empty() {
            Mark::NotWrittenYet.reached();
        }
        if state.phase != Phase::Open {
            return Err(ErrorCode::NotCoordinator);
        }
        let result = act(&mut state.coordinator);
        Ok(self.take_in(now, &mut state, opened.into_iter().chain([result])))
    }

    /// Asks the coordinator something that changes nothing.
    pub(crate) fn read<T>(&self, ask: impl FnOnce(&GroupCoordinator) -> T) -> Result<T, ErrorCode> {
        let state = self.state();
        match state.phase {
            Phase::Fresh | Phase::Open => Ok(ask(&state.coordinator)),
            Phase::Draining | Phase::Unloaded => Err(ErrorCode::NotCoordinator),
        }
    }

    /// Tells the coordinator of the appends whose fate is known by now.
    pub(crate) fn settle(&self, now: Now) -> Turn {
        let mut state = self.state();
        if state.phase == Phase::Unloaded { Turn::default() } else { self.take_in(now, &mut state, []) }
    }

    /// Does what is due, and announces the next deadline, which may be later than the one before.
    pub(crate) fn expire(&self, now: Now) -> Turn {
        let mut state = self.state();
        if state.phase == Phase::Unloaded {
            return Turn::default();
        }
        state.announced = None;
        let opened = state.open(now);
        let ShardState { coordinator, waiting, .. } = &mut *state;
        let mut results = Vec::from_iter(opened);
        for late in waiting.iter_mut().filter(|waiting| waiting.deadline.is_some_and(|at| at <= now.instant)) {
            Mark::GroupAnswerLate.reached();
            late.deadline = None;
            results.push(coordinator.append_late(now, &mut late.append));
        }
        results.push(coordinator.expire(now));
        self.take_in(now, &mut state, results)
    }

    /// Forgets what a connection waits for.
    pub(crate) fn connection_closed(&self, now: Now, connection: crate::types::ConnectionId) {
        let mut state = self.state();
        if state.phase != Phase::Unloaded {
            state.coordinator.connection_closed(now, connection);
            self.announce(&mut state);
        }
    }

    /// Lets whoever waits for others look for another coordinator, since the broker is about to stop.
    pub(crate) fn drain(&self, now: Now) -> Turn {
        let mut state = self.state();
        match state.phase {
            Phase::Fresh | Phase::Open => {
                state.phase = Phase::Draining;
                let result = state.coordinator.unload(now);
                self.take_in(now, &mut state, [result])
            }
            Phase::Draining | Phase::Unloaded => Turn::default(),
        }
    }

    /// Gives the coordinator up, since its log is gone: whoever waits is told to look for another one.
    pub(crate) fn unload(&self, now: Now) -> Turn {
        let mut state = self.state();
        let mut turn = Turn::default();
        if state.phase == Phase::Unloaded {
            return turn;
        }
        while let Some(waiting) = state.waiting.pop_front() {
            let error = ErrorCode::UnknownTopicOrPartition;
            // What it would append now has no log to go to.
            turn.answers.extend(state.coordinator.append_failed(now, waiting.append, error).answers);
        }
        turn.answers.extend(state.coordinator.unload(now).answers);
        state.phase = Phase::Unloaded;
        self.timers.set(self.partition.key.partition, None);
        turn
    }

    /// Appends what was decided, and goes on with what follows from appends that are settled, until nothing does.
    fn take_in(&self, now: Now, state: &mut ShardState, decided: impl IntoIterator<Item = CoordinatorResult>) -> Turn {
        let mut turn = Turn::default();
        let mut has_appended = false;
        let mut decided = decided.into_iter();
        while let Some(result) = decided.next().or_else(|| self.next_settled(now, state)) {
            turn.answers.extend(result.answers);
            if let Some(append) = result.append {
                has_appended = true;
                let written = self.write(now, &append, &mut turn);
                let deadline = now.instant.after_ms(i64::from(self.settings.commit_timeout_ms));
                let deadline = Some(deadline).filter(|_| append.is_awaited() && !zoo::is(Bug::CommitWaitsOn));
                state.waiting.push_back(Waiting { append, written, deadline });
            }
        }
        turn.wants_sync |= has_appended && !state.waiting.is_empty();
        self.announce(state);
        turn
    }

    fn write(&self, now: Now, append: &Append, turn: &mut Turn) -> Written {
        let log = &self.partition.log;
        let batch_bytes_max = usize::try_from(log.settings().message_bytes_max).unwrap_or(usize::MAX);
        let appended = encode_append(append, now.wall, batch_bytes_max).and_then(|bytes| {
            log.append(now, bytes, AppendOrigin::Coordinator, self.settings.durability).map_err(|error| {
                Mark::GroupsLogRefuses.reached();
                tracing::error!(partition = %log.topic_partition(), %error, "the log of a group coordinator takes no records");
                ErrorCode::from(&error)
            })
        });
        match appended {
            Ok(info) => {
                turn.wants_sync |= info.is_sync_due;
                turn.is_readable |= log.high_watermark() > info.base_offset;
                Written::At { base: info.base_offset, required: info.last_offset.plus(1) }
            }
            Err(error) => Written::Refused(error),
        }
    }

    /// Reports the oldest append to the coordinator, if its fate is known.
    fn next_settled(&self, now: Now, state: &mut ShardState) -> Option<CoordinatorResult> {
        let fate = match state.waiting.front()?.written {
            Written::At { base, .. } if zoo::is(Bug::GroupAnswerBeforeFsync) => Ok(base),
            Written::At { base, required } if self.partition.log.high_watermark() >= required => Ok(base),
            // What is on the disk is unknown, and stays so: the log is gone for this run.
            Written::At { .. } if self.partition.log.is_offline() => {
                Mark::GroupsLogLost.reached();
                Err(ErrorCode::KafkaStorageError)
            }
            Written::At { .. } => return None,
            Written::Refused(error) => Err(error),
        };
        let Waiting { append, .. } = state.waiting.pop_front()?;
        Some(match fate {
            Ok(base) => state.coordinator.appended(now, append, base, ProducerId::NONE),
            Err(error) => state.coordinator.append_failed(now, append, error),
        })
    }

    /// Announces a deadline that is earlier than the one that is known. A later one is found when the known one comes, so that a
    /// heartbeat costs nothing here.
    fn announce(&self, state: &mut ShardState) {
        let of_append = state.waiting.iter().find_map(|waiting| waiting.deadline);
        let next = [state.coordinator.next_deadline(), of_append].into_iter().flatten().min();
        if next.is_some_and(|next| state.announced.is_none_or(|announced| next < announced)) {
            state.announced = next;
            self.timers.set(self.partition.key.partition, next);
        }
    }

    fn state(&self) -> MutexGuard<'_, ShardState> {
        self.state.lock().expect("nobody panics while holding a shard: panics abort the process")
    }
}

impl ShardState {
    /// Begins the sessions if that has not happened.
    fn open(&mut self, now: Now) -> Option<CoordinatorResult> {
        if self.phase != Phase::Fresh {
            return None;
        }
        self.phase = Phase::Open;
        self.announced = None;
        Some(self.coordinator.opened(now))
    }
}
