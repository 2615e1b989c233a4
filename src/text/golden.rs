//! Shingles as they were when the hashes were fixed. To change one of these numbers is to change
//! what every stored collection holds: only on purpose, and announced in the changelog.

use super::*;

const MAX: usize = 1_000;

const ENGLISH: &str = "The quick brown fox, and Characteristically long words";
const MIXED: &str = "Été à İstanbul: 我们 สวัสดี 3½";

/// Without normalisation and with unkeyed hashes, as all collections once were.
fn shingles(unit: Unit, size: u32, text: &str) -> Vec<u64> {
    shingles_in(Normalize::None, unit, size, text)
}

fn shingles_in(normalize: Normalize, unit: Unit, size: u32, text: &str) -> Vec<u64> {
    let word_hash = WordHash::Unkeyed;
    let settings =
        ShingleSettings { unit, size, normalize, word_hash, ..ShingleSettings::default() };
    Shingler::new(settings, 0, MAX).shingles(text).unwrap()
}

/// With words of at most 4, 8 and 16 bytes, and longer ones.
#[test]
fn keyed_words() {
    let text = "Fox jumps characteristically incomprehensibilities";
    let shingles = |seed, size| {
        let settings = ShingleSettings { size, ..ShingleSettings::default() };
        Shingler::new(settings, seed, MAX).shingles(text).unwrap()
    };
    let found = [shingles(0, 1), shingles(7, 1), shingles(7, 3)];
    let golden: [&[u64]; 3] = [
        &[
            0x5ad8_724f_fb3e_d48d,
            0x1f00_e116_862e_7548,
            0xd80f_a070_da26_ea10,
            0x3c0d_4378_a63d_95f2,
        ],
        &[
            0xc940_8768_b003_6666,
            0xbc78_9681_27d6_2686,
            0x3bc6_f2c6_9d24_b93c,
            0x8c38_e15c_881b_e488,
        ],
        &[0x2d3a_d648_e94f_899d, 0x0ae0_7abd_a24d_59ea],
    ];
    assert_eq!(found, golden, "{found:x?}");
}

#[test]
fn words() {
    let english = [
        0x2eff_f4f9_c90d_a1f4,
        0x0ffe_8ec8_3735_f87e,
        0x0205_01c6_2669_f055,
        0x9d76_bc14_89aa_a594,
        0xc790_1ef5_75f3_5823,
        0xd80f_a070_da26_ea10,
        0xe32b_ae38_a29f_b0df,
        0xdb05_3220_2b39_706f,
    ];
    assert_eq!(shingles(Unit::Word, 1, ENGLISH), english);
    let mixed = [
        0x46ed_3af6_d34f_02af,
        0x13f1_cf84_77eb_8005,
        0x0158_f0d3_5006_3a99,
        0xcae9_ba0f_f56a_a376,
        0x4279_6d39_2ad9_3b56,
        0x7016_09ed_8f74_945e,
        0x2509_9035_64bd_f8a2,
        0x7016_09ed_8f74_945e,
        0xd919_b603_0a2c_3fc8,
        0x80e4_191f_14e8_3d54,
    ];
    assert_eq!(shingles(Unit::Word, 1, MIXED), mixed);
}

#[test]
fn shingles_of_words() {
    let english = [
        0x8134_3258_7aa0_9e42,
        0x6521_42ea_3334_6104,
        0xb25e_6eda_ae42_c5d2,
        0xb108_1b0b_da28_692c,
        0x9bb0_ff52_b803_3165,
        0xcf78_a78a_ae12_6111,
    ];
    assert_eq!(shingles(Unit::Word, 3, ENGLISH), english);
    assert_eq!(shingles(Unit::Word, 64, ENGLISH), [0xcbec_9d01_97cb_c3db]);
    let mixed = [
        0x3007_0716_f4c2_32ad,
        0x7045_c43e_9222_2636,
        0xfb92_ddc7_d754_c62b,
        0x36da_3cd2_2cc8_d905,
        0x5ab2_4363_4ac6_3dff,
        0x0428_2de4_1864_28b9,
        0x9571_5e93_a13c_55fa,
        0xb85c_4365_efd1_6e83,
    ];
    assert_eq!(shingles(Unit::Word, 3, MIXED), mixed);
    assert_eq!(shingles(Unit::Word, 64, MIXED), [0xab6b_a759_ed3f_b01d]);
}

#[test]
fn shingles_of_characters() {
    let mixed = [
        0x8999_24bc_715d_65a6,
        0x6bd6_4813_9ff3_754b,
        0x0f58_fc4f_9a5d_1771,
        0x8799_b75b_9633_33bd,
        0x6c7f_e45b_fa51_d974,
        0xd711_6b25_b836_4f69,
    ];
    assert_eq!(shingles(Unit::Character, 24, MIXED), mixed);
    assert_eq!(shingles(Unit::Character, 64, MIXED), [0xb53f_b412_e4ed_0cc2]);
    assert_eq!(shingles(Unit::Character, 64, ENGLISH), [0x61c8_d3fb_a26a_58c2]);
}

#[test]
fn tokens() {
    let shingler = Shingler::new(ShingleSettings::default(), 0, MAX);
    let golden = [
        ("", 0x2d06_8005_38d3_94c2),
        ("a", 0xe6c6_32b6_1e96_4e1f),
        ("Crème brûlée", 0xc54c_fe20_f8ea_8e1f),
    ];
    for (text, element) in golden {
        let token = Token { text: text.to_owned(), count: 1 };
        assert_eq!(shingler.tokens(&[token]).unwrap().set.as_slice(), [element]);
    }
}

#[test]
fn shingles_of_tokens() {
    let text = "a Crème";
    assert_eq!(shingles(Unit::Token, 1, text)[0], 0xe6c6_32b6_1e96_4e1f);
    assert_eq!(shingles(Unit::Token, 2, text), [0x7507_314a_5b5d_0dcc]);
    assert_eq!(shingles(Unit::Token, 3, text), [0x08d6_c5c7_c13e_ad40]);
}

#[test]
fn fingerprints() {
    let fingerprint = |settings: ShingleSettings, seed| {
        let settings = ShingleSettings { word_hash: WordHash::Unkeyed, ..settings };
        let unnormalized = ShingleSettings { normalize: Normalize::None, ..settings.clone() };
        let [first, second] = [settings, unnormalized].map(|settings| {
            Shingler::new(settings, seed, MAX).text(ENGLISH).unwrap().set.fingerprint()
        });
        assert_eq!(first, second);
        first
    };
    assert_eq!(fingerprint(ShingleSettings::default(), 0), 0xf289_d2fe_bc74_c617);
    let cased = ShingleSettings { lowercase: false, ..ShingleSettings::default() };
    assert_eq!(fingerprint(cased, 0xfeed), 0x2dc9_9d15_0311_5854);
}

#[test]
fn shingles_at_stop_words() {
    let text = "The quick brown fox, and Characteristically long words of the dog";
    let shingles = shingles(Unit::Stopword, 3, text);
    let golden = [0x8134_3258_7aa0_9e42, 0x9bb0_ff52_b803_3165, 0x1ec9_d3e7_290a_2d0a];
    assert_eq!(shingles, golden, "{shingles:x?}");
    assert_eq!(self::shingles(Unit::Stopword, 3, "quick brown fox"), [0x994c_3b3c_c71a_fc74]);
}

#[test]
fn normalized_shingles() {
    let text = "Don’t STRAẞE, e\u{301}te\u{301}: \u{1112}\u{1161}\u{11ab} ﬁ½ ꦲꦗꦶ";
    let of = |normalize, unit, size| shingles_in(normalize, unit, size, text);
    let found = [
        of(Normalize::Nfkc, Unit::Word, 6),
        of(Normalize::Nfkc, Unit::Character, 64),
        of(Normalize::Nfkc, Unit::Token, 6),
        of(Normalize::Nfc, Unit::Word, 7),
    ];
    let golden: [&[u64]; 4] = [
        &[0x45b9_f09c_b8fa_eca8, 0xd31b_283e_5b1c_169a, 0x9648_d2c3_ff79_a876],
        &[0x8a0f_accd_0773_e1d3],
        &[0x74cc_aaa2_61db_abff],
        &[0x644b_6f33_ebaa_6c89],
    ];
    assert_eq!(found, golden, "{found:x?}");
}

/// What every character becomes, and what it does when words are cut.
#[test]
fn characters() {
    let digest = |normalize| {
        let rules = words::TextRules::new(normalize, true);
        let mut text = String::new();
        for character in ('\0'..='\u{33fff}').chain('\u{e0000}'..='\u{e0fff}') {
            text.push_str(&rules.fold(&character.to_string()));
            text.push(char::from(b"-wcm"[classes::letters(normalize).class(character) as usize]));
        }
        xxhash_rust::xxh3::xxh3_64(text.as_bytes())
    };
    let digests = [Normalize::Nfkc, Normalize::Nfc, Normalize::None].map(digest);
    let golden = [0xdda7_691e_cf7d_66c3, 0x828a_ab5e_0165_8863, 0xf59c_7433_aaa3_9d9b];
    assert_eq!(digests, golden, "{digests:x?}");
}

#[test]
fn stop_words_of_every_language() {
    let languages = ::stop_words::available_languages();
    let digest = |normalize| {
        let mut words: Vec<String> = Vec::new();
        for language in languages {
            let rules = words::TextRules::new(normalize, true);
            let mut of_language = StopWords::of_language(language).unwrap().words(rules);
            of_language.sort_unstable();
            words.append(&mut of_language);
        }
        (words.len(), xxhash_rust::xxh3::xxh3_64(words.join("\n").as_bytes()))
    };
    assert_eq!(languages.len(), 67);
    assert_eq!(digest(Normalize::None), (17_845, 0x5ab3_167d_edeb_8c56));
    assert_eq!(digest(Normalize::Nfkc), (18_085, 0x4db9_4716_23fe_beff));
}
