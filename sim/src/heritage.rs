//! What another broker has left on the disk before the first start: a partition of the topic in which most often a transaction is open, and, in some runs, the
//! files of a compaction or a deletion in the midst of which it went down.
//!
//! The broker under test has no transactions and compacts nothing, so that no client of a run could bring that about. It must not know what the broker makes
//! of it.

use std::io::IoSlice;
use std::ops::Range;
use std::path::Path;

use klamm::env::{Disk, DiskError, OpenMode};
use klamm::record::{RecordBatchBuilder, crc32c};
use klamm::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

use crate::client::Value;
use crate::inherited_offsets;
use crate::sim_disk::SimDisk;
use crate::world::World;

/// The client that wrote it, long ago.
const CLIENT: u32 = 99;
/// The client that wrote what is not to be read any more.
pub(crate) const STALE_CLIENT: u32 = 98;
/// Whose transaction is open.
pub(crate) const PRODUCER: ProducerId = ProducerId(4_000);
/// Records that are there.
const RECORDS: u32 = 3;
/// Where a log ends from whose end records were taken.
const END_BEHIND_HOLLOW: i64 = 5;
/// Where the leader epochs of its records begin, as a broker writes that down.
const EPOCHS: &[u8] = b"0\n2\n0 0\n1 1\n";

/// In which state the partition was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heritage {
    /// One segment, and nothing beside it.
    Whole,
    /// A segment that takes the place of two others is complete, and they are still there.
    Replaced,
    /// A segment that was to take the place of two others is not complete.
    HalfReplaced,
    /// A compaction has taken what lay behind the last record: the log ends behind it, with an empty segment.
    HollowEnd,
    /// A segment behind the end was deleted, and its file is still there. How far the logs are on the disk was written down.
    Deleted,
    /// The open transaction lies in an older segment, and only a snapshot of the producers tells of it.
    Remembered,
    /// One segment, and committed offsets beside it.
    Committed,
}

impl Heritage {
    /// Those that need nobody to look for them.
    pub(crate) const ALL: [Heritage; 6] = [
        Heritage::Whole,
        Heritage::Replaced,
        Heritage::HalfReplaced,
        Heritage::HollowEnd,
        Heritage::Deleted,
        Heritage::Remembered,
    ];

    /// At which offsets there is nothing, and will never be anything.
    pub(crate) fn hollow(self) -> Range<i64> {
        let first = i64::from(RECORDS);
        first..if self == Heritage::HollowEnd { END_BEHIND_HOLLOW } else { first }
    }
}

/// Leaves a record outside of any transaction, and two, most often of one that nobody has ended, and says what is at which offset. A disk that refuses it holds a part of it,
/// or nothing.
pub(crate) fn leave(world: &World, topic: &str, heritage: Heritage) -> Vec<(i64, Value)> {
    let is_left = write(world, topic, heritage).is_ok();
    let offsets = 0..if is_left { RECORDS } else { 0 };
    offsets.map(|sequence| (sequence.into(), Value { client: CLIENT, sequence })).collect()
}

fn write(world: &World, topic: &str, heritage: Heritage) -> Result<(), DiskError> {
    let disk = world.disk();
    let root = Path::new("/data");
    let folder = root.join(format!("{topic}-0"));
    disk.create_directory(root)?;
    disk.create_directory(&folder)?;
    let segment = |name: &str, batches: &[&[u8]]| write_file(&disk, &folder.join(name), batches);
    let (first, open) = (batch(world, CLIENT, 0..1), batch(world, CLIENT, 1..RECORDS));
    let (stale_first, stale_open) = (batch(world, STALE_CLIENT, 0..1), batch(world, STALE_CLIENT, 1..RECORDS));
    match heritage {
        Heritage::Whole => segment("00000000000000000000.log", &[&first, &open])?,
        Heritage::Remembered => {
            segment("00000000000000000000.log", &[&first, &open])?;
            segment("00000000000000000003.log", &[])?;
            segment("00000000000000000003.snapshot", &[&snapshot(world)])?;
            segment("leader-epoch-checkpoint", &[EPOCHS])?;
        }
        Heritage::Committed => {
            segment("00000000000000000000.log", &[&first, &open])?;
            write_offsets(world, &disk, topic)?;
        }
        Heritage::Replaced => {
            // Whoever is refused in the midst of it leaves nothing stale without what takes its place.
            segment("00000000000000000000.log.swap", &[&first, &open])?;
            disk.sync_directory(&folder)?;
            segment("00000000000000000000.log", &[&stale_first])?;
            segment("00000000000000000001.log", &[&stale_open])?;
            segment("00000000000000000001.snapshot", &[])?;
        }
        Heritage::HalfReplaced => {
            segment("00000000000000000000.log", &[&first])?;
            segment("00000000000000000001.log", &[&open])?;
            segment("00000000000000000000.log.cleaned", &[&stale_first, &stale_open[..20]])?;
            disk.sync_directory(&folder)?;
            segment("00000000000000000001.log.swap", &[&stale_open])?;
        }
        Heritage::HollowEnd => {
            // No transaction is open, or what ends it would lie behind the hollow.
            segment("00000000000000000000.log", &[&batch(world, CLIENT, 0..RECORDS)])?;
            segment(&format!("{END_BEHIND_HOLLOW:020}.log"), &[])?;
        }
        Heritage::Deleted => {
            segment("00000000000000000000.log", &[&first, &open])?;
            segment("00000000000000000003.log.deleted", &[&batch(world, STALE_CLIENT, RECORDS..5)])?;
            segment("leader-epoch-checkpoint", &[EPOCHS])?;
        }
    }
    disk.sync_directory(&folder)?;
    if matches!(heritage, Heritage::Deleted | Heritage::Remembered) {
        let ends = format!("0\n1\n{topic} 0 {RECORDS}\n");
        write_file(&disk, &root.join("recovery-point-offset-checkpoint"), &[ends.as_bytes()])?;
        write_file(&disk, &root.join("replication-offset-checkpoint"), &[ends.as_bytes()])?;
        write_file(&disk, &root.join("log-start-offset-checkpoint"), &[b"0\n0\n"])?;
        write_file(&disk, &root.join("cleaner-offset-checkpoint"), &[b"0\n0\n"])?;
    }
    [root, Path::new("/")].iter().try_for_each(|directory| disk.sync_directory(directory))
}

fn write_offsets(world: &World, disk: &SimDisk, topic: &str) -> Result<(), DiskError> {
    let batches = inherited_offsets::batches(world, topic);
    let batches: Vec<&[u8]> = batches.iter().map(Vec::as_slice).collect();
    for partition in 0..inherited_offsets::PARTITIONS {
        let folder = Path::new("/data").join(format!("{}-{partition}", inherited_offsets::TOPIC));
        disk.create_directory(&folder)?;
        write_file(disk, &folder.join("00000000000000000000.log"), &batches)?;
        disk.sync_directory(&folder)?;
    }
    Ok(())
}

/// The producer whose transaction is open, as a broker writes it down: with its last batch, and where the transaction begins.
fn snapshot(world: &World) -> Vec<u8> {
    let (last_sequence, last_offset, offset_delta, coordinator_epoch, first_offset) =
        (1_i32, 2_i64, 1_i32, -1_i32, 1_i64);
    let mut entry = 1_i32.to_be_bytes().to_vec();
    entry.extend(PRODUCER.0.to_be_bytes());
    entry.extend(0_i16.to_be_bytes());
    entry.extend(last_sequence.to_be_bytes());
    entry.extend(last_offset.to_be_bytes());
    entry.extend(offset_delta.to_be_bytes());
    entry.extend(world.now().wall.0.to_be_bytes());
    entry.extend(coordinator_epoch.to_be_bytes());
    entry.extend(first_offset.to_be_bytes());
    let version = 1_i16.to_be_bytes();
    [&version[..], &crc32c(&entry).to_be_bytes(), &entry].concat()
}

fn write_file(disk: &SimDisk, path: &Path, pieces: &[&[u8]]) -> Result<(), DiskError> {
    let file = disk.open(path, OpenMode::CreateEmpty)?;
    let pieces: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
    file.append(&pieces)?;
    file.sync()
}

/// The first record is outside of any transaction, the others are not, and were written in the next leader epoch.
fn batch(world: &World, client: u32, offsets: Range<u32>) -> Vec<u8> {
    let epoch = LeaderEpoch(i32::from(offsets.start > 0));
    let mut builder = RecordBatchBuilder::new().base_offset(Offset(offsets.start.into())).leader_epoch(epoch);
    if offsets.start > 0 {
        builder = builder.producer(PRODUCER, ProducerEpoch(0), 0).transactional(true);
    }
    for sequence in offsets {
        let value = Value { client, sequence }.to_bytes();
        builder.append(world.now().wall.0, None, Some(&value)).expect("a small batch can be built");
    }
    builder.build().expect("a small batch can be built")
}
