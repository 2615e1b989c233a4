//! Remembers the ids of documents, to find two documents with the same id.

use std::io;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128;

use crate::cli::input::Origin;
use crate::document::DocumentId;
use crate::engine::{Room, Sorter};

/// Ids by their hashes of 128 bits, with the places where they stand; sorted through files.
pub struct Names {
    sorter: Sorter,
    files: Vec<Arc<str>>,
    /// Whether the documents are old: a new document may have the id of an old document.
    are_old: bool,
}

/// A record begins with a byte for old or new, and the hash of the id.
const ID_BYTES: usize = 1 + size_of::<u128>();
const NUMBER_BYTES: usize = size_of::<u32>();

/// Two documents with the same id.
pub struct Repeated {
    /// The number of the later document.
    pub number: u32,
    pub first: Origin,
    pub again: Origin,
}

impl Names {
    pub fn new(room: &Room, are_old: bool) -> Self {
        Self { sorter: Sorter::new(room, room.share()), files: Vec::new(), are_old }
    }

    pub fn end_old(&mut self) {
        self.are_old = false;
    }

    /// # Errors
    /// The disk is full.
    pub fn push(&mut self, id: &DocumentId, number: u32, origin: &Origin) -> io::Result<()> {
        if self.files.last().is_none_or(|file| *file != origin.file) {
            self.files.push(Arc::clone(&origin.file));
        }
        let mut record = vec![u8::from(!self.are_old)];
        record.extend_from_slice(&xxh3_128(id.as_str().as_bytes()).to_be_bytes());
        record.extend_from_slice(&number.to_be_bytes());
        record.extend_from_slice(&(self.files.len() as u32 - 1).to_be_bytes());
        // Lines are counted from 1.
        record.extend_from_slice(&origin.line.unwrap_or(0).to_be_bytes());
        self.sorter.push(&record)
    }

    /// All documents but the first with each id, in the order of the input.
    ///
    /// # Errors
    /// The disk is full.
    pub fn finish(self) -> io::Result<Vec<Repeated>> {
        let Self { sorter, files, .. } = self;
        let (mut sorted, mut first, mut repeated) = (sorter.finish()?, Vec::new(), Vec::new());
        while let Some(record) = sorted.next()? {
            if first.get(..ID_BYTES) != record.get(..ID_BYTES) {
                first.clear();
                first.extend_from_slice(record);
                continue;
            }
            let [(_, first), (number, again)] = [&first, record].map(|record| read(record, &files));
            repeated.push(Repeated { number, first, again });
        }
        repeated.sort_unstable_by_key(|repeated| repeated.number);
        Ok(repeated)
    }
}

/// The number of a document, and where it stands.
fn read(record: &[u8], files: &[Arc<str>]) -> (u32, Origin) {
    let (number, rest) = record[ID_BYTES..].split_at(NUMBER_BYTES);
    let (file, line) = rest.split_at(size_of::<u32>());
    let number_in = |bytes: &[u8]| bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
    let line = Some(number_in(line)).filter(|line| *line > 0);
    let file = Arc::clone(&files[number_in(file) as usize]);
    (number_in(number) as u32, Origin { file, line })
}
