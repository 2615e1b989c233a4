//! Values of Parquet, some of them against those that pyarrow reads (`parquet_types.py`).

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{
    ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type,
};
use parquet::file::reader::ChunkReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::{Value, json};

use super::super::columns::TextColumns;
use super::super::copies::InputCopies;
use super::super::file_part::FilePart;
use super::super::options::Reading;
use super::super::selection::Selection;
use super::super::tests::read_with;

/// A value of a column.
enum Cell {
    Bytes(Vec<u8>),
    Fixed(Vec<u8>),
    Int(i32),
    Long(i64),
}

/// A row of these columns, each of a type as `parse_message_type` takes it, read as a document.
fn read(columns: &[(&str, Cell)], id: Option<&str>) -> (Vec<Value>, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows.parquet");
    write(&path, columns);
    let columns = TextColumns { id: id.map(str::to_owned), ..TextColumns::default() };
    let reading = Reading { columns: Arc::new(columns), ..Reading::default() };
    read_with(&Selection { paths: vec![path], reading, ..Selection::default() })
}

fn write(path: &Path, columns: &[(&str, Cell)]) {
    let columns_of: Vec<&str> = columns.iter().map(|(column, _)| *column).collect();
    let schema = format!("message schema {{ {} }}", columns_of.join(" "));
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let file = fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for (column, cell) in columns {
        let mut writer = group.next_column().unwrap().unwrap();
        // A value within a list is defined and not repeated.
        let levels = column.contains("REPEATED").then_some((&[1_i16][..], &[0_i16][..])).unzip();
        match cell {
            Cell::Bytes(bytes) => {
                let bytes = [ByteArray::from(bytes.clone())];
                writer.typed::<ByteArrayType>().write_batch(&bytes, levels.0, levels.1)
            }
            Cell::Fixed(bytes) => {
                let bytes = [FixedLenByteArray::from(bytes.clone())];
                writer.typed::<FixedLenByteArrayType>().write_batch(&bytes, levels.0, levels.1)
            }
            Cell::Int(n) => writer.typed::<Int32Type>().write_batch(&[*n], levels.0, levels.1),
            Cell::Long(n) => writer.typed::<Int64Type>().write_batch(&[*n], levels.0, levels.1),
        }
        .unwrap();
        writer.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn a_file_that_breaks_off_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows.parquet");
    write(&path, &[text("words")]);
    let whole = fs::read(&path).unwrap();
    for cut in 1..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let (documents, failures) =
            read_with(&Selection { paths: vec![path.clone()], ..Selection::default() });
        assert_eq!((documents.len(), failures.len()), (0, 1), "after {cut} bytes: {failures:?}");
    }
}

fn text(text: &str) -> (&'static str, Cell) {
    ("REQUIRED BYTE_ARRAY text (STRING);", Cell::Bytes(text.as_bytes().to_vec()))
}

/// The value of one column `x`.
fn value(column: &str, cell: Cell) -> Value {
    let (documents, failures) = read(&[text("words"), (column, cell)], None);
    assert_eq!(failures, Vec::<String>::new(), "{column}");
    documents[0]["metadata"]["x"].clone()
}

#[test]
fn logical_types_are_honoured() {
    use Cell::{Bytes, Fixed, Int, Long};
    let ns = 1_700_000_000_123_456_789;
    let wide = |value: i128| Fixed(value.to_be_bytes().to_vec());
    for (column, cell, expected) in [
        (
            "REQUIRED FIXED_LEN_BYTE_ARRAY(16) x (UUID);",
            Fixed((0..16).map(|n| n * 17).collect()),
            json!("00112233-4455-6677-8899-aabbccddeeff"),
        ),
        ("REQUIRED FIXED_LEN_BYTE_ARRAY(4) x;", Fixed(vec![0xff, 0, 0x61, 9]), json!("0xff006109")),
        ("REQUIRED FIXED_LEN_BYTE_ARRAY(2) x;", Fixed(b"ab".to_vec()), json!("0x6162")),
        ("REQUIRED BYTE_ARRAY x;", Bytes(vec![0xff, 0xfe]), json!("0xfffe")),
        ("REQUIRED BYTE_ARRAY x;", Bytes("é".into()), json!("é")),
        ("REQUIRED INT32 x (DECIMAL(9,0));", Int(7), json!("7")),
        ("REQUIRED INT64 x (DECIMAL(18,2));", Long(-5), json!("-0.05")),
        ("REQUIRED INT64 x (DECIMAL(18,2));", Long(123_456), json!("1234.56")),
        ("REQUIRED INT32 x (DECIMAL(4,2));", Int(0), json!("0.00")),
        (
            "REQUIRED FIXED_LEN_BYTE_ARRAY(16) x (DECIMAL(38,10));",
            wide(-(10_i128.pow(37) + 1)),
            json!("-1000000000000000000000000000.0000000001"),
        ),
        (
            "REQUIRED BYTE_ARRAY x (DECIMAL(38,0));",
            Bytes(i64::MIN.to_be_bytes().to_vec()),
            json!("-9223372036854775808"),
        ),
        (
            "REQUIRED INT64 x (TIMESTAMP(NANOS,true));",
            Long(ns),
            json!("2023-11-14T22:13:20.123456789Z"),
        ),
        (
            "REQUIRED INT64 x (TIMESTAMP(MICROS,false));",
            Long(ns / 1_000),
            json!("2023-11-14T22:13:20.123456Z"),
        ),
        (
            "REQUIRED INT64 x (TIMESTAMP(MILLIS,true));",
            Long(ns / 1_000_000),
            json!("2023-11-14T22:13:20.123Z"),
        ),
        (
            "REQUIRED INT64 x (TIMESTAMP(NANOS,true));",
            Long(-1),
            json!("1969-12-31T23:59:59.999999999Z"),
        ),
        ("REQUIRED INT32 x (DATE);", Int(-1), json!("1969-12-31")),
        ("REQUIRED INT32 x (TIME(MILLIS,false));", Int(3_661_001), json!("01:01:01.001")),
        ("REQUIRED INT64 x (TIME(MICROS,false));", Long(1), json!("00:00:00.000001")),
        (
            "REQUIRED INT64 x (TIME(NANOS,true));",
            Long(86_399_000_000_001),
            json!("23:59:59.000000001"),
        ),
        ("REQUIRED INT64 x (INTEGER(64,false));", Long(-1), json!(u64::MAX)),
        (
            "REQUIRED GROUP x (LIST) { REPEATED GROUP list {
                REQUIRED INT64 element (TIMESTAMP(NANOS,true)); } }",
            Long(0),
            json!(["1970-01-01T00:00:00Z"]),
        ),
        (
            "REQUIRED GROUP x (LIST) { REPEATED INT32 element (DECIMAL(9,1)); }",
            Int(15),
            json!(["1.5"]),
        ),
        (
            "REQUIRED GROUP x { REQUIRED FIXED_LEN_BYTE_ARRAY(16) id (UUID); }",
            Fixed(vec![0xff; 16]),
            json!({"id": "ffffffff-ffff-ffff-ffff-ffffffffffff"}),
        ),
    ] {
        assert_eq!(value(column, cell), expected, "{column}");
    }
}

#[test]
fn bytes_are_unlike_ids_and_no_texts() {
    let id = |bytes: [u8; 16]| {
        let column = ("REQUIRED FIXED_LEN_BYTE_ARRAY(16) key (UUID);", Cell::Fixed(bytes.to_vec()));
        read(&[text("words"), column], Some("key")).0[0]["id"].clone()
    };
    // Both have the same replacement characters.
    assert_ne!(id([0xfe; 16]), id([0xff; 16]));
    let digest = ("REQUIRED BYTE_ARRAY key;", Cell::Bytes(vec![0xfe, 0xff]));
    assert_eq!(read(&[text("words"), digest], Some("key")).0[0]["id"], "0xfeff");
    let bytes =
        |bytes: &[u8]| read(&[("REQUIRED BYTE_ARRAY text;", Cell::Bytes(bytes.into()))], None);
    assert_eq!(bytes("café".as_bytes()).0[0]["text"], "café");
    let (documents, failures) = bytes(b"caf\xe9");
    assert!(
        documents.is_empty() && failures[0].contains("bytes that are not UTF-8"),
        "{failures:?}"
    );
}

#[test]
fn types_are_read_as_pyarrow_reads_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("types.parquet");
    std::fs::write(&path, include_bytes!("parquet_types.parquet")).unwrap();
    let selection = Selection { paths: vec![path], ..Selection::default() };
    let metadata = json!({
        "dictionary": "d", "fixed": "0xff006109", "bytes": "0xfffe", "integer": "7",
        "cents": "-0.05", "wide": "-12345678901234567890123456789012345678901234567890.123",
        "ns": "2023-11-14T22:13:20.123456789Z", "us": "2023-11-14T22:13:20.123456Z",
        "ms": "2023-11-14T22:13:20.123Z", "date": "1969-12-31", "time_ms": "01:01:01.001",
        "time_us": "00:00:00.000001", "time_ns": "23:59:59.000000001", "unsigned": u64::MAX,
        "times": ["1970-01-01T00:00:00Z"], "large_list": ["1.5"], "struct": {"id": "0xffff"},
        "map": {"k": "1.50"}, "nested": [[1, 2], [3]],
        "structs": [{"t": "1970-01-01T00:00:00Z", "n": 1}],
    });
    let id = "00112233-4455-6677-8899-aabbccddeeff";
    let expected = json!({"id": id, "text": "words", "metadata": metadata});
    assert_eq!(read_with(&selection), (vec![expected], vec![]));
}

#[test]
fn an_unpacked_copy_is_kept_for_all_readings() {
    let dir = tempfile::tempdir().unwrap();
    let (path, packed) = (dir.path().join("rows.parquet"), dir.path().join("rows.parquet.zst"));
    let pack = |words: &str| {
        write(&path, &[text(words)]);
        fs::write(&packed, zstd::encode_all(&fs::read(&path).unwrap()[..], 1).unwrap()).unwrap();
    };
    for (bytes_max, is_kept) in [(1 << 20, true), (9, false)] {
        pack("one two");
        let mut selection = Selection { paths: vec![packed.clone()], ..Selection::default() };
        let spool = tempfile::tempfile().unwrap();
        selection.keep_copies(InputCopies::new(spool.try_clone().unwrap(), bytes_max, true));
        let first = read_with(&selection);
        assert_eq!(first.0[0]["text"], "one two");
        let kept_bytes = if is_kept { fs::metadata(&path).unwrap().len() } else { 0 };
        assert_eq!(spool.metadata().unwrap().len(), kept_bytes);
        pack("three four");
        assert_eq!(read_with(&selection) == first, is_kept);
    }
}

/// The bytes of an input that is read for the second time, at any position.
fn read_again(selection: &Selection, path: &Path) -> FilePart {
    selection.reading.seekable(path, std::io::empty(), true).unwrap()
}

#[test]
fn readers_of_one_copy_have_a_position_each() {
    let dir = tempfile::tempdir().unwrap();
    let (path, packed) = (dir.path().join("rows.parquet"), dir.path().join("rows.parquet.zst"));
    write(&path, &[text(&"words ".repeat(20_000))]);
    let bytes = fs::read(&path).unwrap();
    fs::write(&packed, zstd::encode_all(&bytes[..], 1).unwrap()).unwrap();
    let pipe = Arc::new(fs::File::open(&path).unwrap());
    let mut selection = Selection { paths: vec![packed.clone()], ..Selection::default() };
    selection.reading.pipes.insert("-".into(), pipe);
    selection.keep_copies(InputCopies::new(tempfile::tempfile().unwrap(), 1 << 20, true));
    assert_eq!(read_with(&selection).0.len(), 1);
    let of_pipe = || selection.reading.seekable(Path::new("-"), std::io::empty(), false).unwrap();
    for readers in [[(); 2].map(|()| read_again(&selection, &packed)), [(); 2].map(|()| of_pipe())]
    {
        let mut readers = readers.map(|file| file.get_read(0).unwrap());
        let mut read = [const { Vec::new() }; 2];
        while read[0].len() < bytes.len() {
            for (reader, read) in readers.iter_mut().zip(&mut read) {
                let more = reader.by_ref().take(10_000).read_to_end(read).unwrap();
                assert!(more > 0, "the other reader moved the position");
            }
        }
        assert!(read.iter().all(|read| *read == bytes));
    }
    selection.paths = vec!["-".into()];
    assert_eq!(read_with(&selection).0.len(), 1);
}

#[test]
fn a_packed_file_is_unpacked_where_the_selection_has_room() {
    let dir = tempfile::tempdir().unwrap();
    let (path, packed) = (dir.path().join("rows.parquet"), dir.path().join("rows.parquet.zst"));
    write(&path, &[text("one two")]);
    fs::write(&packed, zstd::encode_all(&fs::read(&path).unwrap()[..], 1).unwrap()).unwrap();
    let mut selection = Selection { paths: vec![packed], ..Selection::default() };
    for (directory, documents) in [(dir.path().to_owned(), 1), (dir.path().join("absent"), 0)] {
        selection.reading.directory = Some(directory);
        assert_eq!(read_with(&selection).0.len(), documents);
    }
    selection.copy_pipes(dir.path()).unwrap();
    assert_eq!(read_with(&selection).0.len(), 1);
}

#[test]
fn packed_rows_are_unpacked_to_one_copy() {
    let dir = tempfile::tempdir().unwrap();
    let (path, packed) = (dir.path().join("rows.parquet"), dir.path().join("rows.parquet.zst"));
    write(&path, &[text("one two")]);
    fs::write(&packed, zstd::encode_all(&fs::read(&path).unwrap()[..], 1).unwrap()).unwrap();
    let mut selection = Selection { paths: vec![packed.clone()], ..Selection::default() };
    selection.keep_copies(InputCopies::new(tempfile::tempfile().unwrap(), 1 << 20, true));
    // A further copy could not be written.
    selection.reading.directory = Some(dir.path().join("absent"));
    for _ in 0..2 {
        assert_eq!(read_with(&selection).0.len(), 1);
    }
}

#[test]
fn packed_rows_of_a_pipe_that_break_off_are_named_by_their_reader() {
    let dir = tempfile::tempdir().unwrap();
    let (path, pipe) = (dir.path().join("rows.parquet"), dir.path().join("pipe"));
    write(&path, &[text("one two")]);
    let written = zstd::encode_all(&fs::read(&path).unwrap()[..], 1).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let mut selection = Selection { paths: vec![pipe.clone()], ..Selection::default() };
    for (cut, expected) in [(0, (1, vec![])), (9, (0, vec!["the file breaks off".to_owned()]))] {
        let (pipe, written) = (pipe.clone(), written[..written.len() - cut].to_vec());
        let writer = std::thread::spawn(move || fs::write(pipe, written));
        selection.reading.pipes.clear();
        selection.copy_pipes(dir.path()).unwrap();
        writer.join().unwrap().unwrap();
        for keeps_unpacked in [false, true] {
            let spool = tempfile::tempfile().unwrap();
            selection.keep_copies(InputCopies::new(spool, 1 << 20, keeps_unpacked));
            let (documents, failures) = read_with(&selection);
            assert_eq!((documents.len(), failures), expected);
        }
    }
}
