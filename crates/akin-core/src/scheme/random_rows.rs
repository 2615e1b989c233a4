//! Keys of random rows.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::sketch::SketchSettings;

/// The slots of all keys, one key after another: `rows` distinct slots each, drawn with the
/// sketch's seed. Drawing more keys does not change the first keys.
pub(super) fn draw(bands: u32, rows: u32, sketch: &SketchSettings) -> Arc<[u16]> {
    (0..bands).flat_map(|key| draw_key(key, rows, sketch)).collect()
}

fn draw_key(key: u32, rows: u32, sketch: &SketchSettings) -> Vec<u16> {
    let mut slots: Vec<u16> = (0..sketch.slots as u16).collect();
    let mut random = Random { seed: sketch.seed(), next: u64::from(key) << 32 };
    random.shuffle(&mut slots, rows as usize);
    slots.truncate(rows as usize);
    slots
}

/// A deterministic generator of pseudo-random numbers.
pub(super) struct Random {
    seed: u64,
    next: u64,
}

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, next: 0 }
    }

    /// Moves `count` randomly chosen items to the front (Fisher and Yates).
    pub(super) fn shuffle<T>(&mut self, items: &mut [T], count: usize) {
        for at in 0..count {
            items.swap(at, at + self.below(items.len() - at));
        }
    }

    fn below(&mut self, end: usize) -> usize {
        let random = xxh3_64_with_seed(&self.next.to_le_bytes(), self.seed);
        self.next += 1;
        ((u128::from(random) * end as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_distinct_slots_drawn_uniformly() {
        let sketch = SketchSettings { slots: 16, ..SketchSettings::default() };
        let mut times = [0; 16];
        for key in draw(8_000, 6, &sketch).chunks(6) {
            let mut distinct = key.to_vec();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), 6);
            for slot in key {
                times[*slot as usize] += 1;
            }
        }
        assert!(times.iter().all(|times| (2_750..3_250).contains(times)), "{times:?}");
        let mut all = draw(1, 16, &sketch).to_vec();
        all.sort_unstable();
        assert_eq!(all, (0..16).collect::<Vec<u16>>());
    }

    /// A changed draw would change the keys of every stored collection.
    #[test]
    fn rows_are_drawn_as_they_always_were() {
        let drawn = draw(125, 3, &SketchSettings::default());
        assert_eq!(drawn[..6], [99, 24, 18, 119, 44, 23]);
        assert_eq!(drawn[372..], [29, 77, 12]);
        assert_eq!(draw(2, 3, &SketchSettings::default())[..], drawn[..6]);
        let seeded = SketchSettings { seed: Some(7), ..SketchSettings::default() };
        assert_eq!(draw(1, 4, &seeded)[..], [35, 83, 43, 17]);
    }
}
