//! Made-up texts in several scripts: random letters in words of a usual length.

use icu_normalizer::DecomposingNormalizerBorrowed;

use crate::corpus::Numbers;

/// Name, letters, letters in a word, and the separator of words.
const SCRIPTS: [(&str, &str, usize, &str); 9] = [
    ("ASCII", "eeeetaoinshrdlu", 5, " "),
    ("English, curly", "eeeetaoinshrdlu", 5, "’s "),
    ("German", "eeeeeennnnniiisrahtdulcgmobwfkzäöüß", 6, " "),
    ("Vietnamese", "nnnhhhttccgiuaoaảấạđêếệôốộơớợưứự", 4, " "),
    ("Korean", "가나다라마바사아자차한국어는을이글말의", 3, " "),
    ("Arabic", "ااااللللميونرتبعةدفسكحقجصشطخ", 5, " "),
    ("Russian", "оооеееаааиииннттссррввлкмдпуяыь", 6, " "),
    ("Chinese", "的一是不了人我在有他这中大来上国和说们", 12, "，"),
    ("Thai", "กขคงจชดตนบปมยรลวสหอาิีเแ่้ัำ", 20, " "),
];

/// Each script's name and a text of it; Vietnamese and Korean decomposed, too.
pub fn each_script(bytes: usize) -> Vec<(String, String)> {
    let mut random = Numbers(5);
    let mut texts = Vec::new();
    for (name, letters, letters_in_word, separator) in SCRIPTS {
        let letters: Vec<char> = letters.chars().collect();
        let mut text = String::with_capacity(bytes + 64);
        while text.len() < bytes {
            let count = 1 + random.below(2 * letters_in_word - 1);
            text.extend((0..count).map(|_| letters[random.below(letters.len())]));
            text.push_str(separator);
        }
        if matches!(name, "Vietnamese" | "Korean") {
            let decomposed = DecomposingNormalizerBorrowed::new_nfd().normalize(&text);
            texts.push((format!("{name}, decomposed"), decomposed.into_owned()));
        }
        texts.push((name.to_owned(), text));
    }
    texts
}
