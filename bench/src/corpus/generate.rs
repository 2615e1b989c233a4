//! Made-up documents of about 1 kB: words by Zipf's law, in families at spread resemblances.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::made::{Numbers, each_document};

const DOCUMENT_BYTES: usize = 1_000;

/// Members of a family are from 1 to this many, so that there are loners and crowds.
const FAMILY_MAX: usize = 7;

/// Members resemble the family's first by as much, spread evenly from here to 1.
const RESEMBLANCE_MIN: f64 = 0.4;

/// Words of a shingle: one exchanged word is in so many shingles.
const SHINGLE_WORDS: f64 = 3.0;

/// Writes documents as JSON lines.
pub fn generate(count: usize, file: &Path) {
    let file = File::create(file).expect("the file can be made");
    let mut file = BufWriter::with_capacity(1 << 20, file);
    for (number, text) in made_up().take(count).enumerate() {
        let line = serde_json::json!({ "id": made_up_id(number), "text": text });
        writeln!(file, "{line}").expect("the disk has room");
    }
    file.flush().expect("the disk has room");
}

pub fn made_up_id(number: usize) -> String {
    format!("made/{number:08}")
}

/// Texts without end, the same on every machine.
pub fn made_up() -> impl Iterator<Item = String> {
    let mut firsts = each_document(DOCUMENT_BYTES);
    let mut random = Numbers(11);
    let mut family = (String::new(), 0);
    std::iter::repeat_with(move || {
        if family.1 == 0 {
            let first = firsts.next().expect("they have no end");
            family = (first, 1 + random.below(FAMILY_MAX));
            family.1 -= 1;
            return family.0.clone();
        }
        family.1 -= 1;
        edited(&family.0, &mut random)
    })
}

/// The text with some of its words exchanged: of n shingles k words are in 3k, and what is left
/// is (n − 3k) of (n + 3k).
pub fn edited(text: &str, random: &mut Numbers) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    let spread = random.below(1_000) as f64 / 999.0;
    let resemblance = RESEMBLANCE_MIN + (1.0 - RESEMBLANCE_MIN) * spread;
    let lost = words.len() as f64 * (1.0 - resemblance) / (1.0 + resemblance);
    let other: Vec<String> = (0..(lost / SHINGLE_WORDS).round() as usize)
        .map(|_| format!("edit{}", random.below(1_000_000)))
        .collect();
    for word in &other {
        let place = random.below(words.len());
        words[place] = word;
    }
    words.join(" ")
}
