//! Sets of all documents in one file: how many there are (u64), where each begins and the last
//! ends (u64 each, in elements), the elements (u64), all little-endian.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use akin_core::text::ShingleSet;

/// Sets one after the other in one piece of memory.
#[derive(Debug, Default)]
pub struct FlatSets {
    starts: Vec<u64>,
    elements: Vec<u64>,
}

impl FlatSets {
    pub fn push(&mut self, set: &[u64]) {
        self.starts.push(self.elements.len() as u64);
        self.elements.extend_from_slice(set);
    }

    pub fn len(&self) -> usize {
        self.starts.len()
    }

    pub fn get(&self, number: usize) -> &[u64] {
        let end = self.starts.get(number + 1).map_or(self.elements.len(), |end| *end as usize);
        &self.elements[self.starts[number] as usize..end]
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u64]> {
        (0..self.len()).map(|number| self.get(number))
    }

    pub fn elements(&self) -> &[u64] {
        &self.elements
    }

    /// The set as akin has it.
    pub fn shingle_set(&self, number: usize) -> ShingleSet {
        ShingleSet::from_ascending(self.get(number).to_vec()).expect("it was written as a set")
    }

    pub fn write(&self, folder: &Path) {
        let file = File::create(folder.join("sets.bin")).expect("the folder can be written to");
        let mut file = BufWriter::with_capacity(1 << 20, file);
        let (count, end) = (self.len() as u64, self.elements.len() as u64);
        let head = [count].into_iter().chain(self.starts.iter().copied()).chain([end]);
        for number in head.chain(self.elements.iter().copied()) {
            file.write_all(&number.to_le_bytes()).expect("the disk has room");
        }
        file.flush().expect("the disk has room");
    }

    /// The first `count` sets.
    pub fn read(folder: &Path, count: usize) -> Self {
        let file = File::open(folder.join("sets.bin")).expect("the corpus is prepared");
        let mut file = BufReader::with_capacity(1 << 20, file);
        let known = next(&mut file) as usize;
        let mut starts: Vec<u64> = (0..=known).map(|_| next(&mut file)).collect();
        let count = count.min(known);
        let elements = (0..starts[count]).map(|_| next(&mut file)).collect();
        starts.truncate(count);
        Self { starts, elements }
    }
}

fn next(file: &mut impl Read) -> u64 {
    let mut bytes = [0; 8];
    file.read_exact(&mut bytes).expect("the file is whole");
    u64::from_le_bytes(bytes)
}
