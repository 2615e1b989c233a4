//! Lines of JSON.

use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::sync::Arc;

use super::encoding::UTF_8_MARK;
use super::event::{ITEM_BYTES_MAX, Stop};
use super::sink::Sink;

/// Lines are read so many bytes at a time.
const BLOCK_BYTES: usize = 256 << 10;

/// A line, without its end. The lines that were read together share their block.
#[derive(Clone, Debug)]
pub struct Line {
    block: Arc<Vec<u8>>,
    bytes: Range<usize>,
}

impl Line {
    pub fn as_bytes(&self) -> &[u8] {
        &self.block[self.bytes.clone()]
    }
}

impl From<Vec<u8>> for Line {
    fn from(line: Vec<u8>) -> Self {
        Self { bytes: 0..line.len(), block: Arc::new(line) }
    }
}

pub fn read(mut reader: impl BufRead, sink: &mut Sink<'_, '_>) -> Result<(), Stop> {
    let (mut blocks, mut number) = (Blocks::default(), 0);
    // The beginning of a line whose end is not read yet.
    let mut begun = Vec::new();
    loop {
        let read = blocks.read(&begun, &mut reader);
        let (block, filled, is_last) = read.map_err(|error| Stop::at(number + 1, error))?;
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &block[..filled]) {
            number += 1;
            take(number, &block, start..end, sink)?;
            start = end + 1;
        }
        if is_last {
            return take(number + 1, &block, start..filled, sink);
        }
        begun.clear();
        if filled - start < ITEM_BYTES_MAX {
            begun.extend_from_slice(&block[start..filled]);
        } else {
            number += 1;
            take(number, &block, start..filled, sink)?;
            reader.skip_until(b'\n').map_err(|error| Stop::at(number, error))?;
        }
    }
}

/// Passes a line on, unless it is blank.
fn take(
    number: u64,
    block: &Arc<Vec<u8>>,
    mut bytes: Range<usize>,
    sink: &mut Sink<'_, '_>,
) -> Result<(), Stop> {
    if bytes.len() >= ITEM_BYTES_MAX {
        let reason = format!("the line is longer than {ITEM_BYTES_MAX} bytes");
        return Ok(sink.failed(Some(number), reason)?);
    }
    if block[bytes.clone()].starts_with(UTF_8_MARK) {
        bytes.start += UTF_8_MARK.len();
    }
    bytes.end = bytes.start + block[bytes.clone()].trim_ascii_end().len();
    if bytes.is_empty() {
        return Ok(());
    }
    Ok(sink.json(number, Line { block: Arc::clone(block), bytes })?)
}

/// Blocks of memory, used again once all their lines are gone.
#[derive(Default)]
struct Blocks(Vec<Arc<Vec<u8>>>);

impl Blocks {
    /// A block that begins with these bytes and goes on with bytes of the reader: up to the end of
    /// the block or of the reader, or up to where some lines have ended. Also the number of bytes,
    /// and whether the reader has ended.
    fn read(
        &mut self,
        begun: &[u8],
        reader: &mut impl Read,
    ) -> io::Result<(Arc<Vec<u8>>, usize, bool)> {
        let free = self.0.iter_mut().position(|block| Arc::get_mut(block).is_some());
        let mut shared = free.map_or_else(Arc::default, |at| self.0.swap_remove(at));
        let block = Arc::get_mut(&mut shared).expect("the block is free");
        block.resize(block.len().max(BLOCK_BYTES).max(2 * begun.len()), 0);
        block[..begun.len()].copy_from_slice(begun);
        let mut filled = begun.len();
        let is_last = loop {
            let read = match reader.read(&mut block[filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            let has_line = memchr::memchr(b'\n', &block[filled..filled + read]).is_some();
            filled += read;
            if read == 0 || has_line || filled == block.len() {
                break read == 0;
            }
        };
        if filled < BLOCK_BYTES / 4 {
            // A few bytes of a pipe do not occupy a block while their lines wait for others.
            let few = Arc::new(block[..filled].to_vec());
            self.0.push(shared);
            return Ok((few, filled, is_last));
        }
        self.0.push(Arc::clone(&shared));
        Ok((shared, filled, is_last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{Item, Origin, Source};

    #[test]
    fn a_detached_line_holds_no_other_lines() {
        let block = Arc::new(vec![b'7'; BLOCK_BYTES]);
        let item = Item {
            source: Source::Line(Line { block: Arc::clone(&block), bytes: 3..10 }),
            origin: Origin { file: "file".into(), line: Some(1) },
            columns: Arc::default(),
            is_named_by_place: false,
        };
        let item = item.detached();
        let Source::Line(line) = &item.source else { panic!("a line stays a line") };
        assert_eq!((&**line.block, line.as_bytes()), (&[b'7'; 7][..], &[b'7'; 7][..]));
        assert_eq!(Arc::strong_count(&block), 1);
    }
}
