use std::thread;

use super::*;

/// A text that is replaced all the time is found in some version, and nothing is left of it.
#[test]
fn threads_replace_and_find_texts() {
    let index = PassageIndex::new(PassageSettings::default());
    let version = |thread: u32, version: u32| {
        let own = (0..40).map(|word| 1_000_000 + thread * 1_000 + word);
        text(&own.chain((0..40).map(|word| version * 100 + word)).collect::<Vec<_>>())
    };
    thread::scope(|scope| {
        for number in 0..4 {
            let (index, version) = (&index, &version);
            scope.spawn(move || {
                for change in 0..200 {
                    index.insert(number, &version(number, change)).unwrap();
                    let found = index.query(&version(number, 0)).unwrap();
                    assert!(found.matches.iter().any(|it| it.id == number && it.longest >= 40));
                    if change % 10 == 9 {
                        index.remove(&number);
                    }
                }
            });
        }
    });
    assert!(index.is_empty());
    assert_eq!((index.stats().sequences, index.stats().postings), (0, 0));
}
