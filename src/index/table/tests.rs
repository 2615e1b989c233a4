use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// A table beside what it is to be the same as.
struct Beside {
    table: Table,
    pages: Pages,
    filed: BTreeMap<u32, Vec<u32>>,
    entry_max: u32,
}

impl Beside {
    fn new() -> Self {
        let (table, pages) = (Table::new(0, 0), Pages::default());
        Self { table, pages, filed: BTreeMap::new(), entry_max: 0 }
    }

    fn insert(&mut self, key: u32, entry: u32) {
        if !self.table.is_ready(entry) {
            self.table.make_ready(entry, &mut self.pages);
        }
        self.entry_max = self.entry_max.max(entry);
        let aim = self.table.aim_to_file(key, &mut self.pages);
        self.table.insert(key, aim, entry, &mut self.pages);
        self.filed.entry(key).or_default().push(entry);
        self.pull_in();
    }

    /// How many came to a key that another had already.
    fn file_all(&mut self, keys: impl Iterator<Item = Option<u32>> + Clone) -> u32 {
        let (mut column, mut sharing) = (Column::default(), 0);
        column.extend(keys.clone());
        let workplace = &mut Workplace::default();
        self.table.file_all(&column, workplace, &mut self.pages, |_| sharing += 1);
        for (entry, key) in (0..).zip(keys) {
            let Some(key) = key else { continue };
            self.filed.entry(key).or_default().push(entry);
            self.entry_max = entry;
        }
        sharing
    }

    fn remove(&mut self, key: u32, entry: u32) {
        self.table.remove(key, entry, self.entry_max, &mut self.pages);
        let entries = self.filed.get_mut(&key).unwrap();
        entries.retain(|&other| other != entry);
        if entries.is_empty() {
            self.filed.remove(&key);
        }
        self.pull_in();
    }

    fn pull_in(&mut self) {
        while let Some((owner, page)) = self.pages.pull_in() {
            self.table.page_moved(owner.at, page);
        }
    }

    fn entries(&self, key: u32) -> Vec<u32> {
        let mut entries = Vec::new();
        let aim = self.table.aim(key);
        let others = self.table.read(key, aim, &self.pages, |entry| entries.push(entry));
        entries.extend_from_slice(others);
        entries.sort_unstable();
        entries
    }

    fn check(&self) {
        let mut postings = 0;
        for (key, entries) in &self.filed {
            let mut entries = entries.clone();
            entries.sort_unstable();
            assert_eq!(self.entries(*key), entries, "under {key}");
            postings += entries.len();
        }
        let longest = self.filed.values().map(Vec::len).max().unwrap_or(0);
        let size = self.table.size();
        assert_eq!((size.keys, size.postings), (self.filed.len() as u64, postings as u64));
        assert_eq!(size.longest, longest as u64);
        let absent = (0..1_000).map(key).filter(|key| !self.filed.contains_key(key));
        assert!(absent.clone().all(|key| self.entries(key).is_empty()));
    }

    fn bytes(&self) -> usize {
        self.pages.bytes() + self.table.size().bytes as usize
    }
}

/// Keys all over the range, and every one of them different.
fn key(number: u32) -> u32 {
    number.wrapping_mul(0x85eb_ca6b) ^ 0x1234
}

/// Each case fills a table.
fn few_cases() -> ProptestConfig {
    ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(few_cases())]
    #[test]
    fn it_has_what_was_filed_and_not_removed(
        runs in prop::collection::vec((0..1_u32 << 17, 1..900_u32, 1..20_u32, any::<bool>()), 1..8),
    ) {
        let mut beside = Beside::new();
        for (first, count, each, is_removed) in runs {
            let numbers = (0..count).map(|n| (key(first / 64 + n / each), first + n));
            let fresh = |beside: &Beside, (key, entry): &(u32, u32)| {
                beside.filed.get(key).is_none_or(|entries| !entries.contains(entry))
            };
            for (key, entry) in numbers.clone() {
                if fresh(&beside, &(key, entry)) {
                    beside.insert(key, entry);
                }
            }
            beside.check();
            for (key, entry) in numbers.filter(|_| is_removed) {
                beside.remove(key, entry);
            }
            beside.check();
        }
    }
}

#[test]
fn it_is_whole_at_every_size_and_gives_its_memory_back() {
    let mut beside = Beside::new();
    let empty = beside.bytes();
    for number in 0..20_000 {
        beside.insert(key(number / 2 * 2), number);
        if number % 1_999 == 0 {
            beside.check();
        }
    }
    assert!(beside.bytes() < 20_000 * 12 + empty);
    for number in 0..20_000 {
        beside.remove(key(number / 2 * 2), number);
        if number % 1_999 == 0 {
            beside.check();
        }
    }
    assert!(beside.bytes() < empty + 160_000, "{} of {empty}", beside.bytes());
}

#[test]
fn a_key_that_all_have_does_not_fill_the_lines() {
    let mut beside = Beside::new();
    for number in 0..3_000 {
        beside.insert(7, number);
        beside.insert(key(number), number);
    }
    beside.check();
    assert!(beside.bytes() < 200_000);
    (0..2_999).for_each(|number| beside.remove(7, number));
    beside.check();
    assert_eq!(beside.entries(7), [2_999]);
}

#[test]
fn high_numbers_are_told_though_few_are_filed() {
    let mut beside = Beside::new();
    for bit in 0..26 {
        beside.insert(key(bit), 1 << bit);
        beside.check();
    }
    (0..26).for_each(|bit| beside.remove(key(bit), 1 << bit));
    beside.check();
}

#[test]
fn a_posting_is_renumbered_wherever_it_is() {
    let mut beside = Beside::new();
    (0..5_000).for_each(|number| beside.insert(key(number / 8), number));
    for number in 0..5_000 {
        beside.table.renumber(key(number / 8), number, number + 5_000, &mut beside.pages);
    }
    beside.filed.values_mut().flatten().for_each(|entry| *entry += 5_000);
    beside.check();
}

#[test]
fn what_is_filed_at_once_is_as_if_one_by_one() {
    for count in [0, 1, 100, 20_000, 400_000] {
        let mut beside = Beside::new();
        let sharing = beside.file_all((0..count).map(|number| Some(key(number / 3))));
        assert_eq!(sharing, count - count.div_ceil(3));
        beside.check();
        assert!(beside.bytes() < 80_000 + count as usize * 12);
        (count..count + 2_000).for_each(|number| beside.insert(key(number), number));
        beside.check();
    }
}

proptest! {
    #![proptest_config(few_cases())]
    #[test]
    fn it_goes_on_from_what_was_filed_at_once(
        runs in prop::collection::vec((1..3_000_u32, 1..40_u32, 0..5_u32), 1..6),
    ) {
        let mut beside = Beside::new();
        let keys = runs.iter().flat_map(|(count, each, lacking)| {
            (0..*count).map(move |n| (n % 7 >= *lacking).then(|| key(n / each)))
        });
        let keys: Vec<_> = keys.collect();
        let filed = keys.iter().flatten().count();
        let sharing = beside.file_all(keys.iter().copied()) as usize;
        beside.check();
        prop_assert_eq!(sharing, filed - beside.filed.len());
        let end = keys.len() as u32;
        (end..end * 2).for_each(|number| beside.insert(key(number % 1_000), number));
        beside.check();
        for (number, key) in (0..).zip(&keys) {
            if let Some(key) = key {
                beside.remove(*key, number);
            }
        }
        beside.check();
    }
}
