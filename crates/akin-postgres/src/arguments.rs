//! The arguments of the function that writes documents: arrays with an element for each of them.

use std::collections::HashSet;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row};

use crate::batch::Old;

#[derive(Default)]
pub(crate) struct Arguments<'a> {
    collection: i32,
    /// Ascending, once they are ordered.
    pub locks: Vec<i64>,
    probes: Vec<i64>,
    of_key: i32,
    equal: Vec<i64>,
    seen: i64,
    /// All documents of the call, with the ordinals of their stored versions, or -1.
    known_ids: Vec<&'a str>,
    versions: Vec<i64>,
    /// The documents that are written.
    ids: Vec<&'a str>,
    entries: Vec<i64>,
    hashes: Vec<i64>,
    stored: Vec<i64>,
    expires: Vec<Option<i64>>,
    forms: Vec<i16>,
    metadatas: Vec<Option<&'a str>>,
    contents: Vec<Option<&'a [u8]>>,
    /// Their distinct sets, which may be stored already.
    distinct: HashSet<i64>,
    new_entries: Vec<i64>,
    sizes: Vec<i32>,
    sketches: Vec<&'a [u8]>,
    sets: Vec<Option<&'a [u8]>>,
    keys: Vec<i64>,
    key_entries: Vec<i64>,
    /// The sets of the versions that are replaced.
    old: OldSets,
    created: i64,
}

/// Sets that lose a document, each with its keys.
#[derive(Default)]
pub(crate) struct OldSets {
    pub entries: Vec<i64>,
    pub keys: Vec<i64>,
    pub key_entries: Vec<i64>,
}

/// A document that is written.
pub(crate) struct NewDocument<'a> {
    pub id: &'a str,
    pub entry: i64,
    pub hash: i64,
    pub stored_at_ms: i64,
    pub expires_at_ms: Option<i64>,
    pub form: i16,
    pub metadata: Option<&'a str>,
    pub frame: Option<&'a [u8]>,
    pub shingles: i32,
    pub sketch: &'a [u8],
    pub packed: Option<&'a [u8]>,
    pub keys: Vec<i64>,
    pub old: Option<&'a Old>,
}

impl OldSets {
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
        self.probes.extend_from_slice(keys);
        self.equal.push(entry);
        self.of_key = self.of_key.max(of_key as i32 + 1);
    }

    pub fn write_document(&mut self, new: &NewDocument<'a>) {
        self.ids.push(new.id);
        self.entries.push(new.entry);
        self.hashes.push(new.hash);
        self.stored.push(new.stored_at_ms);
        self.expires.push(new.expires_at_ms);
        self.forms.push(new.form);
        self.metadatas.push(new.metadata);
        self.contents.push(new.frame);
        if self.distinct.insert(new.entry) {
            self.new_entries.push(new.entry);
            self.sizes.push(new.shingles);
            self.sketches.push(new.sketch);
            self.sets.push(new.packed);
            self.keys.extend_from_slice(&new.keys);
            self.key_entries.extend(new.keys.iter().map(|_| new.entry));
        }
        match new.old {
            Some(old) => self.old.add(old.entry, &old.keys),
            None => self.created += 1,
        }
    }

    /// All transactions take locks in the same order, so no two wait for each other.
    pub fn order(&mut self) {
        for numbers in [&mut self.locks, &mut self.probes, &mut self.equal] {
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
        let parameters: [(&(dyn ToSql + Sync), Type); 26] = [
            (&self.collection, Type::INT4),
            (&self.locks, Type::INT8_ARRAY),
            (&self.probes, Type::INT8_ARRAY),
            (&self.of_key, Type::INT4),
            (&self.equal, Type::INT8_ARRAY),
            (&self.seen, Type::INT8),
            (&self.known_ids, Type::TEXT_ARRAY),
            (&self.versions, Type::INT8_ARRAY),
            (&written.ids, Type::TEXT_ARRAY),
            (&written.entries, Type::INT8_ARRAY),
            (&written.hashes, Type::INT8_ARRAY),
            (&written.stored, Type::INT8_ARRAY),
            (&written.expires, Type::INT8_ARRAY),
            (&written.forms, Type::INT2_ARRAY),
            (&written.metadatas, Type::TEXT_ARRAY),
            (&written.contents, Type::BYTEA_ARRAY),
            (&written.new_entries, Type::INT8_ARRAY),
            (&written.sizes, Type::INT4_ARRAY),
            (&written.sketches, Type::BYTEA_ARRAY),
            (&written.sets, Type::BYTEA_ARRAY),
            (&written.keys, Type::INT8_ARRAY),
            (&written.key_entries, Type::INT8_ARRAY),
            (&written.old.entries, Type::INT8_ARRAY),
            (&written.old.keys, Type::INT8_ARRAY),
            (&written.old.key_entries, Type::INT8_ARRAY),
            (&written.created, Type::INT8),
        ];
        let places: Vec<String> = (1..=parameters.len()).map(|n| format!("${n}")).collect();
        let sql = format!("SELECT * FROM akin.add({})", places.join(", "));
        client.query_typed(&sql, &parameters).await
    }
}
