//! Who takes part in a run, by name: the broker's roles, the clients, the network, the disk and its files.
//!
//! It must not know what led to what.

use std::collections::BTreeMap;

use crate::keyed::Site;
use crate::scheduler::CLIENT_STEPS;
use crate::trace::{TraceEvent, TraceKind};

/// The names of those who take part.
#[derive(Clone, Debug, Default)]
pub struct Cast {
    /// The broker's roles, by number.
    pub(crate) roles: Vec<String>,
    /// Kind and number of each client, by seat.
    pub(crate) clients: Vec<(&'static str, u32)>,
    /// Names of files, by what the trace calls them.
    pub(crate) files: BTreeMap<u64, String>,
}

impl Cast {
    /// The lanes from top to bottom: clients, the network, the broker's roles, the disk.
    pub(super) fn lanes(&self) -> Vec<String> {
        let clients = self.clients.iter().map(|(kind, number)| format!("{kind} {number}"));
        clients.chain(["network".to_string()]).chain(self.roles.iter().cloned()).chain(["disk".to_string()]).collect()
    }

    pub(super) fn network_lane(&self) -> usize {
        self.clients.len()
    }

    pub(super) fn disk_lane(&self) -> usize {
        self.clients.len() + 1 + self.roles.len()
    }

    /// The lane of whoever takes a step.
    pub(super) fn lane_of_step(&self, party: u64) -> usize {
        match party.checked_sub(CLIENT_STEPS) {
            Some(client) => self.clients.iter().position(|(_, number)| u64::from(*number) == client).unwrap_or(0),
            None => {
                let role = usize::try_from(party).unwrap_or(0);
                self.network_lane() + 1 + role.min(self.roles.len().saturating_sub(1))
            }
        }
    }

    /// The lane of an event that belongs to one whoever acts.
    pub(super) fn lane_of(&self, event: &TraceEvent) -> Option<usize> {
        match event.kind {
            TraceKind::Append | TraceKind::Truncate | TraceKind::Sync | TraceKind::Entry | TraceKind::Left => {
                Some(self.disk_lane())
            }
            TraceKind::Client | TraceKind::ClientRead => {
                self.clients.iter().position(|(_, number)| u64::from(*number) == event.entity >> 32)
            }
            TraceKind::Reset | TraceKind::Crash | TraceKind::WallJump => Some(self.network_lane()),
            _ => None,
        }
    }

    fn connection(&self, identity: u64) -> String {
        let (client, attempt) = (identity >> 32, identity & 0xffff_ffff);
        let kind =
            self.clients.iter().find(|(_, number)| u64::from(*number) == client).map_or("client", |(kind, _)| kind);
        format!("{kind} {client} (connection {attempt})")
    }

    fn file(&self, entity: u64) -> String {
        self.files.get(&entity).cloned().unwrap_or_else(|| format!("a file that is gone ({entity:x})"))
    }

    /// What happened, in words.
    pub(super) fn words(&self, event: &TraceEvent) -> String {
        let TraceEvent { entity, value, .. } = *event;
        match event.kind {
            TraceKind::Time => format!("it is {value} ns"),
            TraceKind::Event => format!("sees slot {} ready{}", entity & 0xffff_ffff, readiness(value)),
            TraceKind::Wake => format!("wakes selector {entity}"),
            TraceKind::Accept => format!("accepts {}", self.connection(entity)),
            TraceKind::Read => format!("reads {value} bytes from {}", self.connection(entity)),
            TraceKind::Write => format!("writes {value} bytes to {}", self.connection(entity)),
            TraceKind::Block if value % 2 == 0 => format!("nothing more to read from {}", self.connection(entity)),
            TraceKind::Block => format!("no more room to {}", self.connection(entity)),
            TraceKind::Close if value == 1 => format!("{} is closed by its client", self.connection(entity)),
            TraceKind::Close => format!("closes {}", self.connection(entity)),
            TraceKind::Reset => format!("{} is reset", self.connection(entity)),
            TraceKind::Client if value == 0 => format!("{} begins", self.connection(entity)),
            TraceKind::Client => format!("sends {value} bytes on connection {}", entity & 0xffff_ffff),
            TraceKind::ClientRead => format!("receives {value} bytes on connection {}", entity & 0xffff_ffff),
            TraceKind::Append => format!("appends {value} bytes to {}", self.file(entity)),
            TraceKind::Truncate => format!("cuts {} to {value} bytes", self.file(entity)),
            TraceKind::Sync => format!("syncs {}", self.file(entity)),
            TraceKind::Entry => format!(
                "{} {}",
                ["finds", "makes", "renames", "removes", "puts in place"][usize::try_from(value.min(4)).unwrap_or(0)],
                self.file(entity)
            ),
            TraceKind::Crash if value == 1 => "the power is cut".to_string(),
            TraceKind::Crash => "the process is killed".to_string(),
            TraceKind::Step => "steps".to_string(),
            TraceKind::Fault => {
                let site = Site::ALL.iter().find(|site| u64::from(site.number()) == value);
                format!("FAULT {}: {}", site.map_or("", |site| site.name()), site.map_or("", |site| site.sentence()))
            }
            TraceKind::WallJump if entity == 1 => {
                format!("the wall clock runs by {} millionths faster", value.cast_signed())
            }
            TraceKind::WallJump => format!("the wall clock jumps by {} ms", value.cast_signed()),
            TraceKind::Left => format!("what is left of {}", self.file(entity)),
        }
    }
}

fn readiness(flags: u64) -> String {
    let names = ["error", "write closed", "read closed", "writable", "readable"];
    let set = names.iter().enumerate().filter(|(bit, _)| flags >> bit & 1 == 1).map(|(_, name)| *name);
    let set: Vec<&str> = set.collect();
    if set.is_empty() { String::new() } else { format!(": {}", set.join(", ")) }
}
