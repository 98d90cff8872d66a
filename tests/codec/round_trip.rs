//! Every message against itself: what is encoded is decoded again, in every version that is accepted.
//!
//! It must not know another codec; that both directions share an error is the differential tests' part to find.

use std::collections::BTreeSet;

use klamm::protocol::{ApiKey, DecodeError};
use proptest::prelude::*;

use crate::catalogue::{self, Kind};

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_message_in_every_version_survives_encoding_and_decoding(seed: u64) {
        for entry in catalogue::all() {
            for version in entry.versions.clone() {
                (entry.round_trip)(seed, version);
            }
        }
    }
}

#[test]
fn every_accepted_version_decodes_the_smallest_message_of_its_api() {
    let mut seen = BTreeSet::new();
    for entry in catalogue::messages() {
        let (Kind::Request(key) | Kind::Response(key)) = entry.kind else { panic!("{} is a record", entry.name) };
        assert_eq!(entry.versions, key.versions(), "{} is declared for other versions than the table says", entry.name);
        seen.insert((key, matches!(entry.kind, Kind::Request(_))));
        for version in key.versions() {
            let bytes = (entry.default)(version);
            assert_eq!((entry.recode)(&bytes, version), Ok((bytes.clone(), 0)), "{} {version}", entry.name);
        }
    }
    assert_eq!(seen.len(), 2 * ApiKey::ALL.len(), "every API has a request and a response");
}

#[test]
fn versions_outside_the_table_are_refused() {
    for entry in catalogue::all() {
        for version in [entry.versions.start() - 1, entry.versions.end() + 1, i16::MIN, i16::MAX] {
            assert_eq!(
                (entry.decode)(&[0; 64], version),
                Err(DecodeError::UnsupportedVersion { version }),
                "{}",
                entry.name
            );
        }
    }
}

#[test]
fn trailing_bytes_are_left_to_the_caller() {
    for entry in catalogue::all() {
        for version in entry.versions.clone() {
            let mut bytes = (entry.sample)(7, version);
            bytes.extend_from_slice(&[0xab; 3]);
            assert_eq!((entry.decode)(&bytes, version), Ok(3), "{} {version}", entry.name);
        }
    }
}

#[test]
fn unknown_tagged_fields_are_skipped() {
    for entry in catalogue::messages() {
        let (Kind::Request(key) | Kind::Response(key)) = entry.kind else { panic!("{} is a record", entry.name) };
        for version in entry.versions.clone().filter(|version| key.is_flexible(*version)) {
            let plain = (entry.default)(version);
            let (count, body) = plain.split_last().unwrap();
            assert_eq!(*count, 0, "a default message ends in an empty list of tagged fields");
            let mut bytes = body.to_vec();
            bytes.extend_from_slice(&[2, 0x63, 3, 9, 9, 9, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]);
            assert_eq!((entry.recode)(&bytes, version), Ok((plain, 0)), "{} {version}", entry.name);
        }
    }
}
