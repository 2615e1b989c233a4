//! How often edited passages are found, beside the prediction: passages of made-up documents, words
//! by Zipf's law, are probes with other words around them. A kept word is as it was, each other word
//! is replaced. The forms change the letters between the words, or break words at the ends of lines.

use akin_core::passages::{PassageIndex, PassageLimits, PassageSettings};

use crate::made::{Numbers, each_document};
use crate::report::{Axis, Draws, Series};

const DOCUMENT_BYTES: usize = 6_000;
const DOCUMENTS: usize = 1_000;
const TRIALS: usize = 2_000;
const WORDS: [usize; 6] = [13, 20, 32, 50, 100, 200];
const KEPT: [f64; 4] = [1.0, 0.95, 0.9, 0.8];

/// The plot has passages of so many words, and so many steps from all words kept to 70 %.
const PLOT_WORDS: [usize; 4] = [20, 32, 50, 100];
const PLOT_STEPS: usize = 15;

/// Letters of a line, without its last word.
const LINE_LETTERS: usize = 60;

/// Words around a passage.
const AROUND: usize = 100;

/// The least that a search may ask for: the words of a gram.
const WORDS_MIN: usize = 8;

/// How a passage is written in the probe.
#[derive(Clone, Copy)]
enum Form {
    Verbatim,
    Rewrapped,
    Embedded,
    Hyphenated,
}

/// Documents in an index.
pub struct Chances {
    documents: Vec<Vec<String>>,
    index: PassageIndex<usize>,
    settings: PassageSettings,
}

impl Chances {
    pub fn new() -> Self {
        let settings = PassageSettings::default();
        let index = PassageIndex::new(settings);
        let texts = each_document(DOCUMENT_BYTES).take(DOCUMENTS);
        let documents = texts.enumerate().map(|(id, text)| {
            index.insert(id, &text).expect("the text has words");
            text.split_whitespace().map(str::to_owned).collect()
        });
        Self { documents: documents.collect(), index, settings }
    }

    /// A table of passages with replaced words.
    pub fn edits(&self) -> String {
        let heads = KEPT.map(|kept| format!(" {} % kept | predicted |", kept * 100.0));
        let mut table =
            format!("| words of the passage |{}\n|--:|{}\n", heads.concat(), "--:|".repeat(8));
        for words in WORDS {
            let cells = KEPT.map(|kept| {
                let (found, _) = self.found(Form::Embedded, words, kept);
                format!(" {found:.3} | {:.3} |", self.settings.chance(words, kept))
            });
            table += &format!("| {words} |{}\n", cells.concat());
        }
        table
    }

    /// A table of whole passages in other forms.
    pub fn forms(&self) -> String {
        let mut table =
            "| words of the passage | verbatim | wrapped anew | within other text | hyphenated | \
             words not broken |\n|--:|--:|--:|--:|--:|--:|\n"
                .to_owned();
        for words in WORDS {
            let forms = [Form::Verbatim, Form::Rewrapped, Form::Embedded];
            let cells = forms.map(|form| format!(" {:.3} |", self.found(form, words, 1.0).0));
            let (hyphenated, whole) = self.found(Form::Hyphenated, words, 1.0);
            let cells = cells.concat();
            table += &format!("| {words} |{cells} {hyphenated:.3} | {whole:.3} |\n");
        }
        table
    }

    /// The axes of the plot, and predicted lines with measured points.
    pub fn plot(&self) -> ([Axis; 2], Vec<Series>) {
        let axes = [Axis::plain("share of the words kept"), Axis::plain("share of passages found")];
        let shares = || (0..=PLOT_STEPS).map(|step| 1.0 - 0.3 * step as f64 / PLOT_STEPS as f64);
        let series = PLOT_WORDS.into_iter().enumerate().flat_map(|(colour, words)| {
            let predicted = |kept| [kept, self.settings.chance(words, kept)];
            let measured = |kept| [kept, self.found(Form::Embedded, words, kept).0];
            [
                Series {
                    name: format!("{words} words, predicted"),
                    points: shares().map(predicted).collect(),
                    draws: Draws::Line(colour),
                },
                Series {
                    name: format!("{words} words, measured"),
                    points: shares().map(measured).collect(),
                    draws: Draws::Points(colour),
                },
            ]
        });
        (axes, series.collect())
    }

    /// The share of the passages whose document is found, and the share of the words that the form
    /// leaves whole.
    fn found(&self, form: Form, words: usize, kept: f64) -> (f64, f64) {
        let limits = PassageLimits { words_min: Some(WORDS_MIN), ..PassageLimits::default() };
        let mut random = Numbers(3);
        let (mut found, mut broken) = (0, 0);
        for _ in 0..TRIALS {
            let id = random.below(self.documents.len());
            let from = random.below(self.documents[id].len() - words);
            let passage: Vec<String> = self.documents[id][from..from + words]
                .iter()
                .map(|word| match share(&mut random) < kept {
                    true => word.clone(),
                    false => other(&mut random),
                })
                .collect();
            let (probe, words_broken) = form.write(&passage, &mut random);
            broken += words_broken;
            let result = self.index.query_within(&probe, limits).expect("the probe is short");
            found += usize::from(result.matches.iter().any(|it| it.id == id));
        }
        let all = (TRIALS * words) as f64;
        (found as f64 / TRIALS as f64, 1.0 - broken as f64 / all)
    }
}

impl Form {
    /// The text of a probe, and the number of broken words.
    fn write(self, passage: &[String], random: &mut Numbers) -> (String, usize) {
        match self {
            Self::Verbatim => (passage.join(" "), 0),
            Self::Rewrapped => (wrap(&passage.join(" ").to_uppercase(), false).0, 0),
            Self::Embedded => {
                let around: Vec<String> = (0..2 * AROUND).map(|_| other(random)).collect();
                let (before, after) = (around[..AROUND].join(" "), around[AROUND..].join(" "));
                (format!("{before}: «{}» {after}", passage.join(" ")), 0)
            }
            Self::Hyphenated => wrap(&passage.join(" "), true),
        }
    }
}

/// The text in lines, with hyphens in the last words of lines, and the number of broken words.
fn wrap(text: &str, hyphenates: bool) -> (String, usize) {
    let (mut wrapped, mut line, mut broken) = (String::new(), 0, 0);
    for word in text.split(' ') {
        line += word.len() + 1;
        let ends = line > LINE_LETTERS;
        match ends && hyphenates && word.len() > 3 {
            true => {
                let (start, end) = word.split_at(word.len() / 2);
                wrapped.extend([start, "-\n  ", end, " "]);
                broken += 1;
            }
            false => wrapped.extend([word, if ends { "\n  " } else { " " }]),
        }
        line = if ends { 0 } else { line };
    }
    (wrapped, broken)
}

/// A word that no document has.
fn other(random: &mut Numbers) -> String {
    format!("other{}", random.below(1_000_000))
}

/// A number from 0 to 1.
fn share(random: &mut Numbers) -> f64 {
    (random.next() >> 11) as f64 / (1_u64 << 53) as f64
}
