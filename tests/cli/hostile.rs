//! Inputs that are made to take more than they are.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use rustix::fs::{CWD, Mode, mkfifoat};

use crate::inputs::put;
use crate::{akin, command};

const DOCS: &str =
    "{\"id\":\"a\",\"text\":\"one two three\"}\n{\"id\":\"b\",\"text\":\"one two three\"}\n";

#[test]
fn a_pipe_without_a_writer_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
    for (name, written) in [("pairs", "a\tb\t1.000000000\n"), ("dedup", &DOCS[..34])] {
        let mut child = command(&[name, pipe.to_str().unwrap()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut stderr, mut said) = (BufReader::new(child.stderr.take().unwrap()), String::new());
        stderr.read_line(&mut said).unwrap();
        assert!(said.ends_with("pipe is a pipe without a writer\n"), "{said}");
        fs::write(&pipe, DOCS).unwrap();
        stderr.read_to_string(&mut said).unwrap();
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{said}");
        assert_eq!(String::from_utf8(ended.stdout).unwrap(), written);
    }
}

/// A table with these texts, packed.
fn table(texts: &[String]) -> Vec<u8> {
    let schema = parse_message_type("message schema { REQUIRED BYTE_ARRAY text (STRING); }");
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder().set_compression(zstd).build();
    let mut file = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut file, Arc::new(schema.unwrap()), properties.into()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let values: Vec<_> = texts.iter().map(|text| ByteArray::from(text.as_str())).collect();
    column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    file
}

#[test]
fn large_cells_of_parquet_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let text = |megabytes: usize| "word ".repeat((megabytes << 20).div_ceil(5));
    let large = put(dir.path(), "large", table(&["small".into(), text(33), "other".into()]));
    let ended = akin(&["dedup", &large, "--on-invalid", "skip"]);
    assert_eq!((ended.code, ended.stdout.lines().count()), (Some(0), 2), "{}", ended.stderr);
    assert!(ended.stderr.contains("large:2: the row is larger than"), "{}", ended.stderr);
    let huge = put(dir.path(), "huge", table(&[text(129)]));
    let ended = akin(&["dedup", &huge]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("a page unpacks to 1352"), "{}", ended.stderr);
}

#[test]
fn packed_tables_hold_no_open_files() {
    let dir = tempfile::tempdir().unwrap();
    let files: Vec<String> = (0..80)
        .map(|n| {
            let packed = zstd::encode_all(&table(&[format!("text {n} of many")])[..], 1).unwrap();
            put(dir.path(), &format!("{n}.parquet.zst"), packed)
        })
        .collect();
    let akin = env!("CARGO_BIN_EXE_akin");
    let script = format!("ulimit -n 64; exec {akin} dedup --threads 2 \"$@\"");
    let ended = Command::new("sh").args(["-c", &script, "sh"]).args(&files).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(said.contains("documents: 80; representatives: 80;"), "{said}");
}
