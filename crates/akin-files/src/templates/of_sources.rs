//! `dedup --ignore-templates`: the shingles that many documents of one source share.

use std::collections::{HashMap, HashSet};

use xxhash_rust::xxh3::xxh3_64;

use super::frequent::{Bounds, SHINGLE_BYTES};
use crate::corpus::{ReadOptions, check_memory, read, value_of, work_in_order};
use crate::failure::Failure;
use crate::input::{Item, Selection};
use akin_core::text::{ShingleSet, Shingler};
use akin_model::document::Content;

/// Finds the shingles that more than `over` documents of one source have. Documents of a source
/// with equal sets count once: copies are no template.
pub struct SourceTemplates<'t> {
    pub options: &'t ReadOptions,
    pub shingler: &'t Shingler,
    /// The column with the source of each document; by default the source is the file.
    pub column: Option<&'t str>,
    pub over: u32,
    /// Bytes.
    pub memory: usize,
}

/// The hash of a source, and the set of a document there. Of a shingle and a source the exclusive
/// or is counted.
type OfSource = (u64, ShingleSet);

impl SourceTemplates<'_> {
    /// # Errors
    /// The memory does not suffice. What cannot be read is left to the next reading.
    pub fn find(&self, selections: &[&Selection]) -> Result<Vec<u64>, Failure> {
        let mut bounds = Bounds::within(self.memory / 2);
        self.each_set(selections, |(source, set)| {
            set.as_slice().iter().for_each(|shingle| bounds.count(shingle ^ source));
            Ok(())
        })?;
        let (mut counted, mut found) = (HashMap::new(), HashSet::new());
        self.each_set(selections, |(source, set)| {
            for shingle in set.as_slice() {
                let key = shingle ^ source;
                if bounds.of(key) > self.over {
                    let documents = counted.entry(key).or_insert(0_u32);
                    *documents += 1;
                    if *documents > self.over {
                        found.insert(*shingle);
                    }
                }
            }
            self.check_memory(counted.len() * SHINGLE_BYTES)
        })?;
        Ok(found.into_iter().collect())
    }

    /// Visits the distinct sets of each source.
    fn each_set(
        &self,
        selections: &[&Selection],
        mut visit: impl FnMut(OfSource) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut seen = HashSet::new();
        for selection in selections {
            let meter = self.options.meter("counting shingles", [*selection]);
            let cut = |item: &Item| self.cut(item);
            work_in_order(read(selection), self.options.threads(), &meter, cut, |_, cut| {
                let Some((source, set)) = cut.flatten() else { return Ok(()) };
                self.check_memory(seen.len() * size_of::<u64>() * 2)?;
                match seen.insert(set.fingerprint() ^ source) {
                    true => visit((source, set)),
                    false => Ok(()),
                }
            })?;
        }
        Ok(())
    }

    /// `bytes`: of the sets that were seen, or of the shingles that are counted.
    fn check_memory(&self, bytes: usize) -> Result<(), Failure> {
        let less = "a higher --ignore-templates counts fewer shingles";
        check_memory("finding templates", bytes, self.memory, less)
    }

    fn cut(&self, item: &Item) -> Option<OfSource> {
        let record = item.record().ok()?;
        let source = match self.column {
            Some(column) => xxh3_64(value_of(&record, column).as_bytes()),
            None => xxh3_64(item.origin.file.as_bytes()),
        };
        let Content::Text(text) = &record.content else { return None };
        Some((source, ShingleSet::from_shingles(self.shingler.shingles(text).ok()?)?))
    }
}
