//! The calls that requests share which only read: documents by their ids, sets by their keys, and
//! the documents and the elements of sets.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use akin_engine::backend::{BackendError, Member};
use tokio_postgres::Row;

use crate::coalescing::{READ_MAX, ReadRequest, Request, WaitingRequests, Weight};
use crate::database::DatabaseConnection;
use crate::error::failed;
use crate::found::{FoundSets, NearSet, ProbeKeys};
use crate::lookup::{document_id, ordinal};
use crate::pool::parameters;
use crate::rows::{Material, list};

/// Members of a set in the weight of a reading: most sets have no more.
const MEMBERS_USUAL: usize = 4;

/// Shingles of a set that is read whose content or elements weigh as much as a row.
const SHINGLES_OF_ROW: usize = 16;

/// Larger contents of sets are read only where they are asked for whole, in bytes.
const SMALL_CONTENT: i32 = 32 << 10;

/// Rows that weigh as much as a content of that size.
const SMALL_WEIGHT: usize = 64;

/// Rows that weigh as much as a content of any size: a call reads a few of them.
const WHOLE_WEIGHT: usize = READ_MAX / 4;

/// Rows that weigh as much as a document that is read with its small content.
const DOCUMENT_WEIGHT: usize = 32;

/// Sets with wanted documents.
pub(crate) struct WantedEntries {
    pub entries: Vec<i64>,
    pub members_max: usize,
    pub now_ms: i64,
    /// The sets with wanted elements, which have so many shingles.
    pub materials: Vec<i64>,
    pub shingles: usize,
    /// Of any size: otherwise large contents are not read.
    pub are_whole: bool,
}

/// The documents of sets, none if they have none, and what the sets are made of.
#[derive(Default)]
pub(crate) struct Read {
    pub members: HashMap<i64, Vec<Member>>,
    pub materials: HashMap<i64, Arc<Material>>,
}

pub(crate) type Probes = WaitingRequests<ProbeKeys, Arc<FoundSets>>;
pub(crate) type Readings = WaitingRequests<WantedEntries, Arc<Read>>;
pub(crate) type DocumentReads = WaitingRequests<WantedDocuments, Vec<Option<DocumentRow>>>;

/// Documents with wanted sketches.
pub(crate) struct WantedDocuments {
    pub collection: i32,
    pub ids: Vec<String>,
    pub now_ms: i64,
    /// What their sets are made of is read, too, if it has no more bytes.
    pub bytes_max: Option<i32>,
}

impl Read {
    /// Of a row of `akin.members`.
    fn add_members(&mut self, row: &Row) -> Result<(), BackendError> {
        let (ordinals, ids) = (list(row, 1), list(row, 2));
        let have_metadata = list(row, 3);
        for (n, entry) in list(row, 0).into_iter().enumerate() {
            let (ordinal, id) = (ordinal(ordinals[n]), document_id(ids[n])?);
            let member = Member { ordinal, id, has_metadata: have_metadata[n] };
            self.members.entry(entry).or_default().push(member);
        }
        Ok(())
    }
}

/// A row of `akin.sketched`, and what its set is made of if that was read: documents with equal
/// sets share it.
pub(crate) struct DocumentRow {
    pub row: Row,
    pub material: Option<Arc<Material>>,
}

impl ReadRequest for ProbeKeys {
    type Answer = Arc<FoundSets>;

    fn weight(&self) -> Weight {
        Weight { keys: self.keys.len(), of_key: self.of_key, others: 0 }
    }

    async fn read(
        connection: &DatabaseConnection,
        probes: &[Request<Self, Arc<FoundSets>>],
    ) -> Result<Vec<Arc<FoundSets>>, BackendError> {
        let mut keys: Vec<i64> =
            probes.iter().flat_map(|of| of.asked.keys.iter().copied()).collect();
        keys.sort_unstable();
        keys.dedup();
        let equal: Vec<i64> = probes.iter().filter_map(|of| of.asked.equal).collect();
        let of_key = probes.iter().map(|of| of.asked.of_key).max().unwrap_or(0) as i32 + 1;
        let of_keys = vec![of_key; keys.len()];
        let sql = "SELECT c.*, s.*
            FROM akin.candidates($1, $2, '{}', -1) c, akin.sketches(c.entries || $3) s";
        let parameters = parameters![keys, of_keys, equal];
        let row = connection.client.query_typed_one(sql, parameters).await.map_err(failed)?;
        let mut found = FoundSets::default();
        found.add(&row, 0);
        NearSet::of(&row, 2).for_each(|set| found.know(set));
        let found = Arc::new(found);
        Ok(vec![found; probes.len()])
    }
}

impl ReadRequest for WantedEntries {
    type Answer = Arc<Read>;

    /// Of repeated or of very long words a set is small, and its content is not.
    fn weight(&self) -> Weight {
        let of_each = if self.are_whole { WHOLE_WEIGHT } else { SMALL_WEIGHT };
        Weight {
            keys: self.entries.len(),
            of_key: self.members_max.min(MEMBERS_USUAL),
            others: self.materials.len() * of_each + self.shingles / SHINGLES_OF_ROW,
        }
    }

    async fn read(
        connection: &DatabaseConnection,
        wanted: &[Request<Self, Arc<Read>>],
    ) -> Result<Vec<Arc<Read>>, BackendError> {
        let distinct = |entries: &dyn Fn(&WantedEntries) -> Vec<i64>| {
            let all: HashSet<i64> = wanted.iter().flat_map(|of| entries(&of.asked)).collect();
            all.into_iter().collect::<Vec<i64>>()
        };
        let entries = distinct(&|of| of.entries.clone());
        let materials = distinct(&|of| of.materials.clone());
        let whole = distinct(&|of| if of.are_whole { of.materials.clone() } else { Vec::new() });
        let of_set = wanted.iter().map(|of| of.asked.members_max).max().unwrap_or(0);
        let of_set = i32::try_from(of_set).unwrap_or(i32::MAX);
        let now_ms = wanted.iter().map(|of| of.asked.now_ms).max().unwrap_or(0);
        let sql = "SELECT * FROM akin.members($1, $2, $3)
            LEFT JOIN akin.materials($4, $2, $5, $6) ON cardinality($4) > 0";
        let parameters = parameters![entries, now_ms, of_set, materials, SMALL_CONTENT, whole];
        let row = connection.client.query_typed_one(sql, parameters).await.map_err(failed)?;
        let mut read = Read::default();
        read.members.extend(entries.iter().map(|entry| (*entry, Vec::new())));
        read.add_members(&row)?;
        read.materials.extend(Material::of_sets(&row, 4));
        let read = Arc::new(read);
        Ok(vec![read; wanted.len()])
    }
}

impl ReadRequest for WantedDocuments {
    type Answer = Vec<Option<DocumentRow>>;

    fn weight(&self) -> Weight {
        let of_each = if self.bytes_max.is_some() { DOCUMENT_WEIGHT } else { 1 };
        Weight { others: self.ids.len() * of_each, ..Weight::default() }
    }

    async fn read(
        connection: &DatabaseConnection,
        wanted: &[Request<Self, Vec<Option<DocumentRow>>>],
    ) -> Result<Vec<Vec<Option<DocumentRow>>>, BackendError> {
        let (mut collections, mut ids) = (Vec::new(), Vec::new());
        let (mut times, mut most) = (Vec::new(), Vec::new());
        for asked in wanted.iter().map(|of| &of.asked) {
            collections.extend(asked.ids.iter().map(|_| asked.collection));
            times.extend(asked.ids.iter().map(|_| asked.now_ms));
            most.extend(asked.ids.iter().map(|_| asked.bytes_max));
            ids.extend(asked.ids.iter().map(String::as_str));
        }
        let sql = "SELECT * FROM akin.sketched($1, $2, $3, $4)";
        let parameters = parameters![collections, ids, times, most];
        let rows = connection.client.query_typed(sql, parameters).await.map_err(failed)?;
        let mut found: Vec<Option<DocumentRow>> = ids.iter().map(|_| None).collect();
        let mut materials = HashMap::<i64, Arc<Material>>::new();
        for row in rows {
            let (entry, place) = (row.get(2), row.get::<_, i64>(6) as usize - 1);
            let known = materials.get(&entry).cloned();
            let material = known.or_else(|| Material::of_document(&row));
            materials.extend(material.clone().map(|of| (entry, of)));
            found[place] = Some(DocumentRow { row, material });
        }
        let mut found = found.into_iter();
        Ok(wanted.iter().map(|of| found.by_ref().take(of.asked.ids.len()).collect()).collect())
    }
}
