use std::collections::BTreeSet;

use super::*;
use crate::document::Content;

fn text(from: usize) -> Content {
    let words: Vec<_> = (from..from + 50).map(|word| format!("w{word}")).collect();
    Content::Text(words.join(" "))
}

/// Documents in the order given, as (id, first word).
fn corpus(documents: &[(&str, usize)]) -> OfflineCorpus {
    let settings = CollectionSettings::default();
    let analyser = Analyser::new(&settings);
    let mut gathering = OfflineGathering::new(&settings).unwrap();
    for (number, (id, from)) in documents.iter().enumerate() {
        let analysis = analyser.analyse(&text(*from)).unwrap();
        let given = gathering.push(DocumentId::new(*id).unwrap(), &analysis).unwrap();
        assert_eq!(given as usize, number);
    }
    gathering.finish().unwrap()
}

/// The pairs, each by the smallest ids of its sets, and their resemblance.
fn pairs(corpus: &mut OfflineCorpus, mode: Mode) -> BTreeSet<String> {
    let threshold = Threshold::new(0.7).unwrap();
    let mut found = BTreeSet::new();
    let visit = |documents: &Documents, pair: SetPair| {
        let [a, b] = [pair.a, pair.b].map(|set| &documents.of(set)[0].0);
        found.insert(format!("{a} {b} {:.3}", pair.resemblance));
        ControlFlow::Continue(())
    };
    corpus.pairs(mode, threshold, &Progress::default(), visit).unwrap();
    found
}

#[test]
fn sets_come_back_under_their_numbers_whatever_the_order() {
    // Neighbours share 47 of 49 shingles.
    let mut documents = vec![("d", 1), ("b", 0), ("z", 500), ("c", 0), ("a", 1000)];
    for _ in 0..documents.len() {
        documents.rotate_left(1);
        let mut corpus = corpus(&documents);
        assert_eq!((corpus.sets(), corpus.documents().count()), (4, 5));
        for mode in [Mode::Verified, Mode::Exact] {
            let expected = BTreeSet::from(["b d 0.959".to_owned()]);
            assert_eq!(pairs(&mut corpus, mode), expected, "{mode:?}");
        }
        let threshold = Threshold::new(0.7).unwrap();
        let of = (Mode::Exact, Linkage::Representative);
        let clusters = corpus.clusters(of.0, threshold, of.1, &Progress::default()).unwrap();
        assert_eq!(clusters, [0, 1, 1, 3]);
    }
}
