//! The size of the pages of a Parquet file, before they are unpacked.
//!
//! A page begins with a header in Thrift's compact protocol: its type, its unpacked and its
//! packed size, and further fields that are skipped.

use std::io::{self, BufReader, Read};

use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use super::file_part::FilePart;

/// A page is unpacked as a whole. The pages of common writers have some megabytes, and never 100.
pub const PAGE_BYTES_MAX: u64 = 128 << 20;
/// The deepest nesting of structures in a header.
const DEPTH_MAX: u32 = 8;
const UNPACKED_FIELD: i64 = 2;
const PACKED_FIELD: i64 = 3;

/// The largest page of the columns that `wants` takes, unpacked.
///
/// # Errors
/// A page is too large or has an unsupported compression; or the file is damaged.
pub fn largest_page(
    file: &FilePart,
    group: &RowGroupMetaData,
    wants: impl Fn(&str) -> bool,
) -> Result<u64, String> {
    let mut largest = 0;
    for column in group.columns() {
        let path = column.column_path().string();
        if !wants(column.column_path().parts().first().map_or("", String::as_str)) {
            continue;
        }
        if let Some(name) = unread(column.compression()) {
            return Err(format!(
                "the column '{path}' is compressed by {name}, which is not read: write the file \
                 with zstd, snappy, gzip, lz4 or without compression"
            ));
        }
        let page = largest_of(file, column);
        largest = largest.max(page.map_err(|error| format!("the column '{path}': {error}"))?);
    }
    if largest > PAGE_BYTES_MAX {
        return Err(format!("a page unpacks to {largest} bytes, more than {PAGE_BYTES_MAX}"));
    }
    Ok(largest)
}

fn unread(compression: Compression) -> Option<&'static str> {
    match compression {
        Compression::BROTLI(_) => Some("brotli"),
        Compression::LZO => Some("LZO"),
        _ => None,
    }
}

fn largest_of(file: &FilePart, column: &ColumnChunkMetaData) -> io::Result<u64> {
    let first = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let start = u64::try_from(first.min(column.data_page_offset())).map_err(damaged)?;
    let length = u64::try_from(column.compressed_size()).map_err(damaged)?;
    let end = start.checked_add(length).ok_or_else(|| damaged(()))?;
    if end > file.left() {
        return Err(damaged(()));
    }
    let (mut largest, mut at) = (0, start);
    while at < end {
        let mut reader = BufReader::new(file.from(at));
        let mut header = Header { reader: &mut reader, bytes: 0, left: end - at };
        let [unpacked, packed] = header.sizes()?;
        largest = largest.max(unpacked);
        at += header.bytes + packed;
    }
    Ok(largest)
}

fn damaged<E>(_: E) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the file is damaged")
}

struct Header<'r, R> {
    reader: &'r mut R,
    /// The number of bytes read so far.
    bytes: u64,
    /// The number of bytes to the end of the column.
    left: u64,
}

impl<R: Read> Header<'_, R> {
    /// The size of the page, unpacked and packed.
    fn sizes(&mut self) -> io::Result<[u64; 2]> {
        let (mut sizes, mut field) = ([None; 2], 0);
        while let Some(kind) = self.next_field(&mut field)? {
            match field {
                UNPACKED_FIELD | PACKED_FIELD if kind == 5 => {
                    let size = u64::try_from(self.zigzag()?).map_err(damaged)?;
                    sizes[usize::from(field == PACKED_FIELD)] = Some(size);
                }
                _ => self.skip(kind, DEPTH_MAX)?,
            }
        }
        let [Some(unpacked), Some(packed)] = sizes else { return Err(damaged(())) };
        Ok([unpacked, packed])
    }

    /// The type of the next field of a structure, and its number; `None` at the end.
    fn next_field(&mut self, field: &mut i64) -> io::Result<Option<u8>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        *field = match byte >> 4 {
            0 => self.zigzag()?,
            more => *field + i64::from(more),
        };
        Ok(Some(byte & 0x0F))
    }

    fn skip(&mut self, kind: u8, depth: u32) -> io::Result<()> {
        let depth = depth.checked_sub(1).ok_or_else(|| damaged(()))?;
        match kind {
            1 | 2 => Ok(()),
            3 => self.byte().map(drop),
            4..=6 => self.varint().map(drop),
            7 => self.pass(8),
            8 => {
                let length = self.varint()?;
                self.pass(length)
            }
            9 | 10 => {
                let byte = self.byte()?;
                let count = if byte >> 4 == 15 { self.varint()? } else { u64::from(byte >> 4) };
                match byte & 0x0F {
                    // In a list these take a byte.
                    1 | 2 => self.pass(count),
                    kind => (0..count).try_for_each(|_| self.skip(kind, depth)),
                }
            }
            12 => {
                let mut field = 0;
                while let Some(kind) = self.next_field(&mut field)? {
                    self.skip(kind, depth)?;
                }
                Ok(())
            }
            _ => Err(damaged(())),
        }
    }

    fn pass(&mut self, bytes: u64) -> io::Result<()> {
        self.take(bytes)?;
        let passed = io::copy(&mut self.reader.by_ref().take(bytes), &mut io::sink())?;
        if passed == bytes { Ok(()) } else { Err(damaged(())) }
    }

    fn take(&mut self, bytes: u64) -> io::Result<()> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| damaged(()))?;
        self.bytes += bytes;
        Ok(())
    }

    fn byte(&mut self) -> io::Result<u8> {
        self.take(1)?;
        let mut byte = [0];
        self.reader.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    fn varint(&mut self) -> io::Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(damaged(()))
    }

    fn zigzag(&mut self) -> io::Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of a page with `levels` structures in each other, which a reader skips.
    fn nested(levels: usize) -> io::Result<[u64; 2]> {
        // Each level is field 5, a structure; then the ends of the structures and the two sizes.
        let mut bytes = vec![0x5C; levels];
        bytes.extend(vec![0; levels]);
        let sizes = [0x05, 2 * UNPACKED_FIELD as u8, 20, 0x05, 2 * PACKED_FIELD as u8, 10, 0];
        bytes.extend(sizes);
        let left = bytes.len() as u64;
        Header { reader: &mut bytes.as_slice(), bytes: 0, left }.sizes()
    }

    #[test]
    fn structures_in_a_page_header_have_bounded_levels() {
        assert_eq!(nested(DEPTH_MAX as usize).unwrap(), [10, 5]);
        assert!(nested(DEPTH_MAX as usize + 1).is_err());
    }
}
