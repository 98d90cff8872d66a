//! A produce with acks=all whose batches are appended and not yet on the disk.
//!
//! It must not know how the disk is reached: it compares durable ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::answer::Answer;
use super::handlers::produce::{TopicOutcome, respond_produced};
use super::partition::Partition;
use crate::error_code::ErrorCode;
use crate::marks::Mark;
use crate::types::{Offset, Ticket};

/// One appended batch that waits.
#[derive(Debug)]
pub(crate) struct Awaited {
    pub(crate) partition: Arc<Partition>,
    /// It is durable when the log's durable end is here.
    pub(crate) required: Offset,
    /// Where in the outcomes it stands: topic, partition.
    pub(crate) place: (usize, usize),
}

impl Awaited {
    fn is_durable(&self) -> bool {
        self.partition.log.durable_end_offset() >= self.required
    }

    /// Why it will never be durable, if that is so.
    fn lost(&self) -> Option<ErrorCode> {
        if self.partition.log.is_deleted() {
            Some(ErrorCode::UnknownTopicOrPartition)
        } else {
            self.partition.log.is_offline().then(|| {
                Mark::ProduceLosesLog.reached();
                ErrorCode::KafkaStorageError
            })
        }
    }
}

/// The parked request.
#[derive(Debug)]
pub(crate) struct DelayedProduce {
    pub(crate) outcomes: Vec<TopicOutcome>,
    pub(crate) awaited: Vec<Awaited>,
}

impl DelayedProduce {
    /// Whether every batch is on the disk, or will never be.
    pub(crate) fn is_complete(&self) -> bool {
        self.awaited.iter().all(|awaited| awaited.is_durable() || awaited.lost().is_some())
    }

    /// The answer: success for what is durable, an error for the rest. Its outcome is then unknown, never "nothing happened": as in Kafka
    /// the offsets stay beside the error.
    pub(crate) fn answer(&self, ticket: Ticket) -> Answer {
        let undurable = self.awaited.iter().filter(|awaited| !awaited.is_durable());
        let errors: BTreeMap<(usize, usize), ErrorCode> =
            undurable.map(|awaited| (awaited.place, awaited.lost().unwrap_or(ErrorCode::RequestTimedOut))).collect();
        respond_produced(ticket, &self.outcomes, &errors)
    }
}
