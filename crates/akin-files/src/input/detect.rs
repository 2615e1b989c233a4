//! Finds the format of a file: by the extension of its name, or else by its first bytes. Whether
//! the file is valid is for the reader of the format to say.

use std::borrow::Cow;

use encoding_rs::Encoding;

use super::columns::TextColumns;
use super::event::Stop;
use super::formats::{CSV, FORMATS, Format, HTML, JSON, JSONL, TEXT};
use super::open::split_compression;
use super::separator;

/// The number of first bytes that decide.
pub const START_BYTES: usize = 8 << 10;
pub const NOT_UTF_8: &str =
    "it is not UTF-8: name its encoding by --encoding, such as latin1 or utf-16le";

/// The first bytes of compressed files that akin does not read. What they have is in a format that
/// akin reads if the name says so.
const COMPRESSED: [(&[u8], &str); 3] = [
    (b"BZh", "it is compressed by bzip2: unpack it, or compress it by gzip or zstd"),
    (b"\xfd7zXZ\0", "it is compressed by xz: unpack it, or compress it by gzip or zstd"),
    (b"\x04\x22\x4d\x18", "it is compressed by lz4: unpack it, or compress it by gzip or zstd"),
];

/// The first bytes of corpora in formats that akin does not read, and the advice for each.
const CORPORA: [(&[u8], &str); 5] = [
    (b"filedesc://", "it is ARC: convert it to WARC, for instance by `warcio recompress`"),
    (b"ARROW1", ARROW),
    (b"\xff\xff\xff\xff", ARROW),
    (b"Obj\x01", "it is Avro: write it as Parquet or JSON lines"),
    (b"ORC\x08", "it is ORC: write it as Parquet or JSON lines"),
];

const ARROW: &str = "it is Arrow: write it as Parquet (datasets: load_from_disk(…).to_parquet(…))";

/// The first bytes of other files that akin does not read, and the advice for each.
const OTHER: [(&[u8], &str); 7] = [
    (b"PK\x03\x04", "it is a zip archive: unpack it, and name the directory"),
    (b"7z\xbc\xaf", "it is a 7z archive: unpack it, and name the directory"),
    (b"%PDF-", "it is PDF: extract its text first, for instance by pdftotext"),
    (b"\x89HDF", "it is HDF5: write it as Parquet or JSON lines"),
    (b"SQLite format 3", "it is an SQLite database: export a table as CSV"),
    (b"{\\rtf", "it is RTF: save it as text"),
    (b"%!PS", "it is PostScript: extract its text first"),
];

/// The format of a file with this name and these first bytes, decompressed.
///
/// # Errors
/// [`Stop::Failed`] for a corpus that is not read, [`Stop::NotRead`] for any other file; both with
/// advice.
pub fn detect(
    start: &[u8],
    name: &str,
    columns: &TextColumns,
    encoding: Option<&'static Encoding>,
) -> Result<&'static Format, Stop> {
    let text = decode(start, encoding);
    if let Some(format) = of_name(name) {
        let is_json = format.name == JSON.name;
        let found = if is_json { of_json(text.trim_start()) } else { None };
        return Ok(found.unwrap_or(format));
    }
    if let Some(format) = of_magic(start) {
        return Ok(format);
    }
    refuse_other(start, name)?;
    if let Some(format) = of_text(&text, columns)? {
        return Ok(format);
    }
    if text.contains('\0') || !is_text(start) && is_wrong_utf_8(start, encoding) {
        return Err(Stop::NotRead(
            "it is not text: it has a NUL or other control characters (if it is UTF-16, name that \
             by --encoding)"
                .into(),
        ));
    }
    match is_wrong_utf_8(start, encoding) {
        true => Err(failed(NOT_UTF_8)),
        false => Ok(&TEXT),
    }
}

fn failed(reason: &str) -> Stop {
    Stop::Failed { line: None, reason: reason.into() }
}

/// The format that the extension of a name says.
pub fn of_name(name: &str) -> Option<&'static Format> {
    let extension = extension(name);
    let has = |format: &&Format| {
        format.extensions.iter().any(|known| extension.eq_ignore_ascii_case(known))
    };
    FORMATS.into_iter().find(has)
}

/// The format that the first bytes of a file say, whatever its name.
pub fn of_magic(start: &[u8]) -> Option<&'static Format> {
    let has = |format: &&Format| format.magic.is_some_and(|magic| start.starts_with(magic));
    FORMATS.into_iter().find(has)
}

fn refuse_other(start: &[u8], name: &str) -> Result<(), Stop> {
    let advice = |table: &[(&[u8], &'static str)]| {
        table.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, advice)| *advice)
    };
    if let Some(advice) = advice(&COMPRESSED) {
        let unpacked = name.rsplit_once('.').map_or("", |(unpacked, _)| unpacked);
        return Err(match of_name(unpacked) {
            Some(_) => failed(advice),
            None => Stop::NotRead(advice.into()),
        });
    }
    if let Some(advice) = advice(&CORPORA) {
        return Err(failed(advice));
    }
    if let Some(advice) = advice(&OTHER) {
        return Err(Stop::NotRead(advice.into()));
    }
    match start.get(257..262) == Some(b"ustar") {
        true => Err(Stop::NotRead("it is a tar archive: unpack it, and name the directory".into())),
        false => Ok(()),
    }
}

/// Invalid bytes are replaced: they are for the reader to report.
pub fn decode<'s>(start: &'s [u8], encoding: Option<&'static Encoding>) -> Cow<'s, str> {
    let (encoding, bytes) = Encoding::for_bom(start)
        .or(encoding.map(|encoding| (encoding, 0)))
        .unwrap_or((encoding_rs::UTF_8, 0));
    encoding.decode_without_bom_handling(&start[bytes..]).0
}

/// Whether the bytes should be UTF-8 and are not. The last character may be cut off.
fn is_wrong_utf_8(start: &[u8], encoding: Option<&'static Encoding>) -> bool {
    let encoding = Encoding::for_bom(start).map(|(encoding, _)| encoding).or(encoding);
    encoding.is_none_or(|encoding| encoding == encoding_rs::UTF_8)
        && std::str::from_utf8(start)
            .is_err_and(|error| error.error_len().is_some() || start.len() < START_BYTES - 4)
}

/// Whether there is no control character that is not in texts, in whatever encoding that contains
/// ASCII.
pub fn is_text(bytes: &[u8]) -> bool {
    !bytes.iter().copied().any(is_control)
}

/// Whether the byte is a control character that is not in texts.
pub fn is_control(byte: u8) -> bool {
    byte < b' ' && !matches!(byte, 8..=0x0d | 0x1b) || byte == 0x7f
}

/// `None` if it may be plain text.
fn of_text(text: &str, columns: &TextColumns) -> Result<Option<&'static Format>, Stop> {
    let begins = text.trim_start();
    if let Some(json) = of_json(begins) {
        return Ok(Some(json));
    }
    let lower = begins.to_ascii_lowercase();
    if is_html(&lower) {
        return Ok(Some(&HTML));
    }
    if lower.starts_with("<?xml") || lower.starts_with("<!doctype") {
        return Err(Stop::NotRead(
            "it is XML: write its documents as JSON lines, or read it as a single text by \
             --format text"
                .into(),
        ));
    }
    Ok(separator::of_table(begins, columns).map(|_| &CSV))
}

/// Objects on lines of their own are lines of JSON; an object over several lines is not. Some of
/// the lines may be broken.
fn of_json(begins: &str) -> Option<&'static Format> {
    let lines: Vec<&str> = begins.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_json = |line: &str| serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok();
    let is_object = |line: &str| line.starts_with('{') && line.ends_with('}');
    let is_closed = |line: &str| line.matches('{').count() == line.matches('}').count();
    let objects = lines.iter().filter(|line| is_object(line));
    if let Some(inner) = begins.strip_prefix('[').map(str::trim_start) {
        return (inner.starts_with('{') || inner.trim_end() == "]").then_some(&JSON);
    }
    match begins.strip_prefix('{').map(str::trim_start) {
        Some(inner) if inner.starts_with(['"', '}']) => {
            let whole = objects.filter(|line| is_closed(line) || is_json(line)).count();
            let is_lines = lines.len() == 1 || 2 * whole >= lines.len();
            Some(if is_lines { &JSONL } else { &JSON })
        }
        // The first line is broken.
        _ => {
            let whole = objects.filter(|line| is_json(line)).count();
            (whole > 0 && 2 * whole >= lines.len()).then_some(&JSONL)
        }
    }
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

/// The part after the last dot, before the extension of a compression: `csv` of `a.csv.gz`.
pub fn extension(name: &str) -> &str {
    let (name, _) = split_compression(name);
    let name = name.rsplit_once('/').map_or(name, |(_, name)| name);
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(start: &[u8], name: &str) -> Result<&'static str, String> {
        let format = detect(start, name, &TextColumns::default(), None);
        format.map(|format| format.name).map_err(|stop| match stop {
            Stop::Failed { reason, .. } => format!("failed: {reason}"),
            Stop::NotRead(reason) => format!("not read: {reason}"),
            Stop::Empty | Stop::Cancelled => panic!("a format is detected or refused"),
        })
    }

    #[test]
    fn formats_are_detected_from_first_bytes() {
        for (start, format) in [
            ("{\"id\": 1}\n{\"id\"", "jsonl"),
            ("{\"id\": 1, \"text\": \"cut", "jsonl"),
            ("{\n  \"id\": 1\n}\n", "json"),
            (" [\n {\"id\": 1}]", "json"),
            ("[]\n", "json"),
            ("[1] A note", "text"),
            ("{ brace }", "text"),
            ("id, text and more", "text"),
            ("ORC and %PDF are words", "text"),
            ("<!DOCTYPE html><p>", "html"),
            ("<?xml version='1.0'?>\n<!DOCTYPE html PUBLIC", "html"),
            ("<p class=a>Text", "html"),
            ("<project> is a word", "text"),
            ("WARC/1.0\r\n", "warc"),
            ("PAR1\u{15}", "parquet"),
        ] {
            assert_eq!(of(start.as_bytes(), "a.bin"), Ok(format), "{start}");
        }
        for start in [
            "id,text\n",
            "\"id\"\t\"text\"\tlang\n",
            "text;b",
            "\"a, \"\"b\"\"\",\"text\"\n1,2\n",
            "\"a,text,b\";\"text\"\n1;2\n",
        ] {
            assert_eq!(of(start.as_bytes(), "a"), Ok("csv"), "{start}");
        }
        let bytes = b"\xff\xfei\0d\0,\0t\0e\0x\0t\0\n\0";
        assert_eq!(of(bytes, "a"), Ok("csv"));
    }

    #[test]
    fn names_decide() {
        assert_eq!(of(b"{broken", "a.jsonl.gz"), Ok("jsonl"));
        assert_eq!(of(b"\0\xff", "a.JSONL"), Ok("jsonl"));
        assert_eq!(of(b"url;body", "d.x/a.csv.zst"), Ok("csv"));
        assert_eq!(of(b"\"a,b,c\";body", "a.csv"), Ok("csv"));
        assert_eq!(of(b"url\tbody,a,b", "a.tsv"), Ok("tsv"));
        assert_eq!(of(b"some words", "a.parquet"), Ok("parquet"));
        assert_eq!(of(b"{\"text\": 1}", "a.txt"), Ok("text"));
        assert_eq!(of(b"<p>words", "readme.md"), Ok("text"));
        assert_eq!(of(b"{\"text\": 1}\n{}", "c4.json.gz"), Ok("jsonl"));
        assert_eq!(of(b"7", "a.json"), Ok("json"));
        assert_eq!(of(b"some words", "changelog.gz"), Ok("text"));
    }

    #[test]
    fn invalid_first_records_do_not_hide_a_format() {
        for lines in [
            &b"{\"id\":\"a\",\"text\":\"caf\xe9\"}\n"[..],
            b"{\"id\":\"a\",\"text\":\"\0\"}\n",
            b"{\"id\":\"a\",\"text\":\"cut\n{\"id\":\"b\",\"text\":\"x\"}\n",
            b"{\"id\":NaN,\"text\":\"x\"}\n{\"id\":\"b\",\"text\":\"x\"}\n",
            b"cut\"}\n{\"id\":\"b\",\"text\":\"x\"}\n",
        ] {
            assert_eq!(of(lines, "data"), Ok("jsonl"), "{lines:?}");
        }
        assert_eq!(of(b"id,text\na,caf\xe9\n", "data"), Ok("csv"));
        assert_eq!(of(b"<html>caf\xe9", "data"), Ok("html"));
        let nested = b"{\"data\": [\n{\"id\": 1},\n{\"id\": 2}\n]}";
        assert_eq!(of(nested, "data"), Ok("json"));
    }

    #[test]
    fn unsupported_formats_are_refused_with_advice() {
        for (start, name, what) in [
            (&b"PK\x03\x04.."[..], "a", "not read: it is a zip"),
            (b"%PDF-1.7", "a", "not read: it is PDF"),
            (b"a\0b", "a", "not read: it is not text: it has a NUL"),
            (b"\x89PNG\r\n\x1a\n", "a.png", "not read: it is not text"),
            (b"BZh91AY", "a.tar.bz2", "not read: it is compressed by bzip2"),
            (b"BZh91AY", "a.jsonl.bz2", "failed: it is compressed by bzip2"),
            (b"ARROW1\0\0", "a", "failed: it is Arrow"),
            (b"\xff\xff\xff\xff\x10\0", "d/data-00000.arrow", "failed: it is Arrow"),
            (b"filedesc://a.arc 0.0.0.0", "a.arc.gz", "failed: it is ARC"),
            (b"caf\xe9 au lait", "a", "failed: it is not UTF-8"),
            (b"<?xml version='1.0'?><mediawiki>", "a", "not read: it is XML"),
        ] {
            let advice = of(start, name).unwrap_err();
            assert!(advice.starts_with(what), "{what}: {advice}");
        }
        let cut = [&vec![b'a'; START_BYTES - 1][..], "é".as_bytes()].concat();
        assert_eq!(of(&cut[..START_BYTES], "a"), Ok("text"));
    }
}
