//! Random contents, many of which resemble each other.

use akin::document::{Content, Token};

use crate::numbers::Numbers;
use crate::settings::{FIELDS, Setting};

/// Texts of one original resemble each other.
const ORIGINALS: usize = 10;

const NAMES: [&str; 6] =
    ["anna berg", "anna burg", "william smith", "olga petrova", "wilhelm smith", "kim"];
const STREETS: [&str; 5] =
    ["12 main street", "12 main strett", "4 long lane", "9 quayside", "77 old mill road"];
const PHONES: [&str; 5] = ["5551234", "5551243", "7779999", "4206100", "1"];

pub fn content(setting: Setting, numbers: &mut Numbers) -> Content {
    match setting {
        Setting::Records => record(numbers),
        Setting::Tokens => tokens(numbers),
        _ => Content::Text(text(numbers)),
    }
}

/// A content that resembles no other.
pub fn fresh(setting: Setting, numbers: &mut Numbers) -> Content {
    let words: Vec<String> = (0..30).map(|_| format!("z{}", numbers.next())).collect();
    match setting {
        Setting::Records => {
            let field = |(at, name): (usize, &str)| (name.to_owned(), words[at].clone());
            Content::Fields(FIELDS.into_iter().enumerate().map(field).collect())
        }
        Setting::Tokens => {
            let token = |text: &String| Token { text: text.clone(), count: 2 };
            Content::Tokens(words.iter().map(token).collect())
        }
        _ => Content::Text(words.join(" ")),
    }
}

fn text(numbers: &mut Numbers) -> String {
    if numbers.one_in(12) {
        return words(numbers.below(8), 1 + numbers.below(2)).join(" ");
    }
    let original = numbers.below(ORIGINALS);
    let mut words = words(original, 12 + original * 9);
    for _ in 0..numbers.pick(&[0, 0, 1, 1, 2, 3, 6]) {
        let (at, word) = (numbers.below(words.len()), format!("e{}", numbers.below(30)));
        match numbers.below(4) {
            0 => words.push(word),
            1 => drop(words.remove(at)),
            2 => words.insert(at, words[at].clone()),
            _ => words[at] = word,
        }
    }
    words.join(" ")
}

/// The same ones for each original; some come several times.
fn words(original: usize, count: usize) -> Vec<String> {
    let mut numbers = Numbers(original as u64);
    (0..count).map(|_| format!("w{}", numbers.below(40 + 7 * original))).collect()
}

/// The words of a text, and how often each is there.
fn tokens(numbers: &mut Numbers) -> Content {
    let mut tokens: Vec<Token> = Vec::new();
    for word in text(numbers).split(' ') {
        match tokens.iter_mut().find(|token| token.text == word) {
            Some(token) => token.count += 1,
            None => tokens.push(Token { text: word.to_owned(), count: 1 }),
        }
    }
    Content::Tokens(tokens)
}

fn record(numbers: &mut Numbers) -> Content {
    let values = [numbers.pick(&NAMES), numbers.pick(&STREETS), numbers.pick(&PHONES)];
    let mut fields: Vec<_> = FIELDS.into_iter().zip(values).collect();
    if numbers.one_in(4) {
        fields.remove(numbers.below(3));
    }
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    Content::Fields(fields.into_iter().map(owned).collect())
}
