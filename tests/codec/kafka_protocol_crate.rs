//! Every message against the crate `kafka-protocol`, which was made from Kafka 4.1 by other hands: it must read what we write and
//! write the same bytes again.
//!
//! It must not know Kafka's own classes, which are the other oracle and settle where the crate is behind.

use bytes::{Bytes, BytesMut};
use kafka_protocol::protocol::{Decodable, Encodable};
use klamm::protocol::ApiKey;
use proptest::prelude::*;

use crate::catalogue::{self, Kind};

/// Decodes with the crate and encodes again.
type Recode = fn(Bytes, i16) -> Result<Vec<u8>, String>;

/// Versions of Kafka 4.4 that the crate lacks, though it names some of them as supported: they came, or changed, after Kafka 4.1.
fn crate_knows(key: ApiKey, version: i16) -> bool {
    match key {
        ApiKey::ListOffsets => version < 11,
        ApiKey::OffsetCommit | ApiKey::OffsetFetch => version < 10,
        ApiKey::ApiVersions => version < 5,
        ApiKey::DescribeLogDirs => version < 5,
        ApiKey::DeleteGroups => version < 3,
        _ => true,
    }
}

macro_rules! recode {
    ($type:ident) => {
        |mut bytes, version| {
            let message =
                kafka_protocol::messages::$type::decode(&mut bytes, version).map_err(|error| error.to_string())?;
            if !bytes.is_empty() {
                return Err(format!("{} bytes left", bytes.len()));
            }
            let mut encoded = BytesMut::new();
            message.encode(&mut encoded, version).map_err(|error| error.to_string())?;
            Ok(encoded.to_vec())
        }
    };
}

macro_rules! crate_codecs {
    ($($api:ident: $module:ident::{$request:ident, $response:ident};)+) => {
        vec![$((Kind::Request(ApiKey::$api), recode!($request) as Recode), (Kind::Response(ApiKey::$api), recode!($response)),)+]
    };
}

fn crate_codecs() -> Vec<(Kind, Recode)> {
    klamm::for_every_api!(crate_codecs)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_crate_reads_what_we_write_and_writes_what_we_read(seed: u64) {
        for (entry, (kind, recode)) in catalogue::messages().into_iter().zip(crate_codecs()) {
            prop_assert_eq!(entry.kind, kind);
            let (Kind::Request(key) | Kind::Response(key)) = kind else { panic!("{} is a record", entry.name) };
            for version in entry.versions.clone().filter(|version| crate_knows(key, *version)) {
                let ours = (entry.sample)(seed, version);
                let theirs = recode(Bytes::from(ours.clone()), version);
                prop_assert_eq!(theirs.as_ref(), Ok(&ours), "{} {}", entry.name, version);
                prop_assert_eq!((entry.recode)(&ours, version), Ok((ours, 0)), "{} {}", entry.name, version);
            }
        }
    }
}
