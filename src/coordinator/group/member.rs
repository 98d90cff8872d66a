//! One member of a classic group: who it is, what it can, what it owns, and which of its requests waits.
//!
//! It must not know the other members or the state of the group.

use std::sync::Arc;

use bytes::Bytes;

use crate::coordinator::group::records::MemberMetadata;
use crate::types::{ConnectionId, Ticket};

/// A protocol (assignment strategy) that a member supports, with what the member says about itself in that protocol's terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MemberProtocol {
    pub(super) name: Arc<str>,
    pub(super) metadata: Bytes,
}

/// A request that a member has parked with the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parked {
    /// The answer goes here.
    For(Ticket),
    /// The connection that asked is gone. The member still counts as having asked, but its session runs.
    Abandoned,
}

impl Parked {
    /// Where the answer goes, if anybody still waits for it.
    pub(super) fn ticket(self) -> Option<Ticket> {
        match self {
            Parked::For(ticket) => Some(ticket),
            Parked::Abandoned => None,
        }
    }
}

/// A member of a classic group.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) member_id: Arc<str>,
    /// Set for a static member (KIP-345).
    pub(super) group_instance_id: Option<Arc<str>>,
    pub(super) client_id: Arc<str>,
    pub(super) client_host: Arc<str>,
    pub(super) rebalance_timeout_ms: i32,
    pub(super) session_timeout_ms: i32,
    pub(super) protocol_type: Arc<str>,
    /// In the member's order of preference.
    pub(super) protocols: Vec<MemberProtocol>,
    pub(super) assignment: Bytes,
    /// It has not yet had an answer to a JoinGroup, so it knows no id with which to send heartbeats.
    pub(super) is_new: bool,
    pub(super) parked_join: Option<Parked>,
    pub(super) parked_sync: Option<Parked>,
}

impl Member {
    /// A member as the log tells of it. Only the protocol that was chosen is known.
    pub(super) fn from_record(metadata: &MemberMetadata, protocol_type: &Arc<str>, protocol: &Arc<str>) -> Member {
        let rebalance_timeout_ms = if metadata.rebalance_timeout_ms == -1 {
            metadata.session_timeout_ms
        } else {
            metadata.rebalance_timeout_ms
        };
        Member {
            member_id: metadata.member_id.clone(),
            group_instance_id: metadata.group_instance_id.clone(),
            client_id: metadata.client_id.clone(),
            client_host: metadata.client_host.clone(),
            rebalance_timeout_ms,
            session_timeout_ms: metadata.session_timeout_ms,
            protocol_type: protocol_type.clone(),
            protocols: vec![MemberProtocol { name: protocol.clone(), metadata: metadata.subscription.clone() }],
            assignment: metadata.assignment.clone(),
            is_new: false,
            parked_join: None,
            parked_sync: None,
        }
    }

    /// The member as the log is to tell of it, once `assignment` is its part.
    pub(super) fn to_record(&self, protocol: Option<&str>, assignment: Bytes) -> MemberMetadata {
        MemberMetadata {
            member_id: self.member_id.clone(),
            group_instance_id: self.group_instance_id.clone(),
            client_id: self.client_id.clone(),
            client_host: self.client_host.clone(),
            rebalance_timeout_ms: self.rebalance_timeout_ms,
            session_timeout_ms: self.session_timeout_ms,
            subscription: self.metadata(protocol),
            assignment,
        }
    }

    /// What the member says about itself in terms of `protocol`; empty if it does not know that.
    pub(super) fn metadata(&self, protocol: Option<&str>) -> Bytes {
        self.protocols
            .iter()
            .find(|known| Some(known.name.as_ref()) == protocol)
            .map(|known| known.metadata.clone())
            .unwrap_or_default()
    }

    /// Whether its timer may run out without harm, because a request of its own is parked and somebody waits for the answer.
    /// A new member is the exception: its client may have given up long ago and come back under another id.
    pub(super) fn has_satisfied_heartbeat(&self) -> bool {
        let waits = |parked: Option<Parked>| parked.is_some_and(|parked| parked.ticket().is_some());
        !self.is_new && (waits(self.parked_join) || waits(self.parked_sync))
    }

    /// Forgets that `connection` waits for answers. Whether it did.
    pub(super) fn abandon(&mut self, connection: ConnectionId) -> bool {
        let mut abandoned = false;
        for parked in [&mut self.parked_join, &mut self.parked_sync] {
            let is_its = parked.and_then(Parked::ticket).is_some_and(|ticket| ticket.connection == connection);
            if is_its {
                *parked = Some(Parked::Abandoned);
                abandoned = true;
            }
        }
        abandoned
    }
}
