//! The listings of 256 consecutive ordinals.

use super::Listing;
use crate::document::Ordinal;

/// Ordinals per chunk: few enough that changing or copying a chunk takes microseconds.
pub const ORDINALS: u64 = 256;

/// Listings sorted by ordinal, without gaps: a chunk from which most documents were removed is
/// small.
#[derive(Clone, Debug, Default)]
pub struct Chunk(Vec<Listing>);

impl Chunk {
    /// Returns `false`, and changes nothing, if the ordinal is already listed.
    pub fn insert(&mut self, listing: Listing) -> bool {
        let Err(position) = self.position(listing.ordinal) else { return false };
        self.0.insert(position, listing);
        true
    }

    pub fn remove(&mut self, ordinal: Ordinal) -> Option<Listing> {
        let position = self.position(ordinal).ok()?;
        let removed = self.0.remove(position);
        if self.0.len() <= self.0.capacity() / 4 {
            self.0.shrink_to(self.0.len() * 2);
        }
        Some(removed)
    }

    pub fn get(&self, ordinal: Ordinal) -> Option<&Listing> {
        self.position(ordinal).ok().map(|position| &self.0[position])
    }

    pub fn iter(&self) -> impl Iterator<Item = &Listing> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Memory of the listings, without their ids.
    pub fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<Listing>()
    }

    /// The position of the ordinal, or where to insert it.
    fn position(&self, ordinal: Ordinal) -> Result<usize, usize> {
        // The usual case: no earlier ordinal is missing.
        let dense = (ordinal.get() % ORDINALS) as usize;
        match self.0.get(dense) {
            Some(listing) if listing.ordinal == ordinal => Ok(dense),
            _ => self.0.binary_search_by_key(&ordinal, |listing| listing.ordinal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::listing;
    use super::*;

    #[test]
    fn chunk_keeps_listings_in_ordinal_order() {
        let mut chunk = Chunk::default();
        for ordinal in (0..ORDINALS as u32).map(|n| n * 97 % ORDINALS as u32) {
            assert!(chunk.insert(listing(ordinal, &format!("id {ordinal}"))));
            assert!(!chunk.insert(listing(ordinal, "another")));
        }
        let ordinals: Vec<_> = chunk.iter().map(|listing| listing.ordinal.get() as u32).collect();
        assert_eq!(ordinals, (0..ORDINALS as u32).collect::<Vec<_>>());
        for found in chunk.iter() {
            assert_eq!(found.id.as_str(), format!("id {}", found.ordinal.get()));
            assert_eq!(chunk.get(found.ordinal), Some(found));
        }
    }

    #[test]
    fn removed_listings_free_memory() {
        let mut chunk = Chunk::default();
        for ordinal in 0..ORDINALS as u32 {
            chunk.insert(listing(ordinal, "x"));
        }
        let full = chunk.bytes();
        let stays = |ordinal: u32| ordinal % 10 == 3;
        for ordinal in (0..ORDINALS as u32).filter(|ordinal| !stays(*ordinal)) {
            assert_eq!(chunk.remove(Ordinal::from(ordinal)), Some(listing(ordinal, "x")));
            assert_eq!(chunk.remove(Ordinal::from(ordinal)), None);
        }
        assert!(chunk.bytes() * 4 <= full, "{} of {full}", chunk.bytes());
        for ordinal in 0..ORDINALS as u32 {
            assert_eq!(chunk.get(Ordinal::from(ordinal)).is_some(), stays(ordinal));
        }
    }
}
