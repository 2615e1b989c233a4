//! A content as bytes: zstd, whose frame knows the length of what it holds, over
//! - for a text, its UTF-8;
//! - for tokens, each one's byte length (u32), count (u32) and UTF-8, little-endian.

use std::cell::RefCell;
use std::io;

use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::get_frame_content_size;

use crate::document::{Content, Token};

pub(super) fn encode(content: &Content, level: i32) -> Vec<u8> {
    let compressed = match content {
        Content::Text(text) => compress(text.as_bytes(), level),
        Content::Tokens(tokens) => compress(&token_bytes(tokens), level),
    };
    compressed
        .expect("compressing into a buffer that is large enough fails only for want of memory")
}

/// `None` for bytes that [`encode`] cannot have made.
pub(super) fn decode(bytes: &[u8], tokens: bool) -> Option<Content> {
    let length = get_frame_content_size(bytes).ok()??;
    let plain = decompress(bytes, usize::try_from(length).ok()?).ok()?;
    if tokens {
        return tokens_of(&plain).map(Content::Tokens);
    }
    String::from_utf8(plain).ok().map(Content::Text)
}

// Making a zstd context costs more than compressing a short text, so each thread keeps one.
thread_local! {
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

fn compress(plain: &[u8], level: i32) -> io::Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|kept| {
        let compressor = match kept {
            Some(compressor) => compressor,
            None => kept.insert(Compressor::new(level)?),
        };
        compressor.set_compression_level(level)?;
        compressor.compress(plain)
    })
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

fn token_bytes(tokens: &[Token]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(tokens.iter().map(|token| token.text.len() + 8).sum());
    for token in tokens {
        let length = u32::try_from(token.text.len()).expect("a token is shorter than 4 GiB");
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&token.count.to_le_bytes());
        bytes.extend_from_slice(token.text.as_bytes());
    }
    bytes
}

fn tokens_of(mut bytes: &[u8]) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk()?;
        let (count, rest) = rest.split_first_chunk()?;
        let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let text = str::from_utf8(text).ok()?.to_owned();
        tokens.push(Token { text, count: u32::from_le_bytes(*count) });
        bytes = rest;
    }
    Some(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str, count: u32) -> Token {
        Token { text: text.to_owned(), count }
    }

    #[test]
    fn contents_survive_at_any_level() {
        let contents = [
            Content::Text(String::new()),
            Content::Text("Ein Text über alles. ".repeat(1000)),
            Content::Tokens(vec![]),
            Content::Tokens(vec![token("ab", 1), token("c", u32::MAX), token("", 2)]),
        ];
        for level in [-7, 1, 19] {
            for content in &contents {
                let tokens = matches!(content, Content::Tokens(_));
                assert_eq!(decode(&encode(content, level), tokens).as_ref(), Some(content));
            }
        }
    }

    #[test]
    fn what_is_cut_short_is_refused() {
        let bytes = encode(&Content::Text("a text".repeat(9)), 1);
        assert_eq!(decode(&bytes[..bytes.len() - 1], false), None);
        assert_eq!(decode(&[], false), None);
        assert_eq!(tokens_of(&token_bytes(&[token("ab", 1)])[..9]), None);
    }
}
