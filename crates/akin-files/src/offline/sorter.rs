//! Sorts more records than there is memory for: sorted runs go to temporary files and are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use super::Room;

/// A file and a buffer each.
const RUNS_MAX: usize = 128;
const BUFFER_BYTES: usize = 1 << 16;
const LENGTH_BYTES: usize = size_of::<u32>();

/// Collects records, which are sorted by their bytes.
pub struct Sorter {
    room: Room,
    memory: usize,
    bytes: Vec<u8>,
    /// The start and the length of each record in `bytes`.
    records: Vec<(usize, u32)>,
    runs: Vec<BufReader<File>>,
}

/// Records in their order.
pub enum Sorted {
    Memory {
        bytes: Vec<u8>,
        records: std::vec::IntoIter<(usize, u32)>,
    },
    Runs {
        runs: Vec<BufReader<File>>,
        /// The next record of each run.
        next: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
        current: Vec<u8>,
    },
}

impl Sorter {
    /// `memory`: bytes that records may take before they go to a file.
    pub fn new(room: &Room, memory: usize) -> Self {
        let room = room.clone();
        Self { room, memory, bytes: Vec::new(), records: Vec::new(), runs: Vec::new() }
    }

    /// # Errors
    /// The disk is full.
    pub fn push(&mut self, record: &[u8]) -> io::Result<()> {
        self.records.push((self.bytes.len(), record.len() as u32));
        self.bytes.extend_from_slice(record);
        // Vectors grow by doubling.
        let taken = 2 * (self.bytes.len() + self.records.len() * size_of::<(usize, u32)>());
        if taken > self.memory { self.end_run() } else { Ok(()) }
    }

    fn sort(&mut self) {
        let record = |(start, len): &(usize, u32)| &self.bytes[*start..start + *len as usize];
        self.records.sort_unstable_by(|a, b| record(a).cmp(record(b)));
    }

    fn end_run(&mut self) -> io::Result<()> {
        self.sort();
        let mut run = BufWriter::with_capacity(BUFFER_BYTES, self.room.file()?);
        for (start, len) in self.records.drain(..) {
            write_record(&mut run, &self.bytes[start..start + len as usize])?;
        }
        self.bytes.clear();
        self.runs.push(read_again(run)?);
        if self.runs.len() < RUNS_MAX {
            return Ok(());
        }
        let mut merged = merge(std::mem::take(&mut self.runs))?;
        let mut run = BufWriter::with_capacity(BUFFER_BYTES, self.room.file()?);
        while let Some(record) = merged.next_record()? {
            write_record(&mut run, record)?;
        }
        self.runs.push(read_again(run)?);
        Ok(())
    }

    /// # Errors
    /// The disk is full, or returns other bytes than were written.
    pub fn finish(mut self) -> io::Result<Sorted> {
        if self.runs.is_empty() {
            self.sort();
            return Ok(Sorted::Memory { bytes: self.bytes, records: self.records.into_iter() });
        }
        self.end_run()?;
        merge(self.runs)
    }
}

impl Sorted {
    /// # Errors
    /// The disk returns other bytes than were written.
    pub fn next_record(&mut self) -> io::Result<Option<&[u8]>> {
        match self {
            Self::Memory { bytes, records } => {
                Ok(records.next().map(|(start, len)| &bytes[start..start + len as usize]))
            }
            Self::Runs { runs, next, current } => {
                let Some(mut first) = next.peek_mut() else { return Ok(None) };
                let Reverse((record, run)) = &mut *first;
                std::mem::swap(record, current);
                if !read_record(&mut runs[*run], record)? {
                    PeekMut::pop(first);
                }
                Ok(Some(current))
            }
        }
    }
}

fn merge(mut runs: Vec<BufReader<File>>) -> io::Result<Sorted> {
    let mut next = BinaryHeap::new();
    for (number, run) in runs.iter_mut().enumerate() {
        let mut record = Vec::new();
        if read_record(run, &mut record)? {
            next.push(Reverse((record, number)));
        }
    }
    Ok(Sorted::Runs { runs, next, current: Vec::new() })
}

fn write_record(run: &mut impl Write, record: &[u8]) -> io::Result<()> {
    run.write_all(&(record.len() as u32).to_le_bytes())?;
    run.write_all(record)
}

/// Whether there is another record.
fn read_record(run: &mut impl Read, record: &mut Vec<u8>) -> io::Result<bool> {
    let mut len = [0; LENGTH_BYTES];
    if run.read(&mut len[..1])? == 0 {
        return Ok(false);
    }
    run.read_exact(&mut len[1..])?;
    record.resize(u32::from_le_bytes(len) as usize, 0);
    run.read_exact(record)?;
    Ok(true)
}

fn read_again(run: BufWriter<File>) -> io::Result<BufReader<File>> {
    let mut file = run.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(BufReader::with_capacity(BUFFER_BYTES, file))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn records_are_sorted_with_little_memory(
            mut records in vec(vec(any::<u8>(), 0..4), 0..300),
            memory in 0..4_000_usize,
        ) {
            let mut sorter = Sorter::new(&Room::default(), memory);
            for record in &records {
                sorter.push(record).unwrap();
            }
            let (mut sorted, mut found) = (sorter.finish().unwrap(), Vec::new());
            while let Some(record) = sorted.next_record().unwrap() {
                found.push(record.to_vec());
            }
            records.sort();
            prop_assert_eq!(found, records);
        }
    }
}
