//! Shingles as they were when the hashes were fixed. A change of these numbers is a change of the
//! stored data of every collection: only on purpose, and announced in the changelog.

use super::*;

const MAX: usize = 1_000;

const ENGLISH: &str = "The quick brown fox, and Characteristically long words";
const MIXED: &str = "Été à İstanbul: 我们 สวัสดี 3½";

/// Without normalisation.
fn shingles(unit: Unit, size: u32, text: &str) -> Vec<u64> {
    shingles_in(Normalize::None, unit, size, text)
}

fn shingles_in(normalize: Normalize, unit: Unit, size: u32, text: &str) -> Vec<u64> {
    let settings = ShingleSettings { unit, size, normalize, ..ShingleSettings::default() };
    Shingler::new(settings, 0, MAX).shingles(text).unwrap()
}

/// With words of at most 4, 8 and 16 bytes, and with longer words.
#[test]
fn words_of_every_length() {
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
        0x9eee_4c34_3f5e_2132,
        0xb04a_d76d_7c60_141d,
        0x4cea_2a9f_a6a3_4467,
        0x5ad8_724f_fb3e_d48d,
        0xdff4_7273_d2cf_8184,
        0xd80f_a070_da26_ea10,
        0x36cf_f6f5_45c5_1c22,
        0x1f56_c6c3_6353_15ff,
    ];
    assert_eq!(shingles(Unit::Word, 1, ENGLISH), english);
    let mixed = [
        0x3868_2415_2641_5164,
        0x08ea_337f_3960_a79a,
        0x9e46_fe13_5f0b_3cba,
        0x789e_2808_5124_0f9a,
        0x125b_6e3d_9a65_9bcd,
        0xb310_1361_9ced_72f7,
        0x32a9_0ad8_ee82_2a2d,
        0xb310_1361_9ced_72f7,
        0xbcba_f8e0_3682_69d2,
        0x1faf_a04b_09cd_a90a,
    ];
    assert_eq!(shingles(Unit::Word, 1, MIXED), mixed);
}

#[test]
fn shingles_of_words() {
    let english = [
        0x782b_656c_fa3e_ac16,
        0x6b24_52eb_38a4_24a5,
        0x9874_065a_022f_a99f,
        0x18f5_916d_f189_f2ab,
        0x79e5_a9a0_b6f8_a192,
        0xfb34_bed5_7d13_6c66,
    ];
    assert_eq!(shingles(Unit::Word, 3, ENGLISH), english);
    assert_eq!(shingles(Unit::Word, 64, ENGLISH), [0x9412_12f0_2944_5194]);
    let mixed = [
        0x444c_3532_03fd_7c11,
        0x8e5a_8ebe_37a2_31bf,
        0xabd5_079b_4121_1e4e,
        0xc939_dd0f_e625_9d62,
        0x839c_c2e4_8480_5f78,
        0x05aa_83b9_0f1e_404d,
        0x8100_8296_3432_735b,
        0x35e7_c9f5_b6b5_8efe,
    ];
    assert_eq!(shingles(Unit::Word, 3, MIXED), mixed);
    assert_eq!(shingles(Unit::Word, 64, MIXED), [0x3b3c_9c31_03cd_3b2f]);
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
        let unnormalized = ShingleSettings { normalize: Normalize::None, ..settings.clone() };
        let [first, second] = [settings, unnormalized].map(|settings| {
            Shingler::new(settings, seed, MAX).text(ENGLISH).unwrap().set.fingerprint()
        });
        assert_eq!(first, second);
        first
    };
    assert_eq!(fingerprint(ShingleSettings::default(), 0), 0x60fc_9457_1c7c_84b3);
    let cased = ShingleSettings { lowercase: false, ..ShingleSettings::default() };
    assert_eq!(fingerprint(cased, 0xfeed), 0xfc0e_350b_6322_0441);
}

#[test]
fn shingles_at_stop_words() {
    let text = "The quick brown fox, and Characteristically long words of the dog";
    let shingles = shingles(Unit::Stopword, 3, text);
    let golden = [0x782b_656c_fa3e_ac16, 0x79e5_a9a0_b6f8_a192, 0x0ad3_3492_1abe_8ec7];
    assert_eq!(shingles, golden, "{shingles:x?}");
    assert_eq!(self::shingles(Unit::Stopword, 3, "quick brown fox"), [0xcf85_e59a_1e1a_8368]);
}

/// The compiler names this test for a further unit.
#[test]
fn every_unit_has_a_golden_shingle() {
    for unit in Unit::of_texts() {
        let (size, text, golden) = match unit {
            Unit::Word => (64, ENGLISH, 0x9412_12f0_2944_5194),
            Unit::Character => (64, ENGLISH, 0x61c8_d3fb_a26a_58c2),
            Unit::Stopword => (3, "quick brown fox", 0xcf85_e59a_1e1a_8368),
            Unit::Token => (3, "a Crème", 0x08d6_c5c7_c13e_ad40),
            Unit::Field => unreachable!("texts have no fields"),
        };
        assert_eq!(shingles(unit, size, text), [golden], "{unit:?}");
    }
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
        &[0xc61d_c8ec_cbcf_d068, 0xb23a_bf0f_5b7c_0168, 0xa9da_cffd_a77a_b0ce],
        &[0x8a0f_accd_0773_e1d3],
        &[0x74cc_aaa2_61db_abff],
        &[0x9fae_f1f3_c531_8bac],
    ];
    assert_eq!(found, golden, "{found:x?}");
}

/// The result of normalising each character, and its effect on the cutting of words.
#[test]
fn characters() {
    let digest = |normalize| {
        let rules = words::TextRules::new(normalize, true);
        let mut text = String::new();
        for character in ('\0'..='\u{33fff}').chain('\u{e0000}'..='\u{e0fff}') {
            text.push_str(&rules.fold(&character.to_string()));
            text.push(char::from(b"-wcm"[classes::LETTERS.class(character) as usize]));
        }
        xxhash_rust::xxh3::xxh3_64(text.as_bytes())
    };
    let digests = [Normalize::Nfkc, Normalize::Nfc, Normalize::None].map(digest);
    let golden = [0xdd80_aed6_bebc_4700, 0x0334_7def_87b0_ab85, 0xff02_e4a2_183f_1a46];
    assert_eq!(digests, golden, "{digests:x?}");
}

#[test]
fn stop_words_of_every_language() {
    let languages = ::stop_words::available_languages();
    let digest = |normalize| {
        let mut words: Vec<String> = Vec::new();
        for language in languages {
            let rules = words::TextRules::new(normalize, true);
            let mut of_language = StopWords::Language((*language).to_owned()).words(rules);
            of_language.sort_unstable();
            words.append(&mut of_language);
        }
        (words.len(), xxhash_rust::xxh3::xxh3_64(words.join("\n").as_bytes()))
    };
    assert_eq!(languages.len(), 67);
    let found = [Normalize::None, Normalize::Nfkc].map(digest);
    let golden = [(18_081, 0x2be8_ad8e_a856_fa43), (18_085, 0x4db9_4716_23fe_beff)];
    assert_eq!(found, golden, "{found:x?}");
}
