//! What another broker has left on the disk before the first start: a partition of the topic in which a transaction is open.
//!
//! The broker under test has no transactions, so that no client of a run could begin one. It must not know what the broker makes of it.

use std::io::IoSlice;
use std::path::Path;

use klamm::env::{Disk, DiskError, OpenMode};
use klamm::record::RecordBatchBuilder;
use klamm::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

use crate::client::Value;
use crate::world::World;

/// The client that wrote it, long ago.
const CLIENT: u32 = 99;
/// Whose transaction is open.
const PRODUCER: ProducerId = ProducerId(4_000);

/// Leaves a record outside of any transaction, and two of one that nobody has ended. A disk that refuses it holds a part of it, or nothing.
pub(crate) fn leave(world: &World, topic: &str) {
    let _ = write(world, topic);
}

fn write(world: &World, topic: &str) -> Result<(), DiskError> {
    let disk = world.disk();
    let root = Path::new("/data");
    let folder = root.join(format!("{topic}-0"));
    disk.create_directory(root)?;
    disk.create_directory(&folder)?;
    let file = disk.open(&folder.join("00000000000000000000.log"), OpenMode::CreateEmpty)?;
    file.append(&[IoSlice::new(&batch(world, 0..1, false)), IoSlice::new(&batch(world, 1..3, true))])?;
    file.sync()?;
    [&folder, root, Path::new("/")].iter().try_for_each(|directory| disk.sync_directory(directory))
}

fn batch(world: &World, offsets: std::ops::Range<u32>, is_transactional: bool) -> Vec<u8> {
    let mut builder = RecordBatchBuilder::new().base_offset(Offset(offsets.start.into())).leader_epoch(LeaderEpoch(0));
    if is_transactional {
        builder = builder.producer(PRODUCER, ProducerEpoch(0), 0).transactional(true);
    }
    for sequence in offsets {
        let value = Value { client: CLIENT, sequence }.to_bytes();
        builder.append(world.now().wall.0, None, Some(&value)).expect("a small batch can be built");
    }
    builder.build().expect("a small batch can be built")
}
