//! Corpora as crawls come: Parquet, WARC, WET, pages.

use std::fs;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use serde_json::json;

use crate::akin;
use crate::formats::{import, imported, refused};
use crate::inputs::{gz, put};

/// A file like those of FineWeb: texts, ids, and columns of several types.
pub fn fine_web(rows: usize) -> Vec<u8> {
    let schema = "message schema {
        REQUIRED BYTE_ARRAY text (STRING);
        OPTIONAL BYTE_ARRAY id (STRING);
        OPTIONAL BYTE_ARRAY dump (STRING);
        OPTIONAL DOUBLE language_score;
        OPTIONAL INT64 token_count;
        REQUIRED GROUP tags (LIST) { REPEATED GROUP list { REQUIRED INT32 element; } }
    }";
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(vec![KeyValue::new("made".into(), "by a test".to_owned())]));
    let mut file = Vec::new();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer =
        SerializedFileWriter::new(&mut file, schema, properties.build().into()).unwrap();
    for half in [0..rows / 2, rows / 2..rows] {
        let mut group = writer.next_row_group().unwrap();
        let texts = |text: &dyn Fn(usize) -> String| -> Vec<ByteArray> {
            half.clone().map(|n| ByteArray::from(text(n).into_bytes())).collect()
        };
        let words = |n: usize| {
            // Rows come in pairs that differ in one word of sixty.
            let word = |at: usize| format!("w{}x{at}", if at == 0 { n } else { n / 2 * 1000 });
            (0..60).map(word).collect::<Vec<_>>().join(" ")
        };
        let there = vec![1_i16; half.len()];
        let mut column = |write: &dyn Fn(&mut SerializedColumnWriter<'_>)| {
            let mut column = group.next_column().unwrap().unwrap();
            write(&mut column);
            column.close().unwrap();
        };
        column(&|c| {
            c.typed::<ByteArrayType>().write_batch(&texts(&words), None, None).unwrap();
        });
        column(&|c| {
            let ids = texts(&|n| format!("<urn:uuid:{n}>"));
            c.typed::<ByteArrayType>().write_batch(&ids, Some(&there), None).unwrap();
        });
        column(&|c| {
            // No row has a dump.
            let absent = vec![0; half.len()];
            c.typed::<ByteArrayType>().write_batch(&[], Some(&absent), None).unwrap();
        });
        column(&|c| {
            let scores = vec![0.5; half.len()];
            c.typed::<DoubleType>().write_batch(&scores, Some(&there), None).unwrap();
        });
        column(&|c| {
            let counts: Vec<i64> = half.clone().map(|n| n as i64).collect();
            c.typed::<Int64Type>().write_batch(&counts, Some(&there), None).unwrap();
        });
        column(&|c| {
            // Row n has the tags n and n + 1.
            let tags: Vec<i32> = half.clone().flat_map(|n| [n as i32, n as i32 + 1]).collect();
            let (defined, repeated) = (vec![1; tags.len()], [0, 1].repeat(half.len()));
            c.typed::<Int32Type>().write_batch(&tags, Some(&defined), Some(&repeated)).unwrap();
        });
        group.close().unwrap();
    }
    writer.close().unwrap();
    file
}

#[test]
fn a_parquet_file_of_fineweb_is_imported() {
    let file = fine_web(300);
    let documents = imported(&file, &[]);
    assert_eq!(documents.len(), 300);
    let known = |n: usize| {
        let id = json!(format!("<urn:uuid:{n}>"));
        documents.iter().find(|document| document["id"] == id).unwrap()
    };
    assert!(known(7)["text"].as_str().unwrap().starts_with("w7x0 w3000x1 "));
    let metadata = json!({"dump": null, "language_score": 0.5, "token_count": 7, "tags": [7, 8]});
    assert_eq!(known(7)["metadata"], metadata);
    let pruned = imported(&file, &["--metadata-columns", "token_count"]);
    assert!(pruned.iter().all(|document| document["metadata"].as_object().unwrap().len() == 1));
    refused(&file, &["--text-column", "body"], "there is no column 'body' but text, id, dump");
    let (documents, ended) = import(&file[..file.len() - 4], &[]);
    assert_eq!((documents.len(), ended.code), (0, Some(1)), "{}", ended.stderr);
    assert!(ended.stderr.contains("data: "), "{}", ended.stderr);
}

/// Texts and ids lie within a column `doc`; each row has a list of tags, too.
fn nested_parquet() -> Vec<u8> {
    let schema = "message schema {
        OPTIONAL GROUP doc {
            REQUIRED BYTE_ARRAY text (STRING);
            REQUIRED GROUP meta { REQUIRED INT64 number; }
        }
        REQUIRED GROUP tags (LIST) { REPEATED GROUP list { REQUIRED INT32 element; } }
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = |write: &dyn Fn(&mut SerializedColumnWriter<'_>)| {
        let mut column = group.next_column().unwrap().unwrap();
        write(&mut column);
        column.close().unwrap();
    };
    let texts = ["one two three four", "one two three four", "something else here"];
    let texts = texts.map(|text| ByteArray::from(text.as_bytes().to_vec()));
    let there = Some(&[1_i16; 3][..]);
    column(&|c| {
        c.typed::<ByteArrayType>().write_batch(&texts, there, None).unwrap();
    });
    column(&|c| {
        c.typed::<Int64Type>().write_batch(&[7, 8, 9], there, None).unwrap();
    });
    column(&|c| {
        c.typed::<Int32Type>().write_batch(&[1, 2, 3], there, Some(&[0; 3])).unwrap();
    });
    group.close().unwrap();
    writer.close().unwrap();
    file
}

#[test]
fn parquet_columns_may_lie_within_others() {
    let file = nested_parquet();
    let columns = ["--text-column", "doc.text", "--id-column", "doc.meta.number"];
    let documents = imported(&file, &columns);
    let metadata = json!({"doc": {"meta": {}}, "tags": [2]});
    let expected = json!({"id": "8", "text": "one two three four", "metadata": metadata});
    assert_eq!((documents.len(), &documents[1]), (3, &expected));
    let dir = tempfile::tempdir().unwrap();
    let path = put(dir.path(), "nested.parquet", &file);
    let pairs = akin(&[&["pairs", &path], &columns[..]].concat());
    assert_eq!(pairs.stdout, "7\t8\t1.000000000\n", "{}", pairs.stderr);
    for absent in ["doc.body", "doc.text.x", "tags.list"] {
        refused(&file, &["--text-column", absent], &format!("no column '{absent}' but doc, tags"));
    }
}

/// A row with a text and a time, which is a number of this unit.
fn timed_parquet(unit: &str, time: i64) -> Vec<u8> {
    let schema = format!(
        "message schema {{
            REQUIRED BYTE_ARRAY text (STRING);
            REQUIRED INT64 date (TIMESTAMP({unit},true));
        }}"
    );
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let text = ByteArray::from("a page of some words".as_bytes().to_vec());
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<ByteArrayType>().write_batch(&[text], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&[time], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    file
}

/// The nanoseconds of 1999 are a higher number than the microseconds of 2026.
#[test]
fn the_newest_row_is_kept_whatever_the_unit_of_its_time() {
    let dir = tempfile::tempdir().unwrap();
    let old = put(dir.path(), "old.parquet", timed_parquet("NANOS", 915_148_800_000_000_000));
    let new = put(dir.path(), "new.parquet", timed_parquet("MICROS", 1_767_225_600_000_000));
    for inputs in [[&old, &new], [&new, &old]] {
        let ended = akin(&["dedup", inputs[0], inputs[1], "--keep", "newest"]);
        let kept: Vec<&str> = ended.stdout.lines().collect();
        assert_eq!(kept.len(), 1, "{}", ended.stderr);
        assert!(kept[0].contains("2026-01-01"), "{}", kept[0]);
    }
}

/// No writer here compresses by brotli, so the metadata of the column `text` is changed to say so:
/// in Thrift's compact protocol the codec, an i32 whose value is doubled, follows the path.
fn with_codec(snappy: &[u8], codec: u8) -> Vec<u8> {
    const OF_TEXT: &[u8] = b"\x18\x04text\x15\x02";
    let mut file = snappy.to_vec();
    let places: Vec<_> = (0..file.len()).filter(|at| snappy[*at..].starts_with(OF_TEXT)).collect();
    assert_eq!(places.len(), 2, "a chunk in each row group");
    for at in places {
        file[at + OF_TEXT.len() - 1] = 2 * codec;
    }
    file
}

#[test]
fn brotli_within_parquet_is_refused_by_name() {
    let file = fine_web(2);
    for (codec, name) in [(4, "brotli"), (3, "LZO")] {
        let why = format!("the column 'text' is compressed by {name}, which is not read");
        refused(&with_codec(&file, codec), &[], &why);
    }
}

#[test]
fn damaged_parquet_is_an_error() {
    let file = fine_web(20);
    let dir = tempfile::tempdir().unwrap();
    for at in (4..file.len()).step_by(file.len() / 40) {
        let mut damaged = file.clone();
        damaged[at] ^= 0xff;
        let name = put(dir.path(), "data", damaged);
        let out = dir.path().join("out.parquet");
        let out = ["-o", out.to_str().unwrap(), "--force"];
        let ended = akin(&[&["dedup", &name, "--duplicate-ids", "keep-first"], &out[..]].concat());
        assert!(matches!(ended.code, Some(0 | 1)), "{at}: {:?} {}", ended.code, ended.stderr);
        let reported = ended.stderr.contains("error: ");
        assert_eq!(reported, ended.code == Some(1), "{at}: {}", ended.stderr);
        assert!(!ended.stderr.contains("panicked"), "{at}: {}", ended.stderr);
    }
}

fn record(kind: &str, content: &str, n: usize, block: &[u8]) -> Vec<u8> {
    let head = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: https://a.example/{n}\r\n\
         WARC-Date: 2024-05-18T01:58:10Z\r\nWARC-Record-ID: <urn:uuid:{n}>\r\n\
         Content-Type: {content}\r\nContent-Length: {}\r\n\r\n",
        block.len()
    );
    [head.as_bytes(), block, b"\r\n\r\n"].concat()
}

#[test]
fn the_texts_and_pages_of_a_crawl_are_read() {
    let text = |n: usize| format!("Page {n}\nhas a text.\n");
    let mut wet = record("warcinfo", "application/warc-fields", 0, b"software: x\r\n\r\n");
    let texts = (1..4).map(|n| record("conversion", "text/plain", n, text(n).as_bytes()));
    wet.extend(texts.flatten());
    let documents = imported(&wet, &[]);
    let metadata = json!({"url": "https://a.example/2", "date": "2024-05-18T01:58:10Z"});
    let expected =
        json!({"id": "<urn:uuid:2>", "text": "Page 2\nhas a text.", "metadata": metadata});
    assert_eq!((documents.len(), &documents[1]), (3, &expected));
    // A record of a crawl is a member of its own.
    let members: Vec<u8> = (1..4)
        .flat_map(|n| gz(&record("conversion", "text/plain", n, text(n).as_bytes())))
        .collect();
    let options = ["--id-column", "url", "--metadata-columns", ""];
    let (documents, _) = import(&members, &options);
    assert_eq!(documents[2], json!({"id": "https://a.example/3", "text": "Page 3\nhas a text."}));
    assert_eq!(documents.len(), 3);

    let page = b"<html><title>T\xe9</title><nav>Menu</nav><p>Caf\xe9 page.</p></html>";
    let answer =
        |head: &str, body: &[u8]| [format!("HTTP/1.1 {head}\r\n\r\n").as_bytes(), body].concat();
    let html = "200 OK\r\nContent-Type: text/html; charset=latin1";
    let chunks = [
        b"5\r\n",
        &page[..5],
        b"\r\n",
        format!("{:x}\r\n", page.len() - 5).as_bytes(),
        &page[5..],
        b"\r\n0\r\n\r\n",
    ]
    .concat();
    let blocks = [
        answer(html, page),
        answer(&format!("{html}\r\nTransfer-Encoding: chunked"), &chunks),
        answer(&format!("{html}\r\nContent-Encoding: gzip"), &gz(page)),
        answer("404 Not Found\r\nContent-Type: text/html", page),
        answer("200 OK\r\nContent-Type: image/png", page),
    ];
    let warc: Vec<u8> = (1..)
        .zip(&blocks)
        .flat_map(|(n, block)| record("response", "application/http; msgtype=response", n, block))
        .collect();
    let documents = imported(&warc, &["--metadata-columns", "title"]);
    let ids: Vec<_> = documents.iter().map(|document| &document["id"]).collect();
    assert_eq!(ids, ["<urn:uuid:1>", "<urn:uuid:2>", "<urn:uuid:3>"]);
    for document in documents {
        assert_eq!(
            (&document["text"], &document["metadata"]),
            (&json!("Café page."), &json!({"title": "Té"}))
        );
    }
    let (documents, ended) = import(&wet[..wet.len() - 12], &[]);
    assert_eq!((documents.len(), ended.code), (2, Some(1)), "{}", ended.stderr);
    assert!(ended.stderr.contains("data:4: the record is cut off"), "{}", ended.stderr);
}

#[test]
fn equal_menus_do_not_make_near_duplicates() {
    let dir = tempfile::tempdir().unwrap();
    let entry = |n| format!("<li><a href='/{n}'>Topic {n} more</a></li>");
    let menu = (0..80).map(entry).collect::<Vec<_>>().concat();
    let page = |n: usize| {
        let words: Vec<String> = (0..120).map(|at| format!("word{}, ", n * 1000 + at)).collect();
        let words = words.concat();
        format!(
            "<!DOCTYPE html><html><head><title>Page {n}</title><script>f()</script></head><body>\
             <nav><ul>{menu}</ul></nav><div class=\"sidebar menu\"><ul>{menu}</ul></div>\
             <article><h1>Page {n}</h1><p>{words}</p><p>{words}</p></article></body></html>"
        )
    };
    for n in 0..4 {
        put(dir.path(), &format!("pages/{n}.html"), page(n));
    }
    put(dir.path(), "pages/copy", page(3).replace("word3007", "changed").replace("f()", "g()"));
    let pages = dir.path().join("pages");
    let run = |options: &[&str]| {
        let ended = akin(
            &[
                &["pairs", pages.to_str().unwrap(), "--threshold", "0.6", "--mode", "exact"],
                options,
            ]
            .concat(),
        );
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended.stdout.lines().count()
    };
    assert_eq!(run(&["--format", "text"]), 10, "sources are alike");
    assert_eq!(run(&["--extract", "main"]), 1);
    // A menu that is not marked up as navigation is seen.
    let marked =
        |text: String| text.replace("<div class=\"sidebar menu\">", "<div role=\"navigation\">");
    for entry in fs::read_dir(&pages).unwrap() {
        let path = entry.unwrap().path();
        fs::write(&path, marked(fs::read_to_string(&path).unwrap())).unwrap();
    }
    assert_eq!(run(&[]), 1);
}
