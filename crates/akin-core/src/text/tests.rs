use proptest::prelude::*;

use super::*;

/// As many elements as any set here may have.
const MAX: usize = 1_000;

fn of(unit: Unit, size: u32) -> ShingleSettings {
    ShingleSettings { unit, size, ..ShingleSettings::default() }
}

fn words_3() -> ShingleSettings {
    of(Unit::Word, 3)
}

fn characters_9() -> ShingleSettings {
    of(Unit::Character, 9)
}

/// Texts of many scripts, with everything that lowercasing and cutting stumble over.
const TEXTS: [&str; 10] = [
    "The quick brown fox jumps over the lazy dog.",
    "a  b\r\n\tc — d… “e” it's f_g 3.14 \u{a0}h",
    "İstanbul'da ΌΣΟΣ Straße ẞ ǅ ﬁn ÉTÉ e\u{301}te\u{301}",
    "อักษรไทยไม่เว้นวรรค และ 12 ๑๒",
    "我们在 Beijing 吃了3个包子。𠀀𪜶〇",
    "コンピューターは\u{3099}ｺﾝﾋﾟｭｰﾀです",
    "كِتَابٌ جَدِيدٌ، ٣٤ صفحة हिन्दी में लिखा",
    "🎉 party 🎉🎉 ❤\u{fe0f} \u{301}x a\u{200d}b",
    "pneumonoultramicroscopicsilicovolcanoconiosis and Characteristicall Characteristically",
    "ພາສາລາວ ភាសាខ្មែរ မြန်မာဘာသာ",
];

fn tokens(texts: &[&str]) -> Vec<Token> {
    texts.iter().map(|&text| Token { text: text.to_owned(), count: 1 }).collect()
}

fn set(settings: &ShingleSettings, text: &str) -> ShingleSet {
    Shingler::new(settings.clone(), 0, MAX).text(text).unwrap().set
}

fn assert_spans_are_the_shingles(settings: &ShingleSettings, text: &str) {
    let shingler = Shingler::new(settings.clone(), 3, MAX);
    let mut spanned = Vec::new();
    let spans = shingler.spans(text, |shingle, span| {
        // The text of a span alone gives its shingle, unless white space at its ends is trimmed.
        let covered = &text[span];
        let alone = shingler.shingles(covered).unwrap();
        let folded = settings.rules().fold(covered);
        let trimmed = folded.trim().len() < folded.len();
        assert!(trimmed || alone.contains(&shingle), "{settings:?}: {covered:?} in {text:?}");
        spanned.push(shingle);
    });
    let shingles = spans.and_then(|()| shingler.shingles(text)).unwrap();
    assert_eq!(spanned, shingles, "{settings:?}: {text:?}");
    let set = shingler.text(text).ok().map(|shingled| shingled.set);
    assert_eq!(ShingleSet::from_shingles(spanned), set);
}

fn all_settings() -> impl Iterator<Item = ShingleSettings> {
    Unit::of_texts().flat_map(|unit| {
        [(1, true), (2, false), (3, true), (7, true), (64, true)]
            .map(|(size, lowercase)| ShingleSettings { lowercase, ..of(unit, size) })
    })
}

#[test]
fn spans_are_the_shingles_in_every_script() {
    for settings in all_settings() {
        for text in TEXTS.into_iter().chain(["", " ", "x"]) {
            assert_spans_are_the_shingles(&settings, text);
        }
        assert_spans_are_the_shingles(&settings, &TEXTS.join(" "));
        assert_spans_are_the_shingles(&settings, &TEXTS.concat());
    }
}

proptest! {
    #[test]
    fn spans_are_the_shingles_of_any_text(
        text in "[a-zA-Z0-9 \u{0}-\u{1ff}ก-๛一-十ァ-ー🎉]{0,60}|\\PC{0,40}",
    ) {
        for settings in all_settings() {
            assert_spans_are_the_shingles(&settings, &text);
        }
    }

    #[test]
    fn every_level_makes_the_same_sets(text in "[a-zA-Z0-9 éÀÉя中ก-๛🎉]{0,400}") {
        for settings in all_settings() {
            let shingler = Shingler::new(settings, 3, MAX);
            let sets = Level::available().into_iter().map(|level| {
                shingler.clone().with_level(level).text(&text).map(|shingled| shingled.set)
            });
            let mut sets: Vec<_> = sets.collect();
            sets.dedup();
            prop_assert_eq!(sets.len(), 1);
        }
    }

    #[test]
    fn the_words_of_halves_make_the_whole(a in "\\PC{0,20}", b in "\\PC{0,20}") {
        let shingler = Shingler::new(ShingleSettings { size: 1, ..words_3() }, 0, MAX);
        let halves = [&a, &b].map(|half| shingler.shingles(half).unwrap()).concat();
        prop_assert_eq!(shingler.shingles(&format!("{a} {b}")).unwrap(), halves);
    }
}

#[test]
fn spans_cover_the_original_text() {
    let text = " Ünï—İx  中文\nz ";
    let mut covered = Vec::new();
    Shingler::new(words_3(), 0, MAX).spans(text, |_, span| covered.push(&text[span])).unwrap();
    assert_eq!(covered, ["Ünï—İx  中", "İx  中文", "中文\nz"]);
    covered.clear();
    let characters = ShingleSettings { size: 4, ..characters_9() };
    Shingler::new(characters, 0, MAX)
        .spans("İ  \n bẞ ", |_, span| covered.push(&"İ  \n bẞ "[span]))
        .unwrap();
    // They become i, a dot above, a space, b, s and s.
    assert_eq!(covered, ["İ  \n b", "İ  \n bẞ", "  \n bẞ"]);
    covered.clear();
    Shingler::new(words_3(), 0, MAX)
        .spans(", One two. ", |_, span| covered.push(&", One two. "[span]))
        .unwrap();
    assert_eq!(covered, ["One two"]);
}

#[test]
fn wrapping_punctuation_and_case_do_not_change_words() {
    let expected = set(&words_3(), "the quick brown fox jumps over the lazy dog");
    for text in [
        "The quick brown\nfox jumps\r\nover the lazy dog.",
        "THE QUICK: brown fox, jumps over\tthe “lazy” dog…",
    ] {
        assert_eq!(set(&words_3(), text), expected);
    }
    assert_ne!(set(&words_3(), "the quick brown fox jumps over the dog lazy"), expected);
    let rewrapped = set(&characters_9(), " some  text\r\nof Lines\n");
    assert_eq!(rewrapped, set(&characters_9(), "some text of lines"));
    let cased = ShingleSettings { lowercase: false, ..words_3() };
    assert_ne!(set(&cased, "One two three"), set(&cased, "one two three"));
}

#[test]
fn a_set_holds_each_shingle_once() {
    assert_eq!(set(&words_3(), "a b c a b c").count(), 3);
    assert_eq!(set(&ShingleSettings { size: 1, ..words_3() }, "a b c, a b").count(), 3);
    assert_eq!(set(&characters_9(), "aaaaaaaaaaaaaaaaa").count(), 1);
}

#[test]
fn a_short_text_is_one_shingle_of_its_own() {
    let shingler = Shingler::new(words_3(), 0, MAX);
    for (text, whole_document) in [("a b", true), ("a", true), ("a b c", false), ("a b c d", false)]
    {
        assert_eq!(shingler.text(text).unwrap().whole_document, whole_document, "{text}");
    }
    assert_eq!(shingler.text("a b").unwrap().set, shingler.text(" A,\n B").unwrap().set);
    let short = ["a", "b", "a a", "a b", "b a", "ab", "a b c", "a b a", "aa", "a a a"];
    for settings in [words_3(), characters_9()] {
        let mut distinct: Vec<u64> =
            short.iter().map(|text| set(&settings, text).as_slice()[0]).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), short.len());
    }
}

#[test]
fn contents_without_shingles_are_refused() {
    let words = Shingler::new(words_3(), 0, MAX);
    for text in ["", " \n", "… — !", "🎉"] {
        assert_eq!(words.text(text).unwrap_err(), ShingleError::Empty, "{text:?}");
    }
    let characters = Shingler::new(characters_9(), 0, MAX);
    assert_eq!(characters.text(" \u{3000}\n").unwrap_err(), ShingleError::Empty);
    assert!(characters.text("…").unwrap().whole_document);
    assert_eq!(words.shingle(&Content::Tokens(vec![])).unwrap_err(), ShingleError::Empty);
}

#[test]
fn tokens_are_elements_as_they_are() {
    let shingler = Shingler::new(words_3(), 0, MAX);
    let set = |texts: &[&str]| shingler.tokens(&tokens(texts)).unwrap().set;
    assert_ne!(set(&["ab", "c"]), set(&["a", "bc"]));
    assert_ne!(set(&["ab", "c"]), set(&["abc"]));
    assert_ne!(set(&["A"]), set(&["a"]));
    assert_ne!(set(&["a"]), set(&["a "]));
    assert_eq!(set(&["b", "a", "b"]), set(&["a", "b"]));
    assert_eq!(set(&["", "x y"]).count(), 2);
    let counted = Content::Tokens(vec![Token { text: "a".to_owned(), count: 7 }]);
    let of_counted = shingler.shingle(&counted).unwrap();
    assert_eq!(of_counted.set, set(&["a"]));
    assert!(!of_counted.whole_document);
}

#[test]
fn pieces_between_white_space_are_tokens() {
    let token = |size| Shingler::new(of(Unit::Token, size), 0, MAX);
    let set = |size, text: &str| token(size).text(text).unwrap().set;
    assert_eq!(
        set(1, " A-1\t…\u{3000}x.y\n"),
        token(1).tokens(&tokens(&["a-1", "...", "x.y"])).unwrap().set
    );
    assert_ne!(set(1, "a1"), set(1, "a 1"));
    assert_eq!(set(2, "a, b c"), set(2, "A,\r\nB C"));
    assert_ne!(set(2, "a, b c"), set(2, "a b c"));
    assert_eq!(set(2, "a b c d a b").count(), 4);
    assert!(token(3).text("a b").unwrap().whole_document);
    let mut covered = Vec::new();
    token(2).spans(" a,  b\n(c) ", |_, span| covered.push(&" a,  b\n(c) "[span])).unwrap();
    assert_eq!(covered, ["a,  b", "b\n(c)"]);
    assert_eq!(token(1).text(" \u{2003}\n").unwrap_err(), ShingleError::Empty);
}

#[test]
fn sets_over_the_limit_are_refused_early() {
    let shingler =
        |multiset| Shingler::new(ShingleSettings { multiset, ..of(Unit::Word, 1) }, 0, 5);
    let token = |text: &str, count| Token { text: text.to_owned(), count };
    let billions = [token("a", u32::MAX), token("b", u32::MAX), token("a", 1)];
    let found = 2 * u32::MAX as usize + 1;
    let error = shingler(true).tokens(&billions).unwrap_err();
    assert_eq!(error, ShingleError::TooMany { found, max: 5 });
    // Where nothing is repeated, counts do not count.
    assert_eq!(shingler(false).tokens(&billions).unwrap().set.count(), 2);
    assert_eq!(
        shingler(true).bag(&Content::Tokens(billions.to_vec())).unwrap().total(),
        found as u64
    );
    for multiset in [false, true] {
        assert_eq!(shingler(multiset).text("a b c d e").unwrap().set.count(), 5);
        let error = shingler(multiset).text("a b c d e f").unwrap_err();
        assert_eq!(error, ShingleError::TooMany { found: 6, max: 5 });
    }
    assert_eq!(shingler(false).text("a b c d e a").unwrap().set.count(), 5);
    assert!(shingler(true).text("a b c d e a").is_err());
    let many = Content::Text("a b c d e f".to_owned());
    assert!(shingler(false).bag(&many).is_err());
}

#[test]
fn each_occurrence_is_an_element_of_a_multiset() {
    let [plain, multi] = [false, true]
        .map(|multiset| Shingler::new(ShingleSettings { multiset, ..of(Unit::Token, 1) }, 0, MAX));
    let set = |shingler: &Shingler, text: &str| shingler.text(text).unwrap().set;
    assert_eq!(set(&multi, "a b c"), set(&plain, "a b c"));
    assert_eq!(set(&multi, "a b a a").count(), 4);
    assert_eq!(set(&multi, "a b a a"), set(&multi, "b a a a"));
    let counted = |a, b| {
        let token = |text: &str, count| Token { text: text.to_owned(), count };
        multi.tokens(&[token("a", a), token("b", b), token("a", 1)]).unwrap().set
    };
    assert_eq!(counted(2, 1), set(&multi, "a b a a"));
    let mut covered = Vec::new();
    multi.spans("a b a", |element, span| covered.push((element, span.start))).unwrap();
    let of_one = |text: &str| set(&plain, text).as_slice()[0];
    assert_eq!(covered[..2], [(of_one("a"), 0), (of_one("b"), 2)]);
    assert_ne!(covered[2].0, of_one("a"));
}

#[test]
fn spans_are_the_elements_of_multisets() {
    for settings in all_settings() {
        for multiset in [false, true] {
            let settings = ShingleSettings { multiset, ..settings.clone() };
            let shingler = Shingler::new(settings, 0, MAX);
            for text in TEXTS.iter().map(|text| format!("{text} {text} a a a a a a a a a")) {
                let mut spanned = Vec::new();
                shingler.spans(&text, |element, _| spanned.push(element)).unwrap();
                let set = shingler.text(&text).unwrap().set;
                assert_eq!(spanned.len(), if multiset { set.count() } else { spanned.len() });
                assert_eq!(ShingleSet::from_shingles(spanned), Some(set.clone()));
                let shingles = shingler.shingles(&text).unwrap();
                assert!(multiset || ShingleSet::from_shingles(shingles) == Some(set));
            }
        }
    }
}

#[test]
fn a_bag_counts_the_shingles_of_a_content() {
    let shingler = Shingler::new(of(Unit::Token, 1), 0, MAX);
    let text = shingler.bag(&Content::Text("b a b b".to_owned())).unwrap();
    let counted = |counts: &[(&str, u32)]| {
        let token = |&(text, count): &(&str, u32)| Token { text: text.to_owned(), count };
        shingler.bag(&Content::Tokens(counts.iter().map(token).collect())).unwrap()
    };
    assert_eq!(text, counted(&[("a", 1), ("b", 3)]));
    assert_eq!(text, counted(&[("b", 1), ("a", 1), ("b", 2)]));
    assert_eq!(shingler.bag(&Content::Tokens(vec![])).unwrap_err(), ShingleError::Empty);
}

#[test]
fn another_seed_makes_other_shingles() {
    for settings in [words_3(), characters_9()] {
        let [a, b] = [0, 1]
            .map(|seed| Shingler::new(settings.clone(), seed, MAX).shingles(TEXTS[0]).unwrap());
        assert!(a.iter().all(|shingle| !b.contains(shingle)));
    }
    let [a, b] =
        [0, 1].map(|seed| Shingler::new(words_3(), seed, MAX).tokens(&tokens(&["a"])).unwrap());
    assert_ne!(a.set, b.set);
}

#[test]
fn settings_name_their_faults() {
    let faults = |size| ShingleSettings { size, ..words_3() }.faults();
    assert_eq!(faults(0), ["size must be from 1 to 64, not 0"]);
    assert_eq!(faults(65), ["size must be from 1 to 64, not 65"]);
    assert!(faults(1).is_empty() && faults(64).is_empty());
}

#[test]
fn records_and_texts_are_not_mistaken_for_each_other() {
    let fields = Shingler::new(ShingleSettings { unit: Unit::Field, ..words_3() }, 0, 2);
    let record = |names: &[&str]| {
        let text = |name: &&str| ((*name).to_owned(), "some text".to_owned());
        Content::Fields(names.iter().map(text).collect())
    };
    let shingled = fields.shingle(&record(&["a", "b"])).unwrap();
    assert_eq!((shingled.set.count(), shingled.whole_document), (2, false));
    let bag = fields.bag(&record(&["a", "b"])).unwrap();
    assert_eq!(bag.total(), 2);
    let too_many = fields.shingle(&record(&["a", "b", "c"])).unwrap_err();
    assert_eq!(too_many, ShingleError::TooMany { found: 3, max: 2 });
    assert_eq!(fields.shingle(&record(&[])).unwrap_err(), ShingleError::Empty);
    for content in [Content::Text("a b c".to_owned()), Content::Tokens(vec![])] {
        assert_eq!(fields.shingle(&content).unwrap_err(), ShingleError::FieldsWanted);
    }
    let words = Shingler::new(words_3(), 0, 2);
    assert_eq!(words.shingle(&record(&["a"])).unwrap_err(), ShingleError::NoFieldsWanted);
    assert_eq!(words.bag(&record(&["a"])).unwrap_err(), ShingleError::NoFieldsWanted);
}
