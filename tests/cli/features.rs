//! Binaries without some cargo features: `cargo test --no-default-features --test cli features`.

#[cfg(not(all(feature = "parquet", feature = "html")))]
use crate::{akin, inputs::put};

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_is_refused_by_the_name_of_its_feature() {
    let dir = tempfile::tempdir().unwrap();
    let docs = put(dir.path(), "docs.jsonl", "{\"id\":\"a\",\"text\":\"one two three\"}\n");
    let rows = put(dir.path(), "rows", "PAR1 and more");
    let out = dir.path().join("out.parquet");
    let out = out.to_str().unwrap();
    for arguments in [
        &["pairs", &rows][..],
        &["pairs", &docs, "--format", "parquet"],
        &["dedup", &docs, "-o", out],
        &["sketch", &docs, "-o", out],
        &["export", "-o", out],
    ] {
        let ended = akin(arguments);
        assert_eq!(ended.code, Some(1), "{arguments:?}: {}", ended.stderr);
        let hint = "without Parquet: take a released package, or build it with --features parquet";
        assert!(ended.stderr.contains(hint), "{arguments:?}: {}", ended.stderr);
        assert!(!std::fs::exists(out).unwrap(), "{arguments:?}");
    }
}

#[cfg(not(feature = "html"))]
#[test]
fn pages_are_refused_by_the_name_of_their_feature() {
    let dir = tempfile::tempdir().unwrap();
    let docs = put(dir.path(), "docs.jsonl", "{\"id\":\"a\",\"text\":\"one two three\"}\n");
    let page = put(dir.path(), "page", "<html><p>one two three");
    for arguments in [&["pairs", &page][..], &["pairs", &docs, "--extract", "main"]] {
        let ended = akin(arguments);
        assert_eq!(ended.code, Some(1), "{arguments:?}: {}", ended.stderr);
        let hint =
            "without HTML extraction: take a released package, or build it with --features html";
        assert!(ended.stderr.contains(hint), "{arguments:?}: {}", ended.stderr);
    }
}
