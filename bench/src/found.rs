//! What a participant found, in a file: pairs of numbers of documents (u32 each, little-endian),
//! in any order and either way round.

use std::fs;
use std::path::Path;

/// Pairs, the lower number first.
#[derive(Debug, Default)]
pub struct Found(Vec<u64>);

impl Found {
    pub fn push(&mut self, a: u32, b: u32) {
        if a != b {
            self.0.push(u64::from(a.min(b)) << 32 | u64::from(a.max(b)));
        }
    }

    /// Each pair once, ascending.
    pub fn sorted(mut self) -> Vec<(u32, u32)> {
        self.0.sort_unstable();
        self.0.dedup();
        self.0.into_iter().map(|pair| ((pair >> 32) as u32, pair as u32)).collect()
    }

    pub fn write(self, file: &Path) {
        let bytes: Vec<u8> = self
            .sorted()
            .iter()
            .flat_map(|(a, b)| [a.to_le_bytes(), b.to_le_bytes()].concat())
            .collect();
        fs::write(file, bytes).expect("the disk has room");
    }

    pub fn read(file: &Path) -> Self {
        let bytes = fs::read(file).expect("the participant wrote what it found");
        let (numbers, _) = bytes.as_chunks::<4>();
        let mut found = Self::default();
        for pair in numbers.chunks_exact(2) {
            found.push(u32::from_le_bytes(pair[0]), u32::from_le_bytes(pair[1]));
        }
        found
    }
}
