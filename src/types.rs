//! Newtypes that every room may use, so that an offset is never mistaken for a position or an epoch.
//!
//! It must not know what anything is used for; wire integers become these at the edge and leave as integers again.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A point on the monotonic clock, in nanoseconds since an arbitrary start. Never goes back; sessions, timeouts and throttles use it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

impl Instant {
    /// This instant and `duration` more, saturating at the end of time.
    pub fn after(self, duration: Duration) -> Instant {
        Instant(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// This instant and `milliseconds` more; a negative number adds nothing.
    pub fn after_ms(self, milliseconds: i64) -> Instant {
        Instant(self.0.saturating_add(u64::try_from(milliseconds).unwrap_or(0).saturating_mul(1_000_000)))
    }

    /// The time from `earlier` to this instant, zero if `earlier` is later.
    pub fn since(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Wall-clock time in milliseconds since 1970, UTC. May jump in either direction; records and retention use it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(pub i64);

/// Both clocks, read once per turn and handed down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Monotonic time.
    pub instant: Instant,
    /// Wall-clock time.
    pub wall: WallTime,
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }
    };
}

number!(/// The position of a record in a partition, counted in records from 0. Never a byte position.
    Offset(i64));
number!(/// A producer's identity (KIP-98); -1 stands for none.
    ProducerId(i64));
number!(/// A producer's incarnation; -1 stands for none.
    ProducerEpoch(i16));
number!(/// The incarnation of a partition's leader (KIP-101); -1 stands for unknown.
    LeaderEpoch(i32));
number!(/// A partition's number within its topic.
    PartitionIndex(i32));
number!(/// A broker's `node.id`.
    BrokerId(i32));
number!(/// The number of a Processor, unique over all listeners and never reused.
    ProcessorId(u32));

impl Offset {
    /// The offset `records` further on.
    pub fn plus(self, records: i64) -> Offset {
        Offset(self.0 + records)
    }
}

impl ProducerId {
    /// No producer id: the batch is not idempotent.
    pub const NONE: ProducerId = ProducerId(-1);
}

/// A topic's UUID. All zeroes stands for none, as on the wire.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(pub [u8; 16]);

impl TopicId {
    /// The id that stands for none.
    pub const ZERO: TopicId = TopicId([0; 16]);
    /// The id of `__cluster_metadata`, fixed by Kafka.
    pub const METADATA: TopicId = TopicId([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    /// Kafka's text form: 22 characters of URL-safe base64 without padding.
    pub fn to_base64(self) -> String {
        let bits = u128::from_be_bytes(self.0);
        (0..22)
            .map(|index| {
                let six = if index < 21 { bits >> (122 - 6 * index) } else { bits << 4 };
                char::from(Self::ALPHABET[(six & 63) as usize])
            })
            .collect()
    }

    /// Reads the text form; `None` if it is not 22 characters of URL-safe base64.
    pub fn from_base64(text: &str) -> Option<TopicId> {
        let text = text.as_bytes();
        if text.len() != 22 {
            return None;
        }
        let mut bits = 0u128;
        for (index, character) in text.iter().enumerate() {
            let six = Self::ALPHABET.iter().position(|known| known == character)? as u128;
            bits |= if index < 21 { six << (122 - 6 * index) } else { six >> 4 };
        }
        Some(TopicId(bits.to_be_bytes()))
    }
}

impl fmt::Display for TopicId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.to_base64())
    }
}

impl fmt::Debug for TopicId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.to_base64())
    }
}

/// A topic's name and one of its partitions: the name of a folder on disk and of a line in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The partition's number.
    pub partition: PartitionIndex,
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.topic, self.partition)
    }
}

/// Names one connection for ever: the Processor that owns it and a number that this Processor never gives out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId {
    /// The Processor that owns the connection.
    pub processor: ProcessorId,
    /// Running number within that Processor.
    pub number: u64,
}

/// What a parked operation keeps of its request: enough to answer it, nothing that it could hold open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    /// Where the answer goes.
    pub connection: ConnectionId,
    /// Its number among the requests of the connection: a client may use a correlation id twice.
    pub ordinal: u32,
    /// The client's number for this request.
    pub correlation_id: i32,
    /// Which API was asked.
    pub api_key: i16,
    /// In which version the answer must be encoded.
    pub api_version: i16,
}

#[cfg(test)]
mod tests {
    use super::TopicId;

    #[test]
    fn a_topic_id_survives_its_text_form() {
        assert_eq!(TopicId::METADATA.to_base64(), "AAAAAAAAAAAAAAAAAAAAAQ");
        let id = TopicId([0xff, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0xfe]);
        assert_eq!(TopicId::from_base64(&id.to_base64()), Some(id));
        assert_eq!(TopicId::from_base64("short"), None);
    }
}
