//! The files and directories of the simulated disk by number, in the order in which they were made.
//!
//! It must not know names.

use crate::disk_state::{Node, NodeId};

/// The table. A number is never given again.
#[derive(Debug, Default)]
pub(crate) struct NodeTable(Vec<Option<Node>>);

impl NodeTable {
    pub(crate) fn get(&self, node: NodeId) -> Option<&Node> {
        self.0.get(usize::try_from(node).ok()?)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, node: NodeId) -> Option<&mut Node> {
        self.0.get_mut(usize::try_from(node).ok()?)?.as_mut()
    }

    /// Takes one in, and gives it the next number.
    pub(crate) fn add(&mut self, node: Node) -> NodeId {
        self.0.push(Some(node));
        self.0.len() as NodeId - 1
    }

    pub(crate) fn remove(&mut self, node: NodeId) {
        if let Some(slot) = usize::try_from(node).ok().and_then(|node| self.0.get_mut(node)) {
            *slot = None;
        }
    }

    /// Removes those of which `stays` is false.
    pub(crate) fn retain(&mut self, stays: impl Fn(NodeId) -> bool) {
        for (node, slot) in (0..).zip(&mut self.0) {
            if !stays(node) {
                *slot = None;
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        (0..).zip(&self.0).filter_map(|(node, slot)| Some((node, slot.as_ref()?)))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (NodeId, &mut Node)> {
        (0..).zip(&mut self.0).filter_map(|(node, slot)| Some((node, slot.as_mut()?)))
    }

    /// Their numbers, for a walk during which they change.
    pub(crate) fn numbers(&self) -> Vec<NodeId> {
        self.iter().map(|(node, _)| node).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk_state::Directory;

    #[test]
    fn a_number_is_never_given_again() {
        let mut table = NodeTable::default();
        let [first, second] = [(); 2].map(|()| table.add(Node::Directory(Directory::default())));
        table.remove(second);
        let third = table.add(Node::Directory(Directory::default()));
        assert!(table.get(second).is_none() && third > second);
        table.retain(|node| node != first);
        assert_eq!(table.numbers(), [third]);
    }
}
