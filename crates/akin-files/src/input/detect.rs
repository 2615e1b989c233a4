//! Detects a file's format from its first bytes. Its name decides only where these leave it open.

use clap::ValueEnum;
use encoding_rs::Encoding;

use super::columns::TextColumns;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The whole file is one document
    Text,
    /// A document on each line
    Jsonl,
    /// An array of documents, or a sequence of documents
    Json,
    /// A document in each record, with the names of the columns in the first record
    Csv,
    /// As CSV, separated by tabs
    Tsv,
    /// The text of a page
    Html,
    /// Pages as a crawler saved them (WARC), or their texts (WET)
    Warc,
    /// A document in each row
    Parquet,
}

/// A format, with the separator of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detected {
    /// Separated by this byte.
    Table(u8),
    As(Format),
}

/// The number of first bytes that decide.
pub const START_BYTES: usize = 8 << 10;
pub const NOT_UTF_8: &str =
    "it is not UTF-8: name its encoding by --encoding, such as latin1 or utf-16le";

/// The first bytes of formats that akin does not read, and the advice for each.
const REFUSED: [(&[u8], &str); 13] = [
    (b"BZh", "it is compressed by bzip2: unpack it, or compress it by gzip or zstd"),
    (b"\xfd7zXZ\0", "it is compressed by xz: unpack it, or compress it by gzip or zstd"),
    (b"\x04\x22\x4d\x18", "it is compressed by lz4: unpack it, or compress it by gzip or zstd"),
    (b"PK\x03\x04", "it is a zip archive: unpack it, and name the directory"),
    (b"7z\xbc\xaf", "it is a 7z archive: unpack it, and name the directory"),
    (b"%PDF-", "it is PDF: extract its text first, for instance by pdftotext"),
    (b"ARROW1", "it is Arrow: write it as Parquet"),
    (b"Obj\x01", "it is Avro: write it as Parquet or JSON lines"),
    (b"ORC", "it is ORC: write it as Parquet or JSON lines"),
    (b"\x89HDF", "it is HDF5: write it as Parquet or JSON lines"),
    (b"SQLite format 3", "it is an SQLite database: export a table as CSV"),
    (b"{\\rtf", "it is RTF: save it as text"),
    (b"%!PS", "it is PostScript: extract its text first"),
];

/// The format of a file with these first bytes, decompressed. `Err` is the advice for a format that
/// akin does not read.
pub fn detect(
    start: &[u8],
    name: &str,
    columns: &TextColumns,
    encoding: Option<&'static Encoding>,
) -> Result<Detected, String> {
    if start.starts_with(b"PAR1") {
        return Ok(Detected::As(Format::Parquet));
    }
    if start.starts_with(b"WARC/") {
        return Ok(Detected::As(Format::Warc));
    }
    if let Some((_, what)) = REFUSED.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Err((*what).into());
    }
    if start.get(257..262) == Some(b"ustar") {
        return Err("it is a tar archive: unpack it, and name the directory".into());
    }
    let text = decode(start, encoding);
    let Some(text) = text.as_deref().filter(|text| !text.contains('\0')) else {
        return binary(start);
    };
    of_text(text, name, columns)
}

/// The format by its option, with the separator of the table that a CSV file begins with.
pub fn chosen(format: Format, start: &[u8]) -> Detected {
    match format {
        Format::Csv => Detected::Table(separator(&String::from_utf8_lossy(start))),
        Format::Tsv => Detected::Table(b'\t'),
        format => Detected::As(format),
    }
}

/// `None` if it is not text. The last character may be cut off.
fn decode(start: &[u8], encoding: Option<&'static Encoding>) -> Option<String> {
    let marked = Encoding::for_bom(start);
    let (encoding, skipped) = marked.or(encoding.map(|encoding| (encoding, 0))).unzip();
    let start = &start[skipped.unwrap_or(0)..];
    if let Some(encoding) = encoding.filter(|encoding| *encoding != encoding_rs::UTF_8) {
        return Some(encoding.decode_without_bom_handling(start).0.into_owned());
    }
    match std::str::from_utf8(start) {
        Ok(text) => Some(text.to_owned()),
        Err(cut) if cut.error_len().is_none() && start.len() >= START_BYTES - 4 => {
            Some(String::from_utf8_lossy(&start[..cut.valid_up_to()]).into_owned())
        }
        // An HTML page may name its own encoding.
        Err(_) => Some(String::from_utf8_lossy(start).into_owned())
            .filter(|text| !start.contains(&0) && is_html(&text.to_ascii_lowercase())),
    }
}

fn binary(start: &[u8]) -> Result<Detected, String> {
    match start.contains(&0) {
        true => {
            Err("it is not text: it has a NUL (if it is UTF-16, name that by --encoding)".into())
        }
        false => Err(NOT_UTF_8.into()),
    }
}

fn of_text(text: &str, name: &str, columns: &TextColumns) -> Result<Detected, String> {
    let begins = text.trim_start();
    if begins.is_empty() {
        return Ok(Detected::As(Format::Text));
    }
    if let Some(json) = of_json(begins) {
        return Ok(Detected::As(json));
    }
    let lower = begins.to_ascii_lowercase();
    if is_html(&lower) {
        return Ok(Detected::As(Format::Html));
    }
    if lower.starts_with("<?xml") || lower.starts_with("<!doctype") {
        return Err(
            "it is XML: write its documents as JSON lines, or read it as a single text by \
                    --format text"
                .into(),
        );
    }
    if let Some(separator) = table(begins, columns) {
        return Ok(Detected::Table(separator));
    }
    match extension(name) {
        "jsonl" | "ndjson" => Ok(Detected::As(Format::Jsonl)),
        "csv" | "tsv" | "tab" => Ok(Detected::Table(separator(begins))),
        extension @ ("parquet" | "warc" | "wet" | "json") => {
            let begins = match extension {
                "json" => "an object, nor with an array of objects",
                "parquet" => "PAR1, as Parquet does",
                _ => "WARC/, as records of a crawl do",
            };
            Err(format!(
                "it is named .{extension} and does not begin with {begins}; --format text reads \
                 it as a single text"
            ))
        }
        _ => Ok(Detected::As(Format::Text)),
    }
}

/// Objects on lines of their own are lines of JSON; an object over several lines is not.
fn of_json(begins: &str) -> Option<Format> {
    let inner = begins.strip_prefix(['{', '['])?.trim_start();
    if begins.starts_with('[') {
        return (inner.starts_with('{') || inner.trim_end() == "]").then_some(Format::Json);
    }
    if !inner.starts_with(['"', '}']) {
        return None;
    }
    let Some((first, _)) = begins.split_once('\n') else { return Some(Format::Jsonl) };
    let is_whole = serde_json::from_str::<serde::de::IgnoredAny>(first).is_ok();
    Some(if is_whole { Format::Jsonl } else { Format::Json })
}

fn is_html(lower: &str) -> bool {
    const TAGS: [&str; 14] = [
        "html", "head", "body", "title", "meta", "div", "p", "h1", "h2", "table", "article",
        "main", "section", "span",
    ];
    let begins = lower.trim_start();
    let head: String = begins.chars().take(1024).collect();
    if begins.starts_with("<?xml") || begins.starts_with("<!--") {
        return head.contains("<html") || head.contains("<!doctype html");
    }
    let tag = |tag: &&str| {
        let rest = begins.strip_prefix('<').and_then(|rest| rest.strip_prefix(*tag));
        rest.is_some_and(|rest| rest.starts_with(|c: char| c == '>' || c.is_ascii_whitespace()))
    };
    begins.starts_with("<!doctype html") || TAGS.iter().any(tag)
}

/// The separator of a table, if its first line has the column of the texts.
fn table(begins: &str, columns: &TextColumns) -> Option<u8> {
    let first = begins.lines().next()?;
    [b',', b'\t', b';', b'|'].into_iter().find(|separator| {
        let cells: Vec<_> = first.split(*separator as char).map(unquoted).collect();
        let has = |name: &str| cells.contains(&name);
        cells.len() > 1 && has(columns.text_name()) && columns.id.as_deref().is_none_or(has)
    })
}

/// The most frequent separator of the first line.
fn separator(begins: &str) -> u8 {
    let first = begins.lines().next().unwrap_or_default();
    let count = |separator: &u8| first.bytes().filter(|byte| byte == separator).count();
    // Of equal counts the last is the maximum.
    [b'|', b';', b'\t', b','].into_iter().max_by_key(count).unwrap_or(b',')
}

fn unquoted(cell: &str) -> &str {
    cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).unwrap_or(cell)
}

/// The part after the last dot, before `.gz` and `.zst`: `csv` of `a.csv.gz`.
pub fn extension(name: &str) -> &str {
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
    let name = name.rsplit_once('/').map_or(name, |(_, name)| name);
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(start: &[u8], name: &str) -> Result<Detected, String> {
        detect(start, name, &TextColumns::default(), None)
    }

    #[test]
    fn formats_are_detected_from_first_bytes() {
        for (start, format) in [
            ("{\"id\": 1}\n{\"id\"", Format::Jsonl),
            ("{\"id\": 1, \"text\": \"cut", Format::Jsonl),
            ("{\n  \"id\": 1\n}\n", Format::Json),
            (" [\n {\"id\": 1}]", Format::Json),
            ("[]\n", Format::Json),
            ("[1] A note", Format::Text),
            ("{ brace }", Format::Text),
            ("id, text and more", Format::Text),
            ("<!DOCTYPE html><p>", Format::Html),
            ("<?xml version='1.0'?>\n<!DOCTYPE html PUBLIC", Format::Html),
            ("<p class=a>Text", Format::Html),
            ("<project> is a word", Format::Text),
            ("WARC/1.0\r\n", Format::Warc),
            ("PAR1\u{15}", Format::Parquet),
        ] {
            assert_eq!(of(start.as_bytes(), "a.bin"), Ok(Detected::As(format)), "{start}");
        }
        for (start, separator) in
            [("id,text\n", b','), ("\"id\"\t\"text\"\tlang\n", b'\t'), ("text;b", b';')]
        {
            assert_eq!(of(start.as_bytes(), "a"), Ok(Detected::Table(separator)), "{start}");
        }
        let bytes = b"\xff\xfei\0d\0,\0t\0e\0x\0t\0\n\0";
        assert_eq!(of(bytes, "a"), Ok(Detected::Table(b',')));
    }

    #[test]
    fn names_decide_between_possible_formats() {
        assert_eq!(of(b"{broken", "a.jsonl.gz"), Ok(Detected::As(Format::Jsonl)));
        assert_eq!(of(b"url;body", "d.x/a.csv.zst"), Ok(Detected::Table(b';')));
        assert_eq!(of(b"url\tbody", "a.tsv"), Ok(Detected::Table(b'\t')));
        assert!(of(b"some words", "a.parquet").unwrap_err().contains("does not begin with PAR1"));
        assert_eq!(of(b"some words", "changelog.gz"), Ok(Detected::As(Format::Text)));
    }

    #[test]
    fn unsupported_formats_are_refused_with_advice() {
        for (start, what) in [
            (&b"PK\x03\x04.."[..], "unpack"),
            (b"%PDF-1.7", "pdftotext"),
            (b"a\0b", "NUL"),
            (b"caf\xe9 au lait", "--encoding"),
            (b"<?xml version='1.0'?><mediawiki>", "--format text"),
        ] {
            assert!(of(start, "a").unwrap_err().contains(what), "{what}");
        }
        let cut = [&vec![b'a'; START_BYTES - 1][..], "é".as_bytes()].concat();
        assert_eq!(of(&cut[..START_BYTES], "a"), Ok(Detected::As(Format::Text)));
    }
}
