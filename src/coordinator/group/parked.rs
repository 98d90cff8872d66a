//! Which member's request is parked for which connection, so that a connection that closes is found without a search.
//!
//! It must not know what a request waits for. An entry may outlive its request: whoever looks it up checks with the member.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::types::{ConnectionId, Ticket};

/// The group and member for whom each connection last parked a request. A connection has one request at a time.
#[derive(Debug, Default)]
pub(super) struct ParkedRequests {
    by_connection: BTreeMap<ConnectionId, (Arc<str>, Arc<str>)>,
}

impl ParkedRequests {
    /// A request of this member waits for `ticket`.
    pub(super) fn insert(&mut self, ticket: Ticket, group_id: &Arc<str>, member_id: &Arc<str>) {
        self.by_connection.insert(ticket.connection, (group_id.clone(), member_id.clone()));
    }

    /// The connection is gone. Returns whose request it last parked.
    pub(super) fn take(&mut self, connection: ConnectionId) -> Option<(Arc<str>, Arc<str>)> {
        self.by_connection.remove(&connection)
    }
}
