//! Fuzz targets for filters and for the reader of backups.

use serde_json::Value;
use tar::{Builder, Header};
use xxhash_rust::xxh3::xxh3_64;

use super::operations::backup::{MANIFEST, MANIFEST_CHECKSUM, hexadecimal};
use super::{Filter, check_backup};
use crate::document::Metadata;

/// The limit of a filter over HTTP.
const FILTER_BYTES_MAX: usize = 2_048;

/// A line with a filter, and metadata below it: the negation holds where the filter does not, and
/// a filter joined with itself has the same meaning.
pub fn filter(input: &[u8]) {
    let input = String::from_utf8_lossy(input);
    let (expression, metadata) = input.split_once('\n').unwrap_or((&input, "{}"));
    let parse = |expression: &str| Filter::parse(expression, FILTER_BYTES_MAX);
    let Ok(filter) = parse(expression) else { return };
    let Ok(metadata) = Metadata::from_json(metadata) else { return };
    if metadata.value().is_err() {
        return;
    }
    let holds = filter.matches(Some(&metadata));
    for (joined, expected) in [
        (format!("!({expression})"), !holds),
        (format!("({expression}) && ({expression})"), holds),
        (format!("({expression}) || ({expression})"), holds),
        (format!("({expression}) && !({expression})"), false),
    ] {
        // The joined filter may be too long or too complex.
        let Ok(filter) = parse(&joined) else { continue };
        assert_eq!(filter.matches(Some(&metadata)), expected, "{joined} of {metadata:?}");
    }
}

/// Reads the input as an archive, and as a manifest in an archive with a store and right checksums.
pub fn backup(input: &[u8]) {
    if check_backup(input).is_ok() {
        assert!(check_backup(&input[..input.len() / 2]).is_err(), "half a backup is accepted");
    }
    let sum = hexadecimal(xxh3_64(STORE));
    let manifest = String::from_utf8_lossy(input).replace("{xxh3}", &sum);
    let manifest = manifest.as_bytes();
    let whole = archive(STORE, manifest);
    if check_backup(whole.as_slice()).is_err() {
        return;
    }
    let read: Value = serde_json::from_slice(manifest).expect("a manifest is JSON");
    let collections = read["collections"].as_array().expect("it lists collections");
    assert_eq!(collections.len(), 1);
    assert_eq!(
        (&collections[0]["name"], &collections[0]["xxh3"]),
        (&"default".into(), &sum.into())
    );
    assert!(check_backup(archive(b"another store", manifest).as_slice()).is_err());
    assert!(check_backup(&whole[..whole.len() - 2 * 512 - 512 - 1]).is_err(), "it was truncated");
}

const STORE: &[u8] = b"a store";

fn archive(store: &[u8], manifest: &[u8]) -> Vec<u8> {
    let checksum = hexadecimal(xxh3_64(manifest));
    let mut builder = Builder::new(Vec::new());
    let entries =
        [("default.sqlite", store), (MANIFEST, manifest), (MANIFEST_CHECKSUM, checksum.as_bytes())];
    for (path, bytes) in entries {
        let mut header = Header::new_ustar();
        header.set_size(bytes.len() as u64);
        builder.append_data(&mut header, path, bytes).expect("memory takes what is written");
    }
    builder.into_inner().expect("memory takes what is written")
}
