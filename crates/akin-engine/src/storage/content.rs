//! Encodes a content as a zstd frame with its content size; a short content is one raw block
//! (RFC 8878). The frame holds the UTF-8 of a text, and the JSON of any other content.

use std::cell::RefCell;
use std::io;

use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::get_frame_content_size;

use crate::document::Content;

/// Shorter contents are not compressed, as that would be a quarter of the work of adding them.
///
/// Longer contents are compressed by zstd, by default at level 1. On manual pages of 1 to 16 kB its
/// ratio was 0.41 and that of lz4 0.57. lz4 compressed 1.5 times as fast and decompressed several
/// times as fast.
const COMPRESSED_FROM_BYTES: usize = 1024;

/// Texts of this length or longer cannot be tokenised.
const PLAIN_BYTES_END: usize = 1 << 31;

pub fn encode(content: &Content, level: i32) -> Vec<u8> {
    let compressed = match content {
        Content::Text(text) => compress(text.as_bytes(), level),
        other => compress(&serde_json::to_vec(other).expect("it is plain JSON"), level),
    };
    compressed.expect("compressing into a large enough buffer fails only if memory is exhausted")
}

/// The frame of bytes that are not known to be of any form.
#[cfg(any(test, fuzzing, feature = "fuzzing"))]
pub(super) fn encoded_bytes(plain: &[u8]) -> Vec<u8> {
    compress(plain, 1).expect("it is compressed like any content")
}

/// `None` for bytes that [`encode`] cannot have made.
pub fn decode(bytes: &[u8], is_text: bool) -> Option<Content> {
    let plain = decompress(bytes, plain_bytes(bytes)?).ok()?;
    match is_text {
        true => String::from_utf8(plain).ok().map(Content::Text),
        false => serde_json::from_slice(&plain).ok(),
    }
}

/// The least bytes of a block of zstd, its header and one repeated byte, ...
const BLOCK_BYTES_MIN: usize = 4;

/// ... and becomes at most this much (RFC 8878, section 3.1.1.2.3).
const BLOCK_PLAIN_BYTES_MAX: usize = 128 << 10;

/// The content size that a frame declares, which is untrusted: it may come from a foreign backup.
/// Memory is allocated for it, so it must be a size that the frame can have.
pub fn plain_bytes(frame: &[u8]) -> Option<usize> {
    let length = usize::try_from(get_frame_content_size(frame).ok()??).ok()?;
    let possible = (frame.len() / BLOCK_BYTES_MIN).saturating_mul(BLOCK_PLAIN_BYTES_MAX);
    (length < PLAIN_BYTES_END && length <= possible).then_some(length)
}

// Creating a zstd context costs more than compressing a short text, so each thread keeps its
// context.
thread_local! {
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

fn compress(plain: &[u8], level: i32) -> io::Result<Vec<u8>> {
    if plain.len() < COMPRESSED_FROM_BYTES {
        return Ok(raw_frame(plain));
    }
    COMPRESSOR.with_borrow_mut(|kept| {
        let compressor = match kept {
            Some(compressor) => compressor,
            None => kept.insert(Compressor::new(level)?),
        };
        compressor.set_compression_level(level)?;
        compressor.compress(plain)
    })
}

/// A frame with a single raw block. The content size takes one byte up to 255; from 256 on it takes
/// two bytes, which hold the size minus 256.
fn raw_frame(plain: &[u8]) -> Vec<u8> {
    let length = plain.len();
    let mut frame = Vec::with_capacity(length + 10);
    frame.extend_from_slice(&0xFD2F_B528_u32.to_le_bytes());
    match u8::try_from(length) {
        Ok(length) => frame.extend_from_slice(&[0x20, length]),
        Err(_) => {
            frame.push(0x60);
            frame.extend_from_slice(&(length as u16 - 256).to_le_bytes());
        }
    }
    let block_header = (length as u32) << 3 | 1;
    frame.extend_from_slice(&block_header.to_le_bytes()[..3]);
    frame.extend_from_slice(plain);
    frame
}

fn decompress(bytes: &[u8], length: usize) -> io::Result<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => kept.insert(Decompressor::new()?),
        };
        decompressor.decompress(bytes, length)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::document::Token;

    fn token(text: &str, count: u32) -> Token {
        Token { text: text.to_owned(), count }
    }

    fn fields(fields: &[(&str, &str)]) -> BTreeMap<String, String> {
        fields.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn contents_of_any_length_survive() {
        for length in (0..300).chain(1_020..1_030) {
            let content = Content::Text("a".repeat(length));
            let bytes = encode(&content, 1);
            assert_eq!(decode(&bytes, true).as_ref(), Some(&content));
            let is_compressed = bytes.len() < length;
            assert_eq!(is_compressed, length >= COMPRESSED_FROM_BYTES, "{length}");
        }
    }

    #[test]
    fn contents_survive_at_any_level() {
        let contents = [
            Content::Text(String::new()),
            Content::Text("Ein Text über alles. ".repeat(1000)),
            Content::Tokens(vec![]),
            Content::Tokens(vec![token("ab", 1), token("c", u32::MAX), token("", 2)]),
            Content::Fields(fields(&[])),
            Content::Fields(fields(&[("name", "Ünn"), ("", "x"), ("phone", "")])),
            Content::Signature(vec![]),
            Content::Signature((0..300).map(|n| n * 0x0101_0101 % (1 << 32)).collect()),
            Content::Signature(vec![0, 1 << 32, u64::MAX]),
        ];
        for level in [-7, 1, 19] {
            for content in &contents {
                let decoded = decode(&encode(content, level), matches!(content, Content::Text(_)));
                assert_eq!(decoded.as_ref(), Some(content));
            }
        }
    }

    #[test]
    fn contents_over_the_maximum_length_are_refused() {
        // A single segment, its length in eight bytes, and room for as many blocks as that takes.
        let frame = |length: u64| {
            let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0xE0];
            frame.extend_from_slice(&length.to_le_bytes());
            frame.resize(1 << 16, 0);
            frame
        };
        assert_eq!(plain_bytes(&frame((1 << 31) - 1)), Some((1 << 31) - 1));
        assert_eq!(plain_bytes(&frame(1 << 31)), None);
    }

    #[test]
    fn impossible_frame_sizes_take_no_memory() {
        let mut frame = encode(&Content::Text("a".repeat(200_000)), 1);
        assert!(plain_bytes(&frame) == Some(200_000) && frame.len() < 100, "{}", frame.len());
        frame.truncate(4);
        frame.push(0xE0);
        frame.extend_from_slice(&(1_u64 << 30).to_le_bytes());
        assert_eq!(plain_bytes(&frame), None);
    }

    #[test]
    fn what_is_cut_short_is_refused() {
        let bytes = encode(&Content::Text("a text".repeat(9)), 1);
        assert_eq!(decode(&bytes[..bytes.len() - 1], true), None);
        assert_eq!(decode(&[], true), None);
        let tokens = encode(&Content::Tokens(vec![token("ab", 1)]), 1);
        assert_eq!(decode(&tokens[..tokens.len() - 1], false), None);
        assert_eq!(decode(&bytes, false), None, "a text is not JSON");
    }
}
