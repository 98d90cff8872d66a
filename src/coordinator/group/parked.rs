//! Which member's request is parked for which connection, so that a connection that closes is found without a search.
//!
//! It must not know what a request waits for.

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

    /// The request that waited for `ticket` is answered.
    pub(super) fn answered(&mut self, ticket: Ticket) {
        self.by_connection.remove(&ticket.connection);
    }

    /// Whether nothing is parked.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.by_connection.is_empty()
    }

    /// The connection is gone. Returns whose request it last parked.
    pub(super) fn take(&mut self, connection: ConnectionId) -> Option<(Arc<str>, Arc<str>)> {
        self.by_connection.remove(&connection)
    }
}
