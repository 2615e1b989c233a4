//! The formats of files.

use std::io::BufRead;
use std::path::Path;
use std::sync::atomic::AtomicU64;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::copies::CopyOf;
use super::encoding::decoded;
use super::event::Stop;
use super::open::PARQUET_MAGIC;
use super::options::Reading;
use super::sink::Sink;
use super::{html, lines, parquet, table, text, values, warc};

/// A format of files.
#[derive(Debug)]
pub struct Format {
    /// The name on the command line.
    pub name: &'static str,
    /// What the documents of a file are.
    pub documents: &'static str,
    /// The extensions of names that say the format.
    pub extensions: &'static [&'static str],
    /// The first bytes that say the format.
    pub magic: Option<&'static [u8]>,
    /// What is copied of a file with these first bytes if it is read again: the findings in its
    /// pages, which take longer to find than to read; or, of a compressed file, its bytes.
    pub copied: fn(start: &[u8]) -> CopyOf,
    pub read: fn(OpenInput<'_>, &mut Sink<'_, '_>) -> Result<(), Stop>,
}

/// An input for the reader of its format.
pub struct OpenInput<'i> {
    /// `-` is stdin.
    pub path: &'i Path,
    pub reading: &'i Reading,
    /// The first bytes of the content.
    pub start: Vec<u8>,
    /// The content, unpacked, from its first byte on.
    pub content: Box<dyn BufRead + 'i>,
    /// Whether the input is compressed.
    pub is_packed: bool,
    /// Counts the bytes of the input that are read past `content`.
    pub bytes_read: &'i AtomicU64,
}

impl<'i> OpenInput<'i> {
    /// The content as UTF-8, without a byte order mark.
    pub fn decoded(self) -> Box<dyn BufRead + 'i> {
        decoded(&self.start, self.content, self.reading.encoding)
    }
}

pub static TEXT: Format = Format {
    name: "text",
    documents: "The whole file is one document",
    extensions: &["txt", "text", "md", "rst"],
    magic: None,
    copied: |_| CopyOf::Unpacked,
    read: text::read,
};

pub static JSONL: Format = Format {
    name: "jsonl",
    documents: "A document on each line",
    extensions: &["jsonl", "ndjson"],
    magic: None,
    copied: |_| CopyOf::Unpacked,
    read: |input, sink| lines::read(input.decoded(), sink),
};

pub static JSON: Format = Format {
    name: "json",
    documents: "An array of documents, or a sequence of documents",
    extensions: &["json"],
    magic: None,
    copied: |_| CopyOf::Unpacked,
    read: |input, sink| {
        let records = input.reading.records.as_deref();
        values::read(input.decoded(), records, sink)
    },
};

pub static CSV: Format = Format {
    name: "csv",
    documents: "A document in each record, with the names of the columns in the first record",
    extensions: &["csv"],
    magic: None,
    copied: |_| CopyOf::Unpacked,
    read: table::read_csv,
};

pub static HTML: Format = Format {
    name: "html",
    documents: "The text of a page",
    extensions: &["html", "htm", "xhtml"],
    magic: None,
    copied: |_| CopyOf::Pages,
    read: html::read,
};

/// All formats.
pub static FORMATS: [&Format; 8] = [
    &TEXT,
    &JSONL,
    &JSON,
    &CSV,
    &Format {
        name: "tsv",
        documents: "As CSV, separated by tabs",
        extensions: &["tsv", "tab"],
        magic: None,
        copied: |_| CopyOf::Unpacked,
        read: |input, sink| table::read(input.decoded(), b'\t', sink),
    },
    &HTML,
    &Format {
        name: "warc",
        documents: "Pages as a crawler saved them (WARC), or their texts (WET)",
        extensions: &["warc", "wet"],
        magic: Some(b"WARC/"),
        copied: |start| match warc::begins_with_texts(start) {
            true => CopyOf::Unpacked,
            false => CopyOf::Pages,
        },
        read: warc::read,
    },
    &Format {
        name: "parquet",
        documents: "A document in each row",
        extensions: &["parquet"],
        magic: Some(PARQUET_MAGIC),
        copied: |_| CopyOf::Unpacked,
        read: parquet::read,
    },
];

impl ValueEnum for &'static Format {
    fn value_variants<'a>() -> &'a [Self] {
        &FORMATS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name).help(self.documents))
    }
}
