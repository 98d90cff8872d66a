//! Many connections of one peer, each of which asks something small and stays for a while: enough of them to meet every limit of connections.
//!
//! It must not know the limits. Whatever becomes of a connection is right; those that are served are served in order.

use klamm::protocol::ApiKey;
use klamm::protocol::messages::api_versions::ApiVersionsRequest;
use klamm::types::Instant;

use super::connection::later;
use super::versions::ANY;
use super::{Client, ClientConnection, ClientContext, ConnectionNews};
use crate::keyed::Site;

const PAUSE_NS_MEAN: u64 = 10_000_000;
/// When faults are over it stays for so long, so that limits have somebody to be about.
const LINGERS_NS: u64 = 500_000_000;

/// What one crowd is like in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CrowdProfile {
    pub(crate) client: u32,
    /// Connections that it makes.
    pub(crate) connections: u32,
    /// How many it has at once, at most.
    pub(crate) size_max: u64,
}

/// The client.
pub(crate) struct Crowd {
    profile: CrowdProfile,
    there: Vec<ClientConnection>,
    attempts: u32,
    sleeps_until: Instant,
    /// When it leaves for good, if faults are over.
    leaves_at: Option<Instant>,
    is_done: bool,
}

impl Crowd {
    pub(crate) fn new(profile: CrowdProfile) -> Crowd {
        Crowd { profile, there: Vec::new(), attempts: 0, sleeps_until: Instant(0), leaves_at: None, is_done: false }
    }

    /// Some come, and now and then one leaves; the last ones stay.
    fn come_and_go(&mut self, context: &ClientContext<'_>) {
        let draw = context.world.value(Site::ClientAction, u64::from(self.profile.client));
        let count = u64::try_from(self.there.len()).unwrap_or(u64::MAX);
        for _ in 0..draw.below(self.profile.size_max.saturating_sub(count) + 1) {
            if self.attempts == self.profile.connections {
                break;
            }
            self.attempts += 1;
            let mut connection = ClientConnection::open(self.profile.client, self.attempts, context);
            connection.may_be_closed();
            ask(context, &mut connection);
            self.there.push(connection);
        }
        let is_whole = self.attempts == self.profile.connections;
        if count > 0 && !is_whole && draw.part(0).below(3) == 0 {
            drop(self.there.swap_remove(usize::try_from(draw.part(1).below(count)).unwrap_or(0)));
        }
        self.sleeps_until = later(context, draw.part(2).exponential(PAUSE_NS_MEAN));
        self.is_done = self.there.is_empty() && is_whole;
    }
}

fn ask(context: &ClientContext<'_>, connection: &mut ClientConnection) {
    let request =
        ApiVersionsRequest { client_software_name: "sim", client_software_version: "1", ..Default::default() };
    connection.send(context, connection.api(context, ApiKey::ApiVersions, &ANY), &request, true);
}

impl Client for Crowd {
    fn step(&mut self, context: &mut ClientContext<'_>) -> Option<Instant> {
        if context.is_calm {
            self.leaves_at.get_or_insert(later(context, LINGERS_NS));
        }
        if self.is_done || self.leaves_at.is_some_and(|at| at <= context.now()) {
            self.there.clear();
            self.is_done = true;
            return None;
        }
        self.there.retain_mut(|connection| {
            loop {
                match connection.pump(context) {
                    ConnectionNews::Answer(..) => {}
                    ConnectionNews::Nothing => break true,
                    ConnectionNews::Over => break false,
                }
            }
        });
        if context.is_calm {
            return self.leaves_at;
        }
        if self.sleeps_until <= context.now() {
            self.come_and_go(context);
        }
        (!self.is_done).then_some(self.sleeps_until)
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn waits_since(&self) -> Option<Instant> {
        None
    }

    fn waits_for(&self) -> String {
        format!("crowd {}: {} of {} connections are there", self.profile.client, self.there.len(), self.attempts)
    }
}
