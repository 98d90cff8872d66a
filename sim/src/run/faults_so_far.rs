//! What the faults of a run have struck, as far as it matters to what the broker still owes.
//!
//! It must not know what is owed.

use std::path::Path;

use klamm::types::Instant;

use super::TOPIC;
use crate::checker::{Excuse, Oracle};
use crate::keyed::{Fired, Site, SiteKind};
use crate::world::World;

/// A wake, an event or a write is never late by more.
const DELAY_NS_MAX: u64 = 100_000_000;
/// The root, and the log directory in it.
const NAMES_OF_LOG_DIRECTORY: usize = 2;

/// Which kinds of faults have fired so far.
#[derive(Debug, Default)]
pub(super) struct FaultsSoFar {
    seen: usize,
    /// Those that may end a connection.
    pub(super) of_network: u64,
    /// One of the disk that the broker must tell somebody.
    pub(super) of_disk: bool,
    /// One of the disk that is not about a whole one.
    pub(super) of_parts: bool,
    /// The start of the broker in which a whole disk was struck last.
    pub(super) struck_in: u32,
    /// One that makes the whole broker late.
    pub(super) of_time: bool,
    /// One of the disk, the clocks or the machine, if only that something takes long.
    pub(super) of_machine: bool,
    /// When one struck that may make late who waits for something else.
    delayed_at: Option<Instant>,
    oracle: Oracle,
}

impl FaultsSoFar {
    /// None so far, but those that an oracle always grants.
    pub(super) fn judged_by(oracle: Oracle) -> FaultsSoFar {
        FaultsSoFar {
            of_network: u64::from(oracle.grants(Excuse::NetworkFault, false)),
            of_disk: oracle.grants(Excuse::DiskFault, false),
            of_parts: oracle.grants(Excuse::PartFault, false),
            of_time: oracle.grants(Excuse::LateMachine, false),
            of_machine: oracle.grants(Excuse::MachineFault, false),
            oracle,
            ..FaultsSoFar::default()
        }
    }

    pub(super) fn take(&mut self, world: &World, boot: u32) {
        if world.fired_count() == self.seen {
            return;
        }
        for Fired { site, .. } in world.fired_since(self.seen) {
            self.seen += 1;
            let grants = |excuse, is_due| self.oracle.grants(excuse, is_due);
            let is_late = matches!(site, Site::MachineLate | Site::NodePause | Site::DiskSlow);
            let is_whole = is_of_whole_disk(site) && site != Site::DiskMissing;
            let is_of_machine = site.number() >= Site::AppendFails.number() || is_disk_fault(site);
            self.of_network += u64::from(grants(Excuse::NetworkFault, site.ends_connections()));
            self.of_disk |= grants(Excuse::DiskFault, is_disk_fault(site));
            self.of_time |= grants(Excuse::LateMachine, is_late);
            self.of_parts |= grants(Excuse::PartFault, is_disk_fault(site) && !is_of_whole_disk(site));
            if grants(Excuse::WholeDiskFault, is_whole) {
                self.struck_in = boot;
            }
            self.of_machine |= grants(Excuse::MachineFault, is_of_machine);
            if makes_late(site) {
                self.delayed_at = Some(world.now().instant);
            }
        }
    }

    /// Whether what has struck may still make somebody late.
    pub(super) fn may_delay(&self, now: Instant) -> bool {
        let is_recent = self.delayed_at.is_some_and(|at| now.0 - at.0 < DELAY_NS_MAX);
        self.oracle.grants(Excuse::RecentFault, is_recent)
    }
}

/// Faults of what the broker sees of its sockets, of what it writes to them, of timers, and of the disk where somebody waits for it.
fn makes_late(site: Site) -> bool {
    let is_of_sockets = site.number() < Site::ResetOvertakes.number();
    let is_of_clocks = (Site::WallJump.number()..Site::SchedulerPick.number()).contains(&site.number());
    matches!(site.kind(), SiteKind::Fault(_)) && (is_of_sockets || is_of_clocks || site == Site::DiskSlow)
}

/// Faults of the disk that the broker must tell somebody.
pub(super) fn is_disk_fault(site: Site) -> bool {
    let is_of_disk = (Site::AppendFails.number()..Site::WallJump.number()).contains(&site.number());
    let is_shortage = matches!(site, Site::DescriptorsExhausted | Site::DescriptorLimit);
    let is_only_slow = matches!(
        site,
        Site::SyncStalls | Site::SyncThrottled | Site::DiskSlow | Site::FileShortRead | Site::PowerFailsInSync
    );
    is_of_disk && matches!(site.kind(), SiteKind::Fault(_)) && !is_only_slow && site != Site::SpaceReturns
        || is_shortage
}

fn is_of_whole_disk(site: Site) -> bool {
    matches!(site, Site::DiskMissing | Site::DiskFails | Site::DiskReadOnly | Site::DirectoryRemoved)
}

/// Failed syncs after which what was not synced may be gone, even if only the process ends.
pub(super) fn loses_unsynced(site: Site) -> bool {
    use Site::{DiskFails, DiskReadOnly, ReadOnlyRemount, SyncErrorElsewhere, SyncFull, SyncLosesPages};
    let is_of_disk = matches!(site, DiskFails | DiskReadOnly);
    is_of_disk || matches!(site, SyncLosesPages | SyncFull | SyncErrorElsewhere | ReadOnlyRemount)
}

/// Whether this fault may have left a partition that only a new start brings back, where a start that lacks a directory fails.
pub(super) fn takes_partitions_offline(site: Site) -> bool {
    // What finds no space leaves a partition as it was.
    let is_of_space = matches!(site, Site::AppendFull | Site::QuotaExceeded | Site::SpaceEnds);
    is_disk_fault(site) && !is_of_space
}

/// Which files lie on the part of the disk that may lose what was synced: those of the topic that carry a checksum, or can be made again from
/// those that do. What Kafka writes without a checksum (checkpoints, identities) and the broker's own logs lie on a mirror.
pub(super) fn is_fragile(path: &Path) -> bool {
    let mut names = path.iter().skip(NAMES_OF_LOG_DIRECTORY).filter_map(|name| name.to_str());
    let is_of_topic = names.next().is_some_and(|folder| folder.starts_with(TOPIC));
    // What is to take a segment's place, and what goes, is of one piece with it.
    let is_checked = |name: &str| {
        let endings = [".swap", ".cleaned", ".deleted"];
        let name = endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
        [".log", ".index", ".timeindex", ".snapshot"].iter().any(|end| name.ends_with(end))
    };
    is_of_topic && names.next().is_none_or(is_checked)
}
