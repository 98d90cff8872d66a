//! Arbitrary chunks on two connections through a whole broker on the simulated selector: no panic, nobody spins, every connection ends,
//! and a third client is served as if nothing had happened. A chunk is a byte of length (its top bit chooses the connection) and so many
//! bytes.
#![no_main]

use std::io::ErrorKind;
use std::time::Duration;

use klamm::protocol::messages::api_versions::ApiVersionsRequest;
use klamm::protocol::{ApiKey, encode_request};
use klamm_sim::{Broker, ClientSocket};
use libfuzzer_sys::fuzz_target;

const SECOND: Duration = Duration::from_secs(1);
const STEPS_MAX: u64 = 50_000;
const SETTINGS: &[&str] = &[
    "socket.request.max.bytes=65536",
    "offsets.topic.num.partitions=1",
    "num.partitions=1",
    "log.segment.bytes=1048576",
];

/// APIs whose answer a client may defer beyond this target's patience.
const PATIENT: [ApiKey; 3] = [ApiKey::Fetch, ApiKey::JoinGroup, ApiKey::SyncGroup];

fuzz_target!(|data: &[u8]| {
    let mut broker = Broker::start_in_turn(SETTINGS).expect("a broker starts on an empty disk");
    let mut sockets = [Some(broker.connect().socket), Some(broker.connect().socket)];
    let mut sent = [Vec::new(), Vec::new()];
    assert!(broker.settle(SECOND, STEPS_MAX), "an idle broker comes to rest");
    let mut rest = data;
    while let Some((&head, tail)) = rest.split_first() {
        let (which, length) = (usize::from(head >> 7), usize::from(head & 0x7f));
        let (chunk, tail) = tail.split_at(length.min(tail.len()));
        rest = tail;
        let (Some(socket), Some(sent)) = (&mut sockets[which], sent.get_mut(which)) else { continue };
        if write(&mut broker, socket, chunk) {
            sent.extend_from_slice(chunk);
        }
        drain(socket);
    }
    assert!(broker.settle(SECOND, STEPS_MAX), "a broker spins over what it was sent");
    let may_wait = sent.iter().any(|sent| asks_to_wait(sent));
    for socket in sockets.iter_mut().flatten() {
        drain(socket);
        socket.shutdown_write();
    }
    for _ in 0..60 {
        assert!(broker.settle(SECOND, STEPS_MAX), "a broker spins over a closed connection");
        sockets.iter_mut().flatten().for_each(drain);
    }
    assert!(may_wait || broker.open_connections() == 0, "a connection is stuck");
    serve(&mut broker);
});

/// Writes all of a chunk; false if the broker has closed.
fn write(broker: &mut Broker, socket: &mut ClientSocket, mut chunk: &[u8]) -> bool {
    for _ in 0..1_000 {
        if chunk.is_empty() {
            break;
        }
        match socket.write(chunk) {
            Ok(count) => chunk = &chunk[count..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => drain(socket),
            Err(_) => return false,
        }
        assert!(broker.settle(SECOND / 1_000, STEPS_MAX), "a broker spins over half a frame");
    }
    true
}

fn drain(socket: &mut ClientSocket) {
    let mut buffer = [0; 4_096];
    while matches!(socket.read(&mut buffer), Ok(1..)) {}
}

/// Whether the bytes hold a request that a broker may answer late.
fn asks_to_wait(mut bytes: &[u8]) -> bool {
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else { return false };
        let code = rest.first_chunk::<2>().map(|code| i16::from_be_bytes(*code));
        if code.and_then(ApiKey::from_code).is_some_and(|api_key| PATIENT.contains(&api_key)) {
            return true;
        }
        bytes = rest.get(length..).unwrap_or_default();
    }
    false
}

/// A client that asks for ApiVersions is answered.
fn serve(broker: &mut Broker) {
    let mut socket = broker.connect().socket;
    broker.settle(SECOND, STEPS_MAX);
    let frame = encode_request(ApiKey::ApiVersions, 0, 77, Some("bystander"), &ApiVersionsRequest::default());
    assert_eq!(socket.write(&frame.bytes).ok(), Some(frame.bytes.len()), "a new connection takes a small request");
    broker.settle(SECOND, STEPS_MAX);
    let mut buffer = [0; 4_096];
    let count = socket.read(&mut buffer).expect("a bystander is answered");
    assert!(count > 8 && buffer[4..8] == 77_i32.to_be_bytes(), "a bystander gets its own answer");
}
