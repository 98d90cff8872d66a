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
    /// Given up: nothing may be asked of the coordinator any more.
    is_unloaded: bool,
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
    /// A shard whose coordinator has replayed the log of `partition`; its first turn is to say that it is loaded.
    pub(crate) fn new(
        partition: Arc<Partition>,
        settings: ShardSettings,
        timers: Arc<ShardTimers>,
        coordinator: GroupCoordinator,
    ) -> GroupShard {
        let state = ShardState { coordinator, waiting: VecDeque::new(), announced: None, is_unloaded: false };
        GroupShard { partition, settings, timers, state: Mutex::new(state) }
    }

    /// The partition whose log this is.
    pub(crate) fn partition(&self) -> &Arc<Partition> {
        &self.partition
    }

    /// Asks the coordinator something that may change its state. Fails if the shard was given up in the meantime.
    pub(crate) fn turn(
        &self,
        now: Now,
        act: impl FnOnce(&mut GroupCoordinator) -> CoordinatorResult,
    ) -> Result<Turn, ErrorCode> {
        let mut state = self.state();
        if state.is_unloaded {
            return Err(ErrorCode::NotCoordinator);
        }
        let result = act(&mut state.coordinator);
        Ok(self.take_in(now, &mut state, Some(result)))
    }

    /// Asks the coordinator something that changes nothing.
    pub(crate) fn read<T>(&self, ask: impl FnOnce(&GroupCoordinator) -> T) -> Result<T, ErrorCode> {
        let state = self.state();
        if state.is_unloaded { Err(ErrorCode::NotCoordinator) } else { Ok(ask(&state.coordinator)) }
    }

    /// Tells the coordinator of the appends whose fate is known by now.
    pub(crate) fn settle(&self, now: Now) -> Turn {
        let mut state = self.state();
        if state.is_unloaded { Turn::default() } else { self.take_in(now, &mut state, None) }
    }

    /// Does what is due, and announces the next deadline, which may be later than the one before.
    pub(crate) fn expire(&self, now: Now) -> Turn {
        let mut state = self.state();
        if state.is_unloaded {
            return Turn::default();
        }
        state.announced = None;
        let mut late = Vec::new();
        for waiting in state.waiting.iter_mut().filter(|waiting| waiting.deadline <= Some(now.instant)) {
            if waiting.deadline.take().is_some() {
                late.extend(waiting.append.time_out());
            }
        }
        let result = state.coordinator.expire(now);
        let mut turn = self.take_in(now, &mut state, Some(result));
        turn.answers.extend(late);
        turn
    }

    /// Forgets what a connection waits for.
    pub(crate) fn connection_closed(&self, now: Now, connection: crate::types::ConnectionId) {
        let mut state = self.state();
        if !state.is_unloaded {
            state.coordinator.connection_closed(now, connection);
            self.announce(&mut state);
        }
    }

    /// Gives the coordinator up, since its log is gone: whoever waits is told to look for another one.
    pub(crate) fn unload(&self, now: Now) -> Turn {
        let mut state = self.state();
        let mut turn = Turn::default();
        if state.is_unloaded {
            return turn;
        }
        while let Some(waiting) = state.waiting.pop_front() {
            let error = ErrorCode::UnknownTopicOrPartition;
            // What it would append now has no log to go to.
            turn.answers.extend(state.coordinator.append_failed(now, waiting.append, error).answers);
        }
        turn.answers.extend(state.coordinator.unload(now).answers);
        state.is_unloaded = true;
        self.timers.set(self.partition.key.partition, None);
        turn
    }

    /// Appends what was decided, and goes on with what follows from appends that are settled, until nothing does.
    fn take_in(&self, now: Now, state: &mut ShardState, result: Option<CoordinatorResult>) -> Turn {
        let mut turn = Turn::default();
        let mut has_appended = false;
        let mut next = result.or_else(|| self.next_settled(now, state));
        while let Some(result) = next {
            turn.answers.extend(result.answers);
            if let Some(append) = result.append {
                has_appended = true;
                let written = self.write(now, &append, &mut turn);
                let deadline = now.instant.after_ms(i64::from(self.settings.commit_timeout_ms));
                let deadline = Some(deadline).filter(|_| append.has_answers());
                state.waiting.push_back(Waiting { append, written, deadline });
            }
            next = self.next_settled(now, state);
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
            Written::At { .. } if self.partition.log.is_offline() => Err(ErrorCode::KafkaStorageError),
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
