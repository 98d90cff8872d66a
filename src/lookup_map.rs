//! A hash map that can only be looked up: its order could not show, because nothing iterates over it.
//!
//! It must not know its keys. Whoever needs an order takes a `BTreeMap`.

use std::borrow::Borrow;
use std::hash::Hash;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Values by key, without an order.
#[derive(Debug)]
pub struct LookupMap<K, V>(HashMap<K, V, FixedState>);

impl<K, V> Default for LookupMap<K, V> {
    fn default() -> LookupMap<K, V> {
        LookupMap(HashMap::with_hasher(FixedState::default()))
    }
}

impl<K: Eq + Hash, V> LookupMap<K, V> {
    /// The value under `key`.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.0.get(key)
    }

    /// Puts a value under `key` and returns the one that was there.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.0.insert(key, value)
    }

    /// Takes the value under `key` out.
    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.0.remove(key)
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
