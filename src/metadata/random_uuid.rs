//! Draws ids of topics, log directories, incarnations and clusters.
//!
//! It must not know what an id is for.

use rand::Rng;

use crate::types::TopicId;

/// Ids below this number are Kafka's own (`__cluster_metadata`, directory marks).
const RESERVED_IDS: u128 = 100;

/// Whether Kafka keeps this id for itself.
pub(super) fn is_reserved(id: TopicId) -> bool {
    u128::from_be_bytes(id.0) < RESERVED_IDS
}

/// A random UUID of version 4 that is not reserved and whose text form does not begin with a dash, which a command line would read as a flag.
/// In its text form it also serves as a cluster id.
pub fn random_uuid(generator: &mut dyn Rng) -> TopicId {
    loop {
        let mut bits = (u128::from(generator.next_u64()) << 64) | u128::from(generator.next_u64());
        bits = (bits & !(0xf << 76)) | (4 << 76);
        bits = (bits & !(0b11 << 62)) | (0b10 << 62);
        let id = TopicId(bits.to_be_bytes());
        if !is_reserved(id) && !id.to_base64().starts_with('-') {
            return id;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::random_uuid;

    #[test]
    fn drawn_ids_are_of_version_4_and_never_begin_with_a_dash() {
        let mut generator = rand_chacha::ChaCha8Rng::seed_from_u64(7);
        for _ in 0..1000 {
            let id = random_uuid(&mut generator);
            assert_eq!(id.0[6] >> 4, 4);
            assert_eq!(id.0[8] >> 6, 0b10);
            assert!(!id.to_base64().starts_with('-'));
        }
    }
}
