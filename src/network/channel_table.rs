//! The channels of one Processor, found by token in constant time; a token of a channel that is gone finds nothing.
//!
//! It must not know what a channel does.

use crate::env::Token;
use crate::types::{ConnectionId, ProcessorId};
use crate::zoo::{self, Bug};

/// Slots with generations. A slot's generation grows with each use, so that no token and no connection id comes twice.
#[derive(Debug)]
pub(crate) struct ChannelTable<C> {
    slots: Vec<Slot<C>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<C> {
    generation: u32,
    channel: Option<C>,
}

impl<C> ChannelTable<C> {
    pub(crate) fn new() -> ChannelTable<C> {
        ChannelTable { slots: Vec::new(), free: Vec::new() }
    }

    /// The token that the next `insert` will use.
    pub(crate) fn next_token(&self) -> Token {
        match self.free.last().and_then(|index| Some((*index, self.slots.get(*index as usize)?.generation))) {
            Some((index, generation)) => Token { index, generation },
            None => {
                Token { index: u32::try_from(self.slots.len()).expect("fewer than 2^32 connections"), generation: 1 }
            }
        }
    }

    /// Puts a channel into the slot of [`ChannelTable::next_token`].
    pub(crate) fn insert(&mut self, channel: C) -> Token {
        let token = self.next_token();
        match self.free.pop() {
            Some(index) => self.slots[index as usize].channel = Some(channel),
            None => self.slots.push(Slot { generation: 1, channel: Some(channel) }),
        }
        token
    }

    pub(crate) fn get_mut(&mut self, token: Token) -> Option<&mut C> {
        let slot = self.slots.get_mut(token.index as usize)?;
        if slot.generation == token.generation { slot.channel.as_mut() } else { None }
    }

    pub(crate) fn get(&self, token: Token) -> Option<&C> {
        let slot = self.slots.get(token.index as usize)?;
        if slot.generation == token.generation { slot.channel.as_ref() } else { None }
    }

    /// Takes a channel out. Its slot is used again, unless its generations are used up.
    pub(crate) fn remove(&mut self, token: Token) -> Option<C> {
        let slot = self.slots.get_mut(token.index as usize)?;
        if slot.generation != token.generation {
            return None;
        }
        let channel = slot.channel.take()?;
        if let Some(generation) = slot.generation.checked_add(1) {
            slot.generation = if zoo::is(Bug::SlotReuseWithoutGeneration) { slot.generation } else { generation };
            self.free.push(token.index);
        }
        Some(channel)
    }

    /// All channels, by slot.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &C> {
        self.slots.iter().filter_map(|slot| slot.channel.as_ref())
    }

    /// All tokens in use, by slot.
    pub(crate) fn tokens(&self) -> Vec<Token> {
        let used = self.slots.iter().enumerate().filter(|(_, slot)| slot.channel.is_some());
        used.map(|(index, slot)| Token { index: u32::try_from(index).unwrap_or(u32::MAX), generation: slot.generation })
            .collect()
    }
}

/// The connection id of a token: slot and generation in one number.
pub(crate) fn connection_id(processor: ProcessorId, token: Token) -> ConnectionId {
    ConnectionId { processor, number: u64::from(token.generation) << 32 | u64::from(token.index) }
}

/// The token of a connection id of this Processor.
pub(crate) fn token_of(connection: ConnectionId) -> Token {
    let index = u32::try_from(connection.number & u64::from(u32::MAX)).expect("masked to 32 bits");
    Token { index, generation: u32::try_from(connection.number >> 32).expect("shifted to 32 bits") }
}

#[cfg(test)]
mod tests {
    use super::{ChannelTable, connection_id, token_of};
    use crate::types::ProcessorId;

    #[test]
    fn a_stale_token_finds_nothing_after_its_slot_is_used_again() {
        let mut table = ChannelTable::new();
        let first = table.insert('a');
        assert_eq!(table.remove(first), Some('a'));
        let second = table.insert('b');
        assert_eq!(first.index, second.index);
        assert_eq!(table.get(first), None);
        assert_eq!(table.remove(first), None);
        assert_eq!(table.get_mut(second), Some(&mut 'b'));
        assert_eq!(table.tokens(), vec![second]);
        assert_eq!(token_of(connection_id(ProcessorId(3), second)), second);
    }
}
