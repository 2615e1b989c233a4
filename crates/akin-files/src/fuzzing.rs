//! The fuzz target of the readers of files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tempfile::tempfile;

use super::input::{Event, FORMATS, Reading, Selection, compression_of, of_magic, read_inputs};
use akin_model::content::Extract;

/// How much longer documents may be than their file: a table repeats the names of its columns in
/// each row.
const RATIO_MAX: usize = 1_100;
const BYTES_FREE: usize = 64 << 10;

/// The processor time that reading a file may take: a constant, and a time for each byte. The
/// slowest format is HTML, with 40 us a byte in a debug build.
const TIME_FREE: Duration = Duration::from_secs(1);
const TIME_PER_BYTE: Duration = Duration::from_micros(100);
/// The time for a packed file, which may unpack to 128 MiB.
const TIME_OF_PACKED: Duration = Duration::from_secs(60);

/// A file after a byte that says how it is read: its documents are JSON, are the same each time,
/// and both their bytes and the processor time are bounded by the bytes of the file.
pub fn formats(input: &[u8]) {
    let Some((choice, bytes)) = input.split_first() else { return };
    let began = processor_time();
    let documents = documents(*choice, bytes);
    let took = processor_time().saturating_sub(began);
    let time_max = match is_packed(bytes) {
        true => TIME_OF_PACKED,
        false => TIME_FREE + TIME_PER_BYTE * bytes.len() as u32,
    };
    assert!(took <= time_max, "{} bytes are read in {took:?}", bytes.len());
    let made: usize = documents.iter().map(Vec::len).sum();
    let bytes_max = BYTES_FREE + RATIO_MAX * bytes.len();
    // A packed file may be small and unpack to much, up to a limit of its own.
    assert!(
        is_packed(bytes) || made <= bytes_max,
        "{made} bytes of documents are made of {}",
        bytes.len()
    );
    assert_eq!(self::documents(*choice, bytes), documents);
}

/// The time of this thread, so that the machine's load does not count.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn is_packed(bytes: &[u8]) -> bool {
    compression_of(bytes).is_some() || of_magic(bytes).is_some()
}

fn documents(choice: u8, bytes: &[u8]) -> Vec<Vec<u8>> {
    let selection = selection(choice, bytes);
    let (mut documents, mut is_over) = (Vec::new(), false);
    let read = read_inputs(&selection, &AtomicU64::new(0), &mut |event| {
        assert!(!is_over, "nothing follows the end of a file");
        match event {
            Event::Item(item) => {
                let json = item.json();
                if let Ok(Cow::Owned(made)) = &json {
                    let is_json = serde_json::from_slice::<serde_json::Value>(made).is_ok();
                    assert!(is_json, "{}", made.escape_ascii());
                }
                // Reading it ends, whether it is a document or not.
                drop(item.record());
                documents.push(json.unwrap_or_default().into_owned());
            }
            Event::WithoutArticle => {}
            Event::Failed { reason, .. } => assert!(!reason.is_empty()),
            Event::Skipped { .. } | Event::FileRead => is_over = true,
        }
        Ok(())
    });
    assert!(read.is_ok(), "nobody cancels");
    documents
}

/// The input, read as stdin.
fn selection(choice: u8, bytes: &[u8]) -> Selection {
    let format = FORMATS.get(usize::from(choice >> 2)).copied();
    let extract = if choice & 1 == 0 { Extract::Text } else { Extract::Main };
    let records = (choice & 2 != 0).then(|| "data".to_owned());
    let stdin = PathBuf::from("-");
    let pipes = HashMap::from([(stdin.clone(), Arc::new(written(bytes)))]);
    let reading = Reading { format, extract, records, pipes, ..Reading::default() };
    Selection { paths: vec![stdin], reading, ..Selection::default() }
}

fn written(bytes: &[u8]) -> File {
    use std::os::unix::fs::FileExt;
    let file = tempfile().expect("there is room for a file");
    file.write_all_at(bytes, 0).expect("there is room for a file");
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Work that grows with the square of this length takes minutes.
    const BYTES: usize = 64 << 10;

    #[test]
    fn repeated_pieces_take_time_by_their_bytes() {
        // Pieces that readers look for, count or nest, in every format.
        for piece in [
            "{", "[", "{\"a\":", "\"", "\\", ",", "\"a\",", "\n", "{}\n", "[{}", "<p", "<p>",
            "</p>", "<a b=", "<b><i>", "<table>", "<!--", "&amp", "<p a=\"", "<svg><", "x ",
            "\u{301}",
        ] {
            for (choice, format) in (0..).zip(FORMATS) {
                let choice: u8 = choice << 2;
                let start = if format.name == "html" { "<html><body>" } else { "" };
                let file = [start, &piece.repeat(BYTES / piece.len())].concat();
                formats(&[&[choice], file.as_bytes()].concat());
            }
        }
    }
}
