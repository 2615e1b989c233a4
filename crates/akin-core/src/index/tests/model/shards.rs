//! Replacements for shared types in which Shuttle schedules every step.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

pub(super) use shuttle::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
pub(super) use shuttle::sync::{Mutex, MutexGuard, RwLock};
pub(super) use std::sync::PoisonError;

use shuttle::sync::{RwLockReadGuard, RwLockWriteGuard};

pub(super) type Multiplicative = BuildHasherDefault<std::hash::DefaultHasher>;

/// Few, so that threads contend.
pub(super) fn shards() -> usize {
    2
}

pub(super) fn stripes() -> usize {
    2
}

/// By task, as these threads are not the operating system's.
pub(super) fn stripe(stripes: usize) -> usize {
    usize::from(shuttle::current::me()) % stripes
}

pub(super) fn prefetch_lock<V>(_map: &DashMap<u32, V, Multiplicative>, _key: u32) {}

/// The parts of `DashMap` used by the index: a lock for each shard.
#[derive(Debug)]
pub(super) struct DashMap<K, V, S> {
    shards: Vec<RwLock<HashMap<K, V>>>,
    hasher: PhantomData<S>,
}

pub(super) struct Ref<'a, K, V> {
    shard: RwLockReadGuard<'a, HashMap<K, V>>,
    key: K,
}

pub(super) struct RefMut<'a, K, V> {
    shard: RwLockWriteGuard<'a, HashMap<K, V>>,
    key: K,
}

pub(super) struct Entry<'a, K, V>(RefMut<'a, K, V>);

impl<K: Copy + Eq + Hash + Into<u32>, V, S> DashMap<K, V, S> {
    pub fn with_hasher_and_shard_amount(_hasher: S, shards: usize) -> Self {
        let shards = (0..shards).map(|_| RwLock::new(HashMap::new())).collect();
        Self { shards, hasher: PhantomData }
    }

    fn shard(&self, key: K) -> &RwLock<HashMap<K, V>> {
        &self.shards[key.into() as usize % self.shards.len()]
    }

    pub fn get(&self, key: &K) -> Option<Ref<'_, K, V>> {
        let shard = self.shard(*key).read().unwrap();
        shard.contains_key(key).then_some(Ref { shard, key: *key })
    }

    pub fn get_mut(&self, key: &K) -> Option<RefMut<'_, K, V>> {
        let shard = self.shard(*key).write().unwrap();
        shard.contains_key(key).then_some(RefMut { shard, key: *key })
    }

    pub fn entry(&self, key: K) -> Entry<'_, K, V> {
        Entry(RefMut { shard: self.shard(key).write().unwrap(), key })
    }

    pub fn remove_if(&self, key: &K, is_due: impl FnOnce(&K, &V) -> bool) -> Option<(K, V)> {
        let mut shard = self.shard(*key).write().unwrap();
        if is_due(key, shard.get(key)?) { shard.remove_entry(key) } else { None }
    }

    pub fn capacity(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().unwrap().capacity()).sum()
    }

    /// The initial content.
    pub fn iter(&self) -> impl Iterator<Item = Ref<'_, K, V>> {
        let keys = |shard: &RwLock<HashMap<K, V>>| {
            let shard = shard.read().unwrap();
            shard.keys().copied().collect::<Vec<_>>()
        };
        let keys: Vec<K> = self.shards.iter().flat_map(keys).collect();
        keys.into_iter().filter_map(|key| self.get(&key))
    }
}

impl<'a, K: Copy + Eq + Hash, V> Entry<'a, K, V> {
    pub fn or_insert_with(mut self, new: impl FnOnce() -> V) -> RefMut<'a, K, V> {
        self.0.shard.entry(self.0.key).or_insert_with(new);
        self.0
    }

    pub fn or_default(self) -> RefMut<'a, K, V>
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

impl<K: Eq + Hash, V> Deref for Ref<'_, K, V> {
    type Target = V;
    fn deref(&self) -> &V {
        &self.shard[&self.key]
    }
}

impl<K: Eq + Hash, V> Deref for RefMut<'_, K, V> {
    type Target = V;
    fn deref(&self) -> &V {
        &self.shard[&self.key]
    }
}

impl<K: Eq + Hash, V> DerefMut for RefMut<'_, K, V> {
    fn deref_mut(&mut self) -> &mut V {
        self.shard.get_mut(&self.key).expect("it was there")
    }
}
