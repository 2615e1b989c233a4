//! The documents as akin and the suffix array read them: all of them, and for decontamination every
//! hundredth as the evaluation set and the others as training texts.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use akin_core::text::{ShingleSettings, Shingler};
use flate2::read::MultiGzDecoder;
use serde_json::json;

use crate::corpus::Document;
use crate::made::{Numbers, each_document};

const DOCUMENT_BYTES: usize = 6_000;
const EVALUATION_EVERY: usize = 100;

/// A corpus in a folder.
pub struct Corpus {
    pub name: String,
    pub folder: PathBuf,
    pub documents: usize,
    pub text_bytes: u64,
}

impl Corpus {
    /// Documents by Zipf's law, of which every tenth has a part of an earlier document.
    pub fn made_up(work: &Path, megabytes: usize) -> Self {
        let count = megabytes * 1_000_000 / DOCUMENT_BYTES;
        let mut texts: Vec<String> = each_document(DOCUMENT_BYTES).take(count).collect();
        let mut random = Numbers(8);
        for number in (10..count).step_by(10) {
            let earlier = &texts[random.below(number)];
            let from = random.below(earlier.len() - 1_500);
            let part = earlier[from..from + 300 + random.below(1_200)].to_owned();
            texts[number].insert_str(0, &part);
        }
        Self::write("made up", &work.join("made_up"), texts.into_iter())
    }

    /// The texts of a file whose words are the words of a reader: akin counts several letters of a
    /// script without spaces as one word, the suffix array each of them.
    ///
    /// # Panics
    /// If the file has other lines than JSON with ids and texts.
    pub fn of_file(work: &Path, path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.split('.').next().unwrap_or_default();
        let file = File::open(path).expect("the corpus can be read");
        let plain: Box<dyn Read> = match path.extension().is_some_and(|it| it == "gz") {
            true => Box::new(MultiGzDecoder::new(file)),
            false => Box::new(file),
        };
        let lines = BufReader::with_capacity(1 << 20, plain).lines();
        let shingler = Shingler::new(ShingleSettings::default(), 0, usize::MAX);
        let texts = lines.filter_map(|line| {
            let line = line.expect("the corpus can be read");
            let text =
                serde_json::from_str::<Document>(&line).expect("a line has id and text").text;
            let words = shingler.words(&text).expect("a text of usual length");
            words.readers(&text).is_none().then_some(text)
        });
        Self::write(name, &work.join(name), texts)
    }

    fn write(name: &str, folder: &Path, texts: impl Iterator<Item = String>) -> Self {
        std::fs::create_dir_all(folder).expect("the folder can be made");
        let mut corpus =
            Self { name: name.to_owned(), folder: folder.to_owned(), documents: 0, text_bytes: 0 };
        let [mut all, mut training, mut evaluation] = corpus.files().map(|path| {
            BufWriter::with_capacity(1 << 20, File::create(path).expect("the folder is writable"))
        });
        for (number, text) in texts.enumerate() {
            corpus.documents += 1;
            corpus.text_bytes += text.len() as u64;
            let line = json!({ "id": number.to_string(), "text": text });
            let of_two =
                if number % EVALUATION_EVERY == 0 { &mut evaluation } else { &mut training };
            [&mut all, of_two]
                .into_iter()
                .try_for_each(|file| writeln!(file, "{line}"))
                .expect("the disk has room");
        }
        for mut file in [all, training, evaluation] {
            file.flush().expect("the disk has room");
        }
        corpus
    }

    /// All documents, the training texts, and the evaluation set.
    pub fn files(&self) -> [PathBuf; 3] {
        ["all.jsonl", "training.jsonl", "evaluation.jsonl"].map(|name| self.folder.join(name))
    }
}
