//! Who the broker is: its id, its cluster's, and where a client reaches it.
//!
//! It must not know what is asked of it. The ids are taken over when they are told first, and are the same ever after.

use std::net::SocketAddr;

/// Of a UUID in letters that may stand in an address.
const CLUSTER_ID_LETTERS: usize = 22;

/// The one broker that there is.
#[derive(Debug, Default)]
pub(crate) struct Node {
    id: Option<i32>,
    cluster_id: Option<String>,
    address: Option<(String, u16)>,
}

impl Node {
    /// Nobody has said another address than the one that was reached, so this is what everybody is told.
    pub(crate) fn reached_at(&mut self, address: SocketAddr) {
        self.address = Some((address.ip().to_string(), address.port()));
    }

    /// Its id; none has a negative one.
    pub(super) fn learn_id(&mut self, told: i32) -> i32 {
        *self.id.get_or_insert(told.max(0))
    }

    pub(super) fn learn_cluster_id(&mut self, told: &str) {
        if self.cluster_id.is_none() && told.len() == CLUSTER_ID_LETTERS {
            self.cluster_id = Some(told.to_owned());
        }
    }

    /// The cluster's id, or what no broker tells.
    pub(super) fn cluster_id(&self) -> &str {
        self.cluster_id.as_deref().unwrap_or("an id of 22 letters")
    }

    /// Host and port, as told while nobody has reached it.
    pub(super) fn address<'a>(&'a self, told: (&'a str, i32)) -> (&'a str, i32) {
        self.address.as_ref().map_or(told, |(host, port)| (host.as_str(), i32::from(*port)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_told_the_address_that_was_reached() {
        let mut node = Node::default();
        assert_eq!(node.address(("told", 1)), ("told", 1));
        node.reached_at(SocketAddr::from(([10, 0, 0, 1], 9092)));
        assert_eq!(node.address(("told", 1)), ("10.0.0.1", 9092));
    }

    #[test]
    fn ids_are_those_that_were_told_first() {
        let mut node = Node::default();
        assert_eq!((node.learn_id(7), node.learn_id(8)), (7, 7));
        node.learn_cluster_id("");
        assert_eq!(node.cluster_id(), "an id of 22 letters", "no cluster is called that");
        node.learn_cluster_id("AAAAAAAAAAAAAAAAAAAAAA");
        node.learn_cluster_id("BBBBBBBBBBBBBBBBBBBBBB");
        assert_eq!(node.cluster_id(), "AAAAAAAAAAAAAAAAAAAAAA");
    }
}
