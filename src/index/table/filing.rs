//! Filing everything at once: postings are brought in the order of keys first, so that memory is
//! gone through from one end to the other.

use super::pages::Pages;
use super::{Table, spread};

/// Keys are parted by so many of their highest bits.
const PART_BITS: u32 = 11;
const PARTS: usize = 1 << PART_BITS;

impl Table {
    /// Files entries, each under a key, in a table that is empty yet. `sharing` is told the entries
    /// that come to a key which another has already.
    pub fn file_all(
        &mut self,
        mut filings: Vec<(u32, u32)>,
        pages: &mut Pages,
        mut sharing: impl FnMut(u32),
    ) {
        assert_eq!(self.lengths.keys(), 0, "only an empty table is filed at once");
        for (key, _) in &mut filings {
            *key = spread(*key);
        }
        let entry_max = filings.iter().map(|(_, entry)| *entry).max().unwrap_or(0);
        self.expect(filings.len(), entry_max);
        for (key, entry) in parted(&filings) {
            let aim = self.aim_at(key, pages);
            if self.file(key, aim, entry, pages) > 0 {
                sharing(entry);
            }
        }
    }
}

/// By the highest bits of the keys: a counting sort.
fn parted(filings: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let part = |key: u32| (key >> (u32::BITS - PART_BITS)) as usize;
    let mut places = [0_usize; PARTS];
    for (key, _) in filings {
        places[part(*key)] += 1;
    }
    let mut end = 0;
    for place in &mut places {
        end += *place;
        *place = end - *place;
    }
    let mut postings = vec![(0, 0); filings.len()];
    for filing in filings {
        let place = &mut places[part(filing.0)];
        postings[*place] = *filing;
        *place += 1;
    }
    postings
}
