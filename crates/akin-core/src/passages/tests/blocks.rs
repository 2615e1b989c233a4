use proptest::prelude::*;

use super::*;

fn numbered(words: Range<usize>) -> String {
    text(&words.map(|word| word as u32).collect::<Vec<_>>())
}

#[test]
fn runs_across_blocks_are_found_whole() {
    let index = PassageIndex::new(PassageSettings::default());
    let text = format!("¡¡ {}", numbered(0..20_000));
    index.insert("long", &text).unwrap();
    assert_eq!(index.stats().sequences, 5);
    for probe in [4_000..4_200, 4_080..4_112, 4_064..4_096, 4_090..13_000, 0..20_000] {
        let found = index.query(&format!("é {} é", numbered(probe.clone()))).unwrap();
        let [only] = &found.matches[..] else { panic!("{found:?}") };
        let [passage] = &only.passages[..] else { panic!("{only:?}") };
        assert_eq!(passage.matched.words, probe);
        assert_eq!(passage.probe.words, 1..1 + probe.len());
        assert_eq!((passage.equal, only.longest), (probe.len(), probe.len()));
        assert_eq!(text[passage.matched.bytes.clone()], *numbered(probe.clone()).trim_end());
        assert_eq!(passage.matched.chars.start, passage.matched.bytes.start - 2);
        assert_eq!(only.of_match, WordShare { shared: probe.len(), words: 20_000 });
        assert!(!found.truncated);
    }
    for from in 4_030..4_100 {
        let found = index.query(&numbered(from..from + 32)).unwrap();
        assert_eq!(found.matches[0].passages[0].matched.words, from..from + 32);
    }
}

#[test]
fn equal_blocks_of_several_texts_are_one_entry() {
    let index = PassageIndex::new(PassageSettings::default());
    for id in 0..3 {
        index.insert(id, &format!("{} {id}", numbered(0..10_000))).unwrap();
    }
    assert_eq!(index.stats().sequences, 2 + 3);
    let found = index.query(&numbered(5_000..5_100)).unwrap();
    assert_eq!(found.matches.iter().map(|it| it.id).collect::<Vec<_>>(), [0, 1, 2]);
    for id in 0..3 {
        index.remove(&id);
    }
    assert_eq!((index.stats().sequences, index.stats().postings), (0, 0));
}

/// Normalisation rewrites some pieces of text to several words, which no block divides.
#[test]
fn a_piece_that_is_rewritten_is_in_one_block() {
    let mut settings = PassageSettings::new(13).unwrap();
    settings.block_words = 40;
    let text = "½ ﷺ x ".repeat(100);
    let words = shingler().words(&text).unwrap();
    let blocks = TextBlocks::new(settings, &text, &words);
    assert!(blocks.blocks().len() > 5);
    for block in blocks.blocks() {
        let part = block_words(&shingler(), &text, Some(block)).unwrap().unwrap();
        assert_eq!(part.hashes(), &words.hashes()[block.words()]);
    }
}

/// Pieces with a normalisation of another length: ligatures, marks, jamo, half-width letters.
const PIECES: &str = "([a-zA-Zé]{1,3}[ \n.]|½|ﷺ|ﬁ|中|カ\u{3099}|\
                      [\u{1100}-\u{1112}][\u{1161}-\u{1175}]|\u{301}|\u{327}|'|İ){0,400}";

proptest! {
    #[test]
    fn the_blocks_of_any_text_have_its_words(
        text in PIECES,
    ) {
        let mut settings = PassageSettings::new(13).unwrap();
        settings.block_words = 30;
        let words = shingler().words(&text).unwrap();
        let blocks = TextBlocks::new(settings, &text, &words);
        let mut end = 12;
        for block in blocks.blocks() {
            prop_assert!(block.words().start + 12 <= end, "blocks overlap");
            end = block.words().end;
            let part = block_words(&shingler(), &text, Some(block)).unwrap().unwrap();
            prop_assert_eq!(part.hashes(), &words.hashes()[block.words()]);
            let before = text[..block.bytes().start].chars().count();
            prop_assert_eq!(block.chars_before(), before);
        }
        prop_assert!(words.is_empty() || end == words.len());
    }
}
