//! Files that break off: each is named, at whichever byte it breaks off.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use super::read;

/// Cuts a file at these places, each of which has to be named: by the reader of the file, or as a
/// line that is no JSON, which is null here.
#[track_caller]
fn names_cuts(name: &str, whole: &[u8], cuts: impl IntoIterator<Item = usize>) {
    let (documents, failures) = read(name, whole);
    assert_eq!((documents.is_empty(), failures), (false, vec![]), "{name}");
    for cut in cuts {
        let (found, failures) = read(name, &whole[..cut]);
        let is_named = !failures.is_empty() || found.contains(&Value::Null);
        assert!(is_named, "{name}, after {cut} of {} bytes", whole.len());
        let is_whole = |document: &_| documents.contains(document);
        assert!(
            found.iter().all(|it| it.is_null() || is_whole(it)),
            "{name}, after {cut}: {found:?}"
        );
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

#[test]
fn a_compressed_file_that_breaks_off_is_named() {
    let lines = "{\"id\":\"a\",\"text\":\"one\"}\n{\"id\":\"b\",\"text\":\"two\"}\n".as_bytes();
    for (name, pack) in [("x.jsonl.gz", gzip as fn(&[u8]) -> Vec<u8>), ("x.jsonl.zst", zstd)] {
        let packed = pack(lines);
        names_cuts(name, &packed, 1..packed.len());
        // At its joint the file is whole.
        let twice = [packed.clone(), pack(b"{\"id\":\"c\",\"text\":\"three\"}\n")].concat();
        names_cuts(name, &twice, packed.len() + 1..twice.len());
    }
}

#[test]
fn json_that_breaks_off_is_named() {
    let array = "[{\"id\":\"a\",\"text\":\"caf\u{e9}\"}, {\"id\":\"b\",\"text\":\"two\"}]";
    names_cuts("x.json", array.as_bytes(), 1..array.len());
    let object = &array[1..array.len() - 1].replace(", ", "\n");
    let joint = object.find('\n').unwrap();
    names_cuts(
        "x.json",
        object.as_bytes(),
        (1..object.len()).filter(|cut| !(joint..joint + 2).contains(cut)),
    );
    names_cuts(
        "x.jsonl",
        object.as_bytes(),
        (1..object.len()).filter(|cut| !(joint..joint + 2).contains(cut)),
    );
}

#[test]
fn a_table_whose_last_quote_is_not_closed_is_named() {
    for (name, table) in [
        ("x.csv", "id,text\na,\"one, \"\"1\"\"\"\nb,\"two\nlines\"\n"),
        ("x.csv", "id,text,n\na,\"one\",1\nb,\"two\nlines\",2"),
        ("x.tsv", "id\ttext\na\tone\nb\t\"two\nlines\"\r\n"),
    ] {
        let last = table.find("\nb").unwrap() + 4;
        names_cuts(name, table.as_bytes(), last..table.rfind('"').unwrap());
    }
    let (documents, failures) = read("x.csv", b"id,text\na,one\nb,\"two\nc,three\n");
    assert_eq!((documents.len(), failures.len()), (1, 1));
    assert!(failures[0].contains("a quote is not closed"), "{failures:?}");
    let (documents, failures) = read("x.csv", b"id,\"text\na,one\n");
    assert_eq!((documents.len(), failures.len()), (0, 1));
    assert!(failures[0].contains("a quote is not closed"), "{failures:?}");
    for blank in ["\n", "\r\n\n", "\u{feff}", "\u{feff}\n"] {
        for name in ["x.csv", "x.tsv"] {
            let (documents, failures) = read(name, blank.as_bytes());
            assert_eq!((documents.len(), failures.len()), (0, 1), "{name} {blank:?}");
            assert!(failures[0].contains("there is no column 'text'"), "{blank:?}: {failures:?}");
        }
    }
    // Blank lines in quotes, and blank lines at the end, are no fault.
    for whole in ["id,text\na,\"one\n\n\"", "id,text\na,\"one\n\n\"\n\n\n", "id,text\na,one\n\n"] {
        let (documents, failures) = read("x.csv", whole.as_bytes());
        assert_eq!((documents.len(), failures), (1, vec![]), "{whole:?}");
    }
}

#[test]
fn a_character_that_breaks_off_is_named() {
    let utf_16: Vec<u8> = "\u{feff}two words".encode_utf16().flat_map(u16::to_le_bytes).collect();
    names_cuts("x.txt", &utf_16, (3..utf_16.len()).step_by(2));
    names_cuts("x.txt", "caf\u{e9}".as_bytes(), [4]);
    names_cuts("x.csv", "id,text\na,one\nb,caf\u{e9}".as_bytes(), [20]);
}

/// A page is read as browsers read it, with a mark in place of the character.
#[test]
#[cfg(feature = "html")]
fn a_page_that_breaks_off_within_a_character_keeps_its_encoding() {
    let (documents, failures) = read("x.html", &"<p>Caf\u{e9}, caf\u{e9}".as_bytes()[..14]);
    assert_eq!((&documents[0]["text"], failures), (&"Caf\u{e9}, caf\u{fffd}".into(), vec![]));
}

#[test]
fn a_crawl_that_breaks_off_is_named() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nA page.";
    let record = |answer: &str| {
        format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x>\r\n\
             Content-Type: application/http\r\nContent-Length: {}\r\n\r\n{answer}\r\n\r\n",
            answer.len()
        )
    };
    let whole = record(answer);
    names_cuts("x.warc", whole.as_bytes(), 1..whole.len() - 4);
    // The record is whole, but the head of the answer in it is not.
    let head = answer.find("\r\n\r\n").unwrap();
    for cut in [17, 20, head, head + 2] {
        let (documents, failures) = read("x.warc", record(&answer[..cut]).as_bytes());
        assert_eq!((documents.len(), failures.len()), (0, 1), "{cut}: {failures:?}");
    }
    for (name, failures) in [("image/png", 0), ("image/png\r\n", 0), ("te", 1)] {
        let cut = record(&format!("HTTP/1.1 200 OK\r\nContent-Type: {name}"));
        let (documents, found) = read("x.warc", cut.as_bytes());
        assert_eq!((documents.len(), found.len()), (0, failures), "{name}: {found:?}");
    }
}
