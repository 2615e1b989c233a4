//! The arguments of the function that writes documents: arrays with an element for each of them.

use std::collections::{BTreeMap, HashSet};

use tokio_postgres::{Client, Error, Row};

use crate::pool::{Parameters, parameters};

#[derive(Default)]
pub(crate) struct Arguments<'a> {
    collection: i32,
    /// Ascending, once they are ordered.
    pub locks: Vec<i64>,
    /// Lookup keys, and how many sets of each key are compared: of a key that documents share, as
    /// many as for the widest of their lookups.
    looked_up: BTreeMap<i64, i32>,
    equal: Vec<i64>,
    seen: i64,
    /// All documents of the call, with the ordinals of their stored versions, or -1.
    known_ids: Vec<&'a str>,
    versions: Vec<i64>,
    /// The documents that are written.
    pub ids: Vec<&'a str>,
    pub entries: Vec<i64>,
    pub hashes: Vec<i64>,
    pub stored: Vec<i64>,
    pub expires: Vec<Option<i64>>,
    pub forms: Vec<i16>,
    pub metadatas: Vec<Option<&'a str>>,
    pub contents: Vec<Option<&'a [u8]>>,
    /// Their distinct sets, which may be stored already.
    distinct: HashSet<i64>,
    new: KeyedSets,
    pub sizes: Vec<i32>,
    pub sketches: Vec<&'a [u8]>,
    pub sets: Vec<Option<&'a [u8]>>,
    /// The sets of the versions that are replaced.
    pub old: KeyedSets,
    pub created: i64,
}

/// Sets, each with its keys.
#[derive(Default)]
pub(crate) struct KeyedSets {
    pub entries: Vec<i64>,
    pub keys: Vec<i64>,
    pub key_entries: Vec<i64>,
}

impl KeyedSets {
    pub fn add(&mut self, entry: i64, keys: &[i64]) {
        self.entries.push(entry);
        self.keys.extend_from_slice(keys);
        self.key_entries.extend(keys.iter().map(|_| entry));
    }
}

impl<'a> Arguments<'a> {
    pub fn new(collection: i32, seen: i64) -> Self {
        Self { collection, seen, ..Self::default() }
    }

    /// Adds a document of the call, and the locks of its id and its set.
    pub fn know(&mut self, id: &'a str, version: i64, lock_of_id: i64, entry: i64) {
        self.known_ids.push(id);
        self.versions.push(version);
        self.locks.extend([lock_of_id, entry]);
    }

    /// Adds the lookup keys of a document, and their locks.
    pub fn look_up(&mut self, keys: &[i64], entry: i64, of_key: usize) {
        self.locks.extend_from_slice(keys);
        // A further set shows that there are more.
        let read = of_key as i32 + 1;
        for key in keys {
            let widest = self.looked_up.entry(*key).or_default();
            *widest = read.max(*widest);
        }
        self.equal.push(entry);
    }

    /// Whether a set of a written document is the first of its kind.
    pub fn add_set(&mut self, entry: i64, keys: &[i64]) -> bool {
        let is_new = self.distinct.insert(entry);
        if is_new {
            self.new.add(entry, keys);
        }
        is_new
    }

    /// All transactions take locks in the same order, so no two wait for each other.
    pub fn order(&mut self) {
        for numbers in [&mut self.locks, &mut self.equal] {
            numbers.sort_unstable();
            numbers.dedup();
        }
    }

    /// Takes the locks and returns what is unknown; writes nothing.
    pub async fn find_unknown(&self, client: &Client) -> Result<Vec<Row>, Error> {
        self.call(client, &Self::new(self.collection, self.seen)).await
    }

    /// Writes in a transaction that holds the locks; nothing without a document to write.
    pub async fn write(&self, client: &Client) -> Result<Vec<Row>, Error> {
        if self.ids.is_empty() {
            return Ok(Vec::new());
        }
        Self::new(self.collection, self.seen).call(client, self).await
    }

    /// Takes the locks, and writes unless something is unknown, which is returned.
    pub async fn add(&self, client: &Client) -> Result<Vec<Row>, Error> {
        self.call(client, self).await
    }

    async fn call(&self, client: &Client, written: &Self) -> Result<Vec<Row>, Error> {
        let (probes, of_keys): (Vec<i64>, Vec<i32>) =
            self.looked_up.iter().map(|(key, sets)| (*key, *sets)).unzip();
        let parameters: Parameters<'_> = parameters![
            self.collection,
            self.locks,
            probes,
            of_keys,
            self.equal,
            self.seen,
            self.known_ids,
            self.versions,
            written.ids,
            written.entries,
            written.hashes,
            written.stored,
            written.expires,
            written.forms,
            written.metadatas,
            written.contents,
            written.new.entries,
            written.sizes,
            written.sketches,
            written.sets,
            written.new.keys,
            written.new.key_entries,
            written.old.entries,
            written.old.keys,
            written.old.key_entries,
            written.created,
        ];
        let places: Vec<String> = (1..=parameters.len()).map(|n| format!("${n}")).collect();
        let sql = format!("SELECT * FROM akin.add({})", places.join(", "));
        client.query_typed(&sql, parameters).await
    }
}
