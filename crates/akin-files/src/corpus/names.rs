//! Remembers the ids and the files of documents, to find two documents with the same id.

use std::io;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128;

use crate::input::Origin;
use crate::offline::{Room, Sorter};
use akin_model::document::DocumentId;

/// Ids by their hashes of 128 bits, with the places where they stand; sorted through files.
pub struct DocumentNames {
    sorter: Sorter,
    files: CorpusFiles,
    /// Whether the documents are old: a new document may have the id of an old document.
    are_old: bool,
}

/// A record begins with a byte for old or new, and the hash of the id.
const ID_BYTES: usize = 1 + size_of::<u128>();
const NUMBER_BYTES: usize = size_of::<u32>();

/// Two documents with the same id.
pub struct Repeated {
    /// The number of the earlier document.
    pub first_number: u32,
    /// The number of the later document.
    pub number: u32,
    pub first: Origin,
    pub again: Origin,
}

/// The files of documents, by the documents' numbers.
#[derive(Default)]
pub struct CorpusFiles {
    /// The number of the first of consecutive documents of a file, and the file.
    runs: Vec<(u32, Arc<str>)>,
}

impl CorpusFiles {
    fn push(&mut self, number: u32, file: &Arc<str>) {
        if self.runs.last().is_none_or(|(_, last)| last != file) {
            self.runs.push((number, Arc::clone(file)));
        }
    }

    /// The file of a document; `None` before the first file.
    pub fn of(&self, number: u32) -> Option<&Arc<str>> {
        let run = self.runs.partition_point(|(first, _)| *first <= number).checked_sub(1)?;
        Some(&self.runs[run].1)
    }
}

impl DocumentNames {
    pub fn new(room: &Room, are_old: bool) -> Self {
        Self { sorter: Sorter::new(room, room.share()), files: CorpusFiles::default(), are_old }
    }

    pub fn end_old(&mut self) {
        self.are_old = false;
    }

    /// # Errors
    /// The disk is full.
    pub fn push(&mut self, id: &DocumentId, number: u32, origin: &Origin) -> io::Result<()> {
        self.files.push(number, &origin.file);
        let mut record = vec![u8::from(!self.are_old)];
        record.extend_from_slice(&xxh3_128(id.as_str().as_bytes()).to_be_bytes());
        record.extend_from_slice(&number.to_be_bytes());
        // Lines are counted from 1.
        record.extend_from_slice(&origin.line.unwrap_or(0).to_be_bytes());
        self.sorter.push(&record)
    }

    /// All documents but the first with each id, in the order of the input; and the files.
    ///
    /// # Errors
    /// The disk is full.
    pub fn finish(self) -> io::Result<(Vec<Repeated>, CorpusFiles)> {
        let Self { sorter, files, .. } = self;
        let (mut sorted, mut first, mut repeated) = (sorter.finish()?, Vec::new(), Vec::new());
        while let Some(record) = sorted.next_record()? {
            if first.get(..ID_BYTES) != record.get(..ID_BYTES) {
                first.clear();
                first.extend_from_slice(record);
                continue;
            }
            let [(first_number, first), (number, again)] =
                [&first, record].map(|record| read(record, &files));
            repeated.push(Repeated { first_number, number, first, again });
        }
        repeated.sort_unstable_by_key(|repeated| repeated.number);
        Ok((repeated, files))
    }
}

/// The number of a document, and where it stands.
fn read(record: &[u8], files: &CorpusFiles) -> (u32, Origin) {
    let (number, line) = record[ID_BYTES..].split_at(NUMBER_BYTES);
    let number_in = |bytes: &[u8]| bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
    let (number, line) = (number_in(number) as u32, Some(number_in(line)));
    let file = files.of(number).expect("each document was pushed with its file");
    (number, Origin { file: Arc::clone(file), line: line.filter(|line| *line > 0) })
}
