//! The listings of 1,024 consecutive ordinals, with their ids one after the other in one string.
//!
//! Which ordinals are listed is a row of bits; the listings lie without gaps in their order, so
//! that a chunk of which most are gone takes little.

use std::mem::size_of;

/// Ordinals of a chunk.
pub const ORDINALS: u32 = 1024;

const WORDS: usize = ORDINALS as usize / 64;

/// Beside the bytes of an id, which are at most 1,024.
const HAS_METADATA: u16 = 0x8000;

/// A listing as it is in its chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed<'a> {
    pub id: &'a str,
    pub fingerprint: u64,
    pub has_metadata: bool,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    fingerprint: u64,
    id_start: u32,
    id_bytes_marked: u16,
}

impl Place {
    fn id_bytes(&self) -> usize {
        usize::from(self.id_bytes_marked & !HAS_METADATA)
    }
}

/// Ordinals are counted from the chunk's first, and so less than [`ORDINALS`].
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    listed: [u64; WORDS],
    places: Vec<Place>,
    ids: String,
    /// Bytes of ids whose listings are gone.
    dead_bytes: usize,
}

impl Chunk {
    /// `false` if the ordinal is listed already, which then stays as it is.
    pub fn insert(&mut self, ordinal: u32, listed: &Listed<'_>) -> bool {
        let (is_listed, rank) = self.rank(ordinal);
        if is_listed {
            return false;
        }
        let mark = if listed.has_metadata { HAS_METADATA } else { 0 };
        let place = Place {
            fingerprint: listed.fingerprint,
            id_start: self.ids.len() as u32,
            id_bytes_marked: listed.id.len() as u16 | mark,
        };
        self.make_room(listed.id.len());
        self.ids.push_str(listed.id);
        self.places.insert(rank, place);
        self.listed[ordinal as usize / 64] |= 1 << (ordinal % 64);
        if self.len() == ORDINALS as usize {
            self.ids.shrink_to_fit();
        }
        true
    }

    /// `false` if it was not listed.
    pub fn remove(&mut self, ordinal: u32) -> bool {
        let (is_listed, rank) = self.rank(ordinal);
        if !is_listed {
            return false;
        }
        self.dead_bytes += self.places.remove(rank).id_bytes();
        self.listed[ordinal as usize / 64] &= !(1 << (ordinal % 64));
        if self.dead_bytes * 2 > self.ids.len() {
            self.compact();
        }
        true
    }

    pub fn get(&self, ordinal: u32) -> Option<Listed<'_>> {
        let (is_listed, rank) = self.rank(ordinal);
        is_listed.then(|| self.at(self.places[rank]))
    }

    /// Ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Listed<'_>)> {
        let is_listed =
            |ordinal: &u32| self.listed[*ordinal as usize / 64] >> (ordinal % 64) & 1 == 1;
        let ordinals = (0..ORDINALS).filter(is_listed);
        ordinals.zip(self.places.iter().map(|place| self.at(*place)))
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.places.capacity() * size_of::<Place>() + self.ids.capacity()
    }

    /// Whether an ordinal is listed, and how many before it are.
    fn rank(&self, ordinal: u32) -> (bool, usize) {
        let (word, bit) = (ordinal as usize / 64, ordinal % 64);
        let ones = |word: &u64| word.count_ones() as usize;
        let before: usize = self.listed[..word].iter().map(ones).sum();
        let own = self.listed[word];
        (own >> bit & 1 == 1, before + ones(&(own & ((1 << bit) - 1))))
    }

    fn at(&self, place: Place) -> Listed<'_> {
        let start = place.id_start as usize;
        Listed {
            id: &self.ids[start..start + place.id_bytes()],
            fingerprint: place.fingerprint,
            has_metadata: place.id_bytes_marked & HAS_METADATA != 0,
        }
    }

    /// Growing by a quarter rather than doubling keeps what lies idle small.
    fn make_room(&mut self, id_bytes: usize) {
        if self.places.len() == self.places.capacity() {
            let most = ORDINALS as usize - self.places.len();
            self.places.reserve_exact((self.places.len() / 4).clamp(4.min(most), most));
        }
        if self.ids.capacity() - self.ids.len() < id_bytes {
            self.ids.reserve_exact(id_bytes.max(self.ids.len() / 4));
        }
    }

    /// Lets go of what the dead had.
    fn compact(&mut self) {
        let mut ids = String::with_capacity(self.ids.len() - self.dead_bytes);
        for place in &mut self.places {
            let start = place.id_start as usize;
            let id_bytes = usize::from(place.id_bytes_marked & !HAS_METADATA);
            place.id_start = ids.len() as u32;
            ids.push_str(&self.ids[start..start + id_bytes]);
        }
        self.ids = ids;
        self.dead_bytes = 0;
        self.places.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(id: &str) -> Listed<'_> {
        Listed { id, fingerprint: id.len() as u64, has_metadata: id.len() % 2 == 1 }
    }

    #[test]
    fn what_is_listed_in_any_order_is_there_in_order() {
        let mut chunk = Chunk::default();
        let ids: Vec<String> = (0..ORDINALS).map(|n| "é".repeat(n as usize % 9 + 1)).collect();
        for ordinal in (0..ORDINALS).map(|n| n * 389 % ORDINALS) {
            assert!(chunk.insert(ordinal, &listed(&ids[ordinal as usize])));
            assert!(!chunk.insert(ordinal, &listed("another")));
        }
        assert_eq!(chunk.len(), ORDINALS as usize);
        for (ordinal, found) in chunk.iter() {
            assert_eq!(found, listed(&ids[ordinal as usize]));
            assert_eq!(chunk.get(ordinal), Some(found));
        }
    }

    #[test]
    fn what_goes_gives_its_memory_back_and_leaves_the_others() {
        let mut chunk = Chunk::default();
        let ids: Vec<String> = (0..ORDINALS).map(|n| format!("document {n}")).collect();
        for ordinal in 0..ORDINALS {
            chunk.insert(ordinal, &listed(&ids[ordinal as usize]));
        }
        let full = chunk.bytes();
        let stays = |ordinal: u32| ordinal % 10 == 3;
        for ordinal in (0..ORDINALS).filter(|ordinal| !stays(*ordinal)) {
            assert!(chunk.remove(ordinal));
            assert!(!chunk.remove(ordinal));
        }
        assert!(chunk.bytes() * 4 < full, "{} of {full}", chunk.bytes());
        for ordinal in 0..ORDINALS {
            let expected = stays(ordinal).then(|| listed(&ids[ordinal as usize]));
            assert_eq!(chunk.get(ordinal), expected);
        }
    }
}
