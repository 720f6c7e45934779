//! Values that may be dropped when memory is short, the least recently used first.

use std::collections::HashMap;
use std::hash::Hash;

/// A cache that counts the bytes of its values; their meaning and location are up to the caller.
#[derive(Debug)]
pub struct Lru<K, V> {
    entries: HashMap<K, Entry<V>>,
    /// Counts uses: larger is more recent.
    clock: u64,
    bytes: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    bytes: u64,
    used: u64,
}

impl<K: Eq + Hash + Clone, V> Lru<K, V> {
    /// Empty store.
    pub fn new() -> Self {
        Self {
            entries: HashMap::new(),
            clock: 0,
            bytes: 0,
        }
    }

    /// Bytes of all values together.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value, now the most recently used.
    pub fn get(&mut self, key: &K) -> Option<&V> {
        let entry = self.entries.get_mut(key)?;
        self.clock += 1;
        entry.used = self.clock;
        Some(&entry.value)
    }

    /// Stores a value; returns the value it replaces.
    pub fn insert(&mut self, key: K, value: V, bytes: u64) -> Option<V> {
        self.clock += 1;
        let used = self.clock;
        self.bytes += bytes;
        let old = self.entries.insert(key, Entry { value, bytes, used })?;
        self.bytes -= old.bytes;
        Some(old.value)
    }

    /// Removes a value, which the caller drops outside any lock.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let entry = self.entries.remove(key)?;
        self.bytes -= entry.bytes;
        Some(entry.value)
    }

    /// Removes values that `may_go`, the least recently used first, until their bytes reach `requested` or none is
    /// left. The caller drops them, outside any lock.
    pub fn evict(&mut self, requested: u64, may_go: impl Fn(&V) -> bool) -> Vec<V> {
        let mut order: Vec<(u64, K)> = self
            .entries
            .iter()
            .filter(|(_, entry)| may_go(&entry.value))
            .map(|(key, entry)| (entry.used, key.clone()))
            .collect();
        order.sort_by_key(|(used, _)| *used);
        let mut gone = Vec::new();
        let mut freed = 0;
        for (_, key) in order {
            if freed >= requested {
                break;
            }
            if let Some(entry) = self.entries.remove(&key) {
                freed += entry.bytes;
                self.bytes -= entry.bytes;
                gone.push(entry.value);
            }
        }
        gone
    }
}

impl<K: Eq + Hash + Clone, V> Default for Lru<K, V> {
    fn default() -> Self {
        Self::new()
    }
}
