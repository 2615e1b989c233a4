use super::*;

fn index(texts: impl IntoIterator<Item = String>) -> PassageIndex<usize> {
    let index = PassageIndex::new(PassageSettings::default());
    for (id, text) in texts.into_iter().enumerate() {
        index.insert(id, &text).unwrap();
    }
    index
}

/// A page of 60 words that all pages share, and words of its own.
fn pages(count: u32) -> Vec<String> {
    let page = |page: u32| {
        let words: Vec<u32> =
            (0..60).chain((0..20).map(|word| 1_000 + page * 100 + word)).collect();
        text(&words)
    };
    (0..count).map(page).collect()
}

#[test]
fn limits_that_are_reached_truncate() {
    let index = index(pages(50));
    let all = PassageLimits::default();
    let cases = [
        (all, 50, false),
        (PassageLimits { compared_max: 10, ..all }, 10, true),
        (PassageLimits { compared_max: 50, ..all }, 50, false),
        (PassageLimits { words_max: 80 * 7 + 79, ..all }, 7, true),
        (PassageLimits { words_max: 80 * 50, ..all }, 50, false),
        (PassageLimits { pairs_max: 0, ..all }, 0, true),
    ];
    for (limits, found, truncated) in cases {
        let result = index.query_within(&pages(1)[0], limits).unwrap();
        assert_eq!((result.matches.len(), result.truncated), (found, truncated), "{limits:?}");
        assert!(found == 0 || result.matches[0].id == 0, "the whole page is first");
    }
    let few = PassageLimits { postings_max: 20, ..all };
    let result = index.query_within(&pages(1)[0], few).unwrap();
    assert!(result.truncated && !result.matches.is_empty() && result.matches.len() <= 20);
}

#[test]
fn documents_with_equal_words_are_limited() {
    let index = index(std::iter::repeat_with(|| pages(1).remove(0)).take(30));
    assert_eq!(index.stats().sequences, 1);
    let limits = PassageLimits { documents_max: 10, ..PassageLimits::default() };
    let result = index.query_within(&pages(1)[0], limits).unwrap();
    assert_eq!((result.matches.len(), result.truncated), (10, true));
    let result = index.query(&pages(1)[0]).unwrap();
    assert_eq!((result.matches.len(), result.truncated), (30, false));
}

/// The work of a search has a bound, however often words are repeated.
#[test]
fn one_word_repeated_is_compared_within_the_limits() {
    let index =
        index([text(&vec![7; 100_000]), text(&[7; 40]), text(&[[7; 50], [8; 50]].concat())]);
    assert!(index.stats().sequences <= 4);
    let result = index.query(&text(&vec![7; 100_000])).unwrap();
    assert!(result.truncated);
    let result = index.query(&text(&[7; 60])).unwrap();
    assert_eq!(result.matches[0].of_probe, WordShare { shared: 60, words: 60 });
    let repeated = text(&[1, 2, 3].repeat(30_000));
    index.insert(9, &repeated).unwrap();
    assert!(index.query(&repeated).unwrap().truncated);
}

/// The first matches are complete if none of the sequences that were left out can share as much.
#[test]
fn the_bound_of_missing_matches_is_reported() {
    let settings = PassageSettings::default();
    let index = BlockIndex::new(settings);
    let words = |from: u32, count: u32| text(&(from..from + count).collect::<Vec<u32>>());
    let texts = [words(0, 300), words(100, 60), words(200, 40)];
    for (ordinal, text) in (0_u32..).zip(&texts) {
        let blocks = TextBlocks::new(settings, text, &shingler().words(text).unwrap());
        index.insert(ordinal.into(), &blocks);
    }
    let probe = shingler().words(&texts[0]).unwrap();
    let limits = PassageLimits { compared_max: 1, ..PassageLimits::default() };
    let mut search = index.search(probe.hashes(), limits);
    let group = search.next_group(8);
    assert_eq!(group.len(), 1);
    assert!(!search.compare(&group[0], &probe.hashes()[1..]), "other words are refused");
    assert!(search.compare(&group[0], probe.hashes()));
    let result = search.finish();
    assert!(result.truncated);
    assert_eq!((result.candidates, result.compared), (3, 1));
    assert_eq!(result.matches[0].comparison.of_probe.shared, 300);
    assert!((60..300).contains(&result.missing_max), "{}", result.missing_max);
}

#[test]
fn changed_words_are_bridged_within_the_rule() {
    let run = |from: u32, count: u32| (from..from + count).collect::<Vec<u32>>();
    let stored = run(0, 100);
    let index = index([text(&stored)]);
    let passages = |probe: &[u32]| {
        let found = index.query(&text(probe)).unwrap();
        let passages = found.matches[0].passages.iter();
        passages.map(|it| (it.equal, it.differing)).collect::<Vec<_>>()
    };
    let mut changed = stored.clone();
    changed[50] = 900;
    assert_eq!(passages(&changed), [(99, 1)]);
    let inserted = [run(0, 50), run(900, 12), run(50, 50)].concat();
    assert_eq!(passages(&inserted), [(100, 12)]);
    let far = [run(0, 50), run(900, 13), run(50, 50)].concat();
    assert_eq!(passages(&far), [(50, 0), (50, 0)]);
    // Three equal words do not continue a passage over eight others.
    let short = [run(0, 50), run(900, 8), run(58, 3), run(920, 20)].concat();
    assert_eq!(passages(&short), [(50, 0)]);
    let repeated = [run(0, 50), run(45, 55)].concat();
    assert_eq!(passages(&repeated), [(100, 0)]);
}

#[test]
fn every_text_of_a_word_is_found_whole() {
    let settings = PassageSettings::default();
    for words in 1..60 {
        let index = PassageIndex::new(settings);
        let stored: Vec<u32> = (0..words).collect();
        index.insert(0, &text(&stored)).unwrap();
        let probe = [&[700, 701, 702], &stored[..], &[703]].concat();
        let found = index.query(&text(&probe)).unwrap();
        assert_eq!(found.matches[0].of_match.containment(), 1.0, "{words} words");
        assert!(index.query(&text(&[5_000; 40])).unwrap().matches.is_empty());
        index.remove(&0);
        assert!(index.query(&text(&probe)).unwrap().matches.is_empty());
    }
    assert!(PassageIndex::new(settings).insert(1, " … ").is_err());
    assert!(PassageIndex::<u32>::new(settings).query(" … ").unwrap().matches.is_empty());
}

/// A long text may share words in several blocks, so the bounds of its blocks are added up.
#[test]
fn the_bound_of_a_long_text_counts_all_its_blocks() {
    let settings = PassageSettings::default();
    let index = BlockIndex::new(settings);
    let words = |range: Range<u32>| text(&range.collect::<Vec<u32>>());
    let texts = [words(0..20_000), words(50_000..50_300)];
    for (ordinal, text) in (0_u32..).zip(&texts) {
        let blocks = TextBlocks::new(settings, text, &shingler().words(text).unwrap());
        index.insert(ordinal.into(), &blocks);
    }
    let missing_max = |probe: &str| {
        let probe = shingler().words(probe).unwrap();
        let limits = PassageLimits { compared_max: 1, ..PassageLimits::default() };
        let mut search = index.search(probe.hashes(), limits);
        let group = search.next_group(8);
        let (ordinal, block) = group[0].blocks()[0];
        let text = &texts[ordinal.get() as usize];
        let words = block_words(&shingler(), text, block.as_ref()).unwrap().unwrap();
        assert!(search.compare(&group[0], words.hashes()));
        let result = search.finish();
        assert!(result.truncated);
        result.missing_max
    };
    let parts = [words(10..100), words(9_000..9_080), words(17_000..17_070)].concat();
    let other = words(60_000..63_000);
    let bound = missing_max(&format!("{other} {} {other} {parts}", texts[1]));
    assert!((240..450).contains(&bound), "{bound}");
    assert!(missing_max(&words(3_000..9_000)) >= 6_000);
}

/// The first matches are the matches of a whole search, in which the search ended early if no other
/// text can be among them.
#[test]
fn a_search_ends_once_no_other_text_can_be_among_the_first() {
    let copies = (0..5).map(|copy| text(&(0..200 + copy).collect::<Vec<u32>>()));
    let index = index(copies.chain(pages(400)));
    let probe = text(&(0..300).collect::<Vec<u32>>());
    let all = PassageLimits { compared_max: 1_000, ..PassageLimits::default() };
    let whole = index.query_within(&probe, all).unwrap();
    assert_eq!((whole.matches.len(), whole.truncated), (405, false));
    for (count, shared_min, ends_early) in [
        (1, 0, true),
        (5, 0, true),
        (6, 0, false),
        (405, 0, false),
        (500, 150, true),
        (0, 0, false),
    ] {
        let first = index.query_first(&probe, all, (count, shared_min), |_, _| true).unwrap();
        let wanted = whole.matches.iter().take(count);
        let is_wanted = |found: &&MatchingText<usize>| found.of_probe.shared >= shared_min;
        let wanted: Vec<_> = wanted.filter(is_wanted).collect();
        assert_eq!(first.matches.iter().take(wanted.len()).collect::<Vec<_>>(), wanted);
        assert_eq!(first.truncated, ends_early, "{count} of at least {shared_min}");
        let last = wanted.last().map_or(0, |found| found.of_probe.shared);
        assert!(!first.truncated || first.missing_max < last.max(shared_min));
    }
    let others = index.query_first(&probe, all, (2, 0), |id, _| *id > 2).unwrap();
    assert_eq!(others.matches.iter().map(|found| found.id).collect::<Vec<_>>(), [4, 3]);
}

#[test]
fn the_candidates_with_the_largest_share_of_their_words_are_first_on_request() {
    let settings = PassageSettings::new(13).unwrap();
    let index = BlockIndex::new(settings);
    let short = text(&(200..240).collect::<Vec<u32>>());
    for (ordinal, text) in (0_u32..).zip(pages(50).iter().chain([&short])) {
        let blocks = TextBlocks::new(settings, text, &shingler().words(text).unwrap());
        index.insert(ordinal.into(), &blocks);
    }
    let probe = text(&(0..60).chain(190..250).collect::<Vec<u32>>());
    let probe = shingler().words(&probe).unwrap();
    let first = |search: BlockSearch<'_>| {
        let mut search = search;
        let candidate = search.next_group(1).remove(0);
        candidate.blocks()[0].0.get()
    };
    let limits = PassageLimits::default();
    assert_ne!(first(index.search(probe.hashes(), limits)), 50, "pages share 60 words");
    assert_eq!(first(index.search(probe.hashes(), limits).by_share_of_match()), 50);
}

#[test]
fn kept_words_stay_within_their_bytes_and_change_no_result() {
    let index = index(pages(50));
    let probe = &pages(1)[0];
    let cut = index.query(probe).unwrap();
    index.keep_words(10 * (80 * 8 + 64) + 100);
    for _ in 0..2 {
        let found = index.query(probe).unwrap();
        assert_eq!((found.matches, index.kept_words.len()), (cut.matches.clone(), 10));
    }
    (0..50).for_each(|page| assert!(index.remove(&page)));
    assert_eq!(index.kept_words.len(), 0);
}
