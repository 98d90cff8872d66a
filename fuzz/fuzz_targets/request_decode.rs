//! A body of any request or response in any version: decoding takes memory in proportion to the bytes, and what decodes survives
//! being encoded and decoded again. The first byte chooses the message, the second its version.
#![no_main]

use allocation_counter::measure;
use klamm::protocol::{ApiKey, Decoder, Encoder, Message, RequestHeader};
use libfuzzer_sys::fuzz_target;

macro_rules! checks {
    ($($api:ident: $module:ident::{$request:ident, $response:ident};)+) => {
        &[$(
            (ApiKey::$api, |bytes, version| check!(klamm::protocol::messages::$module::$request, bytes, version)),
            (ApiKey::$api, |bytes, version| check!(klamm::protocol::messages::$module::$response, bytes, version)),
        )+]
    };
}

macro_rules! check {
    ($message:path, $bytes:ident, $version:ident) => {{
        let mut decoded = None;
        let counted = measure(|| decoded = <$message>::decode(&mut Decoder::new($bytes), $version).ok());
        let allowed = 16 * $bytes.len() as u64 + 64 * 1024;
        assert!(counted.bytes_max <= allowed, "{} took {}", stringify!($message), counted.bytes_max);
        let Some(first) = decoded else { return };
        let mut encoder = Encoder::default();
        first.encode(&mut encoder, $version);
        let (encoded, holes) = encoder.into_parts();
        assert!(holes.is_empty(), "a decoded message has all its bytes");
        let mut decoder = Decoder::new(&encoded);
        let second = <$message>::decode(&mut decoder, $version).expect("what was encoded decodes");
        assert_eq!(first, second, "version {}", $version);
        assert_eq!(decoder.remaining(), 0);
    }};
}

type Check = fn(&[u8], i16);

const CHECKS: &[(ApiKey, Check)] = klamm::for_every_api!(checks);

fuzz_target!(|data: &[u8]| {
    // As a request with its header: never a panic.
    let _ = RequestHeader::decode(&mut Decoder::new(data));
    let Some((&[message, version], body)) = data.split_first_chunk::<2>() else { return };
    let (api_key, check) = CHECKS[usize::from(message) % CHECKS.len()];
    let versions = api_key.versions();
    let count = versions.end() - versions.start() + 1;
    check(body, versions.start() + i16::from(version) % count);
});
