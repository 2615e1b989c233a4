//! The body of an HTTP response, without the codings of its transfer.

use std::borrow::Cow;
use std::io::{self, Read};

use brotli_decompressor::Decompressor;
use flate2::read::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress, Status};

use super::detect::{is_control, is_text};
use super::event::ITEM_BYTES_MAX;

/// Each coding may multiply the size of a body.
const CODINGS_MAX: usize = 5;
const BUFFER_BYTES: usize = 64 << 10;
/// The line with the length of a chunk.
const CHUNK_LINE_BYTES_MAX: usize = 1 << 10;
/// So many first bytes show whether a body is text.
const SHOWN_BYTES: usize = 1 << 10;
/// One of so many bytes of a text may be a control character; of compressed bytes a tenth is.
const CONTROLS_SHARE: usize = 20;

/// Undoes `codings`, in the order in which they were applied.
///
/// # Errors
/// One of them is unknown or cannot be undone, or the result is not text: the reason.
pub fn decoded<'b, 'c>(
    body: &'b [u8],
    codings: impl Iterator<Item = &'c str>,
) -> Result<Cow<'b, [u8]>, String> {
    let codings = codings.map(|coding| coding.trim().to_ascii_lowercase());
    let mut codings: Vec<_> =
        codings.filter(|coding| !coding.is_empty() && coding != "identity").collect();
    if codings.len() > CODINGS_MAX {
        return Err(format!("its body has more than {CODINGS_MAX} codings"));
    }
    let mut body = Cow::Borrowed(body);
    while let Some(coding) = codings.pop() {
        let undone = match coding.as_str() {
            "chunked" => unchunked(&body)?,
            coding => uncompressed(&body, coding)?,
        };
        body = undone.map_or(body, Cow::Owned);
    }
    // Some crawlers keep a compressed body without the header.
    if body.starts_with(&[0x1f, 0x8b]) {
        body = uncompressed(&body, "gzip")?.map_or(body, Cow::Owned);
    }
    match is_noise(&body) {
        true => Err("its body is not text; its Content-Encoding may be missing".into()),
        false => Ok(body),
    }
}

/// Whether the bytes have too many control characters for a text. UTF-16 has a mark.
fn is_noise(body: &[u8]) -> bool {
    let start = &body[..body.len().min(SHOWN_BYTES)];
    let controls = start.iter().filter(|byte| **byte != 0 && is_control(**byte)).count();
    let is_wide = start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff");
    !is_wide && controls * CONTROLS_SHARE > start.len()
}

/// `None` if these are no chunks: many crawlers join the chunks and keep the header. The last chunk
/// may be missing.
fn unchunked(body: &[u8]) -> Result<Option<Vec<u8>>, String> {
    const BROKEN: &str = "its body breaks off within the chunks";
    let (mut joined, mut rest) = (Vec::new(), body);
    loop {
        let is_first = rest.len() == body.len();
        let Some((length, after)) = chunk(rest) else {
            return match rest.trim_ascii().is_empty() {
                _ if is_first => Ok(None),
                true => Ok(Some(joined)),
                false => Err(BROKEN.into()),
            };
        };
        if length == 0 {
            return Ok(Some(joined));
        }
        let (data, next) = after.split_at_checked(length).ok_or(BROKEN)?;
        joined.extend_from_slice(data);
        if is_first && !next.is_empty() && !next.starts_with(b"\r") && !next.starts_with(b"\n") {
            return Ok(None);
        }
        rest = next.trim_ascii_start();
        if rest.is_empty() {
            return Ok(Some(joined));
        }
    }
}

/// The length of the chunk that begins here, and the bytes after the line with the length.
fn chunk(rest: &[u8]) -> Option<(usize, &[u8])> {
    let end = rest.iter().take(CHUNK_LINE_BYTES_MAX).position(|byte| *byte == b'\n')?;
    let line = std::str::from_utf8(&rest[..end]).ok()?;
    let digits = line.split(';').next().unwrap_or_default().trim();
    let is_hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let length = is_hexadecimal.then(|| usize::from_str_radix(digits, 16).ok())??;
    Some((length, &rest[end + 1..]))
}

/// `None` if the body is text already: many crawlers decode the body and keep the header.
fn uncompressed(body: &[u8], coding: &str) -> Result<Option<Vec<u8>>, String> {
    let undone = match coding {
        "gzip" | "x-gzip" => whole(MultiGzDecoder::new(body)),
        "deflate" => inflated(body, true).or_else(|_| inflated(body, false)),
        "br" => whole(Decompressor::new(body, BUFFER_BYTES)),
        "zstd" => zstd::stream::read::Decoder::with_buffer(body).and_then(whole),
        _ => Err(io::Error::other("it is unknown")),
    };
    match undone {
        Ok(undone) => Ok(Some(undone)),
        Err(_) if is_text(&body[..body.len().min(SHOWN_BYTES)]) => Ok(None),
        Err(error) => Err(format!("its Content-Encoding {coding} cannot be undone: {error}")),
    }
}

fn whole(mut reader: impl Read) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    reader.by_ref().take(ITEM_BYTES_MAX as u64 + 1).read_to_end(&mut all)?;
    if all.len() > ITEM_BYTES_MAX {
        return Err(too_large());
    }
    // The decoder of brotli reports bytes after the end only then.
    match reader.read(&mut [0])? {
        0 => Ok(all),
        _ => Err(too_large()),
    }
}

fn too_large() -> io::Error {
    io::Error::other(format!("the page is larger than {ITEM_BYTES_MAX} bytes"))
}

/// Flate2's readers take a stream that breaks off for a whole one. Some servers leave out the head
/// of zlib.
fn inflated(body: &[u8], has_head: bool) -> io::Result<Vec<u8>> {
    let mut inflater = Decompress::new(has_head);
    let mut all = Vec::new();
    while all.len() <= ITEM_BYTES_MAX {
        all.reserve(BUFFER_BYTES);
        let rest = &body[inflater.total_in() as usize..];
        let status = inflater.decompress_vec(rest, &mut all, FlushDecompress::None)?;
        if status == Status::StreamEnd {
            return Ok(all);
        }
        if all.len() < all.capacity() && inflater.total_in() == body.len() as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Err(too_large())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    const PAGE: &str = "<html><p>A page of some words, with some words.</p></html>";
    /// `PAGE`, as `brotli -c` writes it.
    const BROTLI: &[u8] = &[
        0x1b, 0x39, 0x00, 0x00, 0x1d, 0x07, 0x6e, 0x2c, 0xcd, 0x7e, 0x46, 0xd3, 0x59, 0x83, 0xb4,
        0xc1, 0xcd, 0x29, 0x9e, 0xa0, 0x76, 0xf1, 0x29, 0x7b, 0x03, 0x0e, 0x39, 0x70, 0xf8, 0x6e,
        0x52, 0x22, 0x61, 0xe0, 0x31, 0xbc, 0x8e, 0x15, 0xb7, 0x47, 0xe1, 0x04, 0x4d, 0x64, 0xaa,
        0x02, 0x7d, 0xc3, 0x6f, 0xfa, 0x0d, 0x1c, 0xff, 0x46, 0xd1, 0x03,
    ];

    fn compressed(coding: &str, body: &[u8]) -> Vec<u8> {
        let level = Compression::fast();
        macro_rules! encode {
            ($encoder:ident) => {{
                let mut encoder = $encoder::new(Vec::new(), level);
                encoder.write_all(body).unwrap();
                encoder.finish().unwrap()
            }};
        }
        match coding {
            "gzip" => encode!(GzEncoder),
            "deflate" => encode!(ZlibEncoder),
            "raw" => encode!(DeflateEncoder),
            "zstd" => zstd::encode_all(body, 1).unwrap(),
            "br" => BROTLI.to_vec(),
            _ => panic!("{coding}"),
        }
    }

    fn chunked(body: &[u8]) -> Vec<u8> {
        let chunk =
            |chunk: &[u8]| [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat();
        let chunks: Vec<u8> = body.chunks(20).flat_map(chunk).collect();
        [&chunks[..], b"0\r\n\r\n"].concat()
    }

    #[track_caller]
    fn reads(body: &[u8], codings: &[&str]) {
        let read = decoded(body, codings.iter().copied()).unwrap();
        assert_eq!(String::from_utf8_lossy(&read), PAGE, "{codings:?}");
    }

    #[track_caller]
    fn refuses(body: &[u8], codings: &[&str], why: &str) {
        let reason = decoded(body, codings.iter().copied()).expect_err("it is noise");
        assert!(reason.contains(why), "{reason}");
    }

    #[test]
    fn every_coding_is_undone() {
        for coding in ["gzip", "deflate", "zstd", "br"] {
            let body = compressed(coding, PAGE.as_bytes());
            reads(&body, &[coding]);
            reads(&body, &["identity", &coding.to_uppercase(), ""]);
            reads(&chunked(&body), &[coding, "chunked"]);
            reads(&compressed("gzip", &body), &[coding, "x-gzip"]);
            // Crawlers decode bodies and keep the header.
            reads(PAGE.as_bytes(), &[coding, "chunked"]);
        }
        reads(&compressed("raw", PAGE.as_bytes()), &["deflate"]);
        reads(&compressed("gzip", PAGE.as_bytes()), &[]);
        reads(PAGE.as_bytes(), &["utf-8"]);
    }

    #[test]
    fn what_cannot_be_undone_is_reported() {
        for coding in ["gzip", "deflate", "zstd", "br"] {
            let body = compressed(coding, PAGE.as_bytes());
            refuses(&body[..body.len() - 9], &[coding], "cannot be undone");
            refuses(
                &body,
                &["compress"],
                "Content-Encoding compress cannot be undone: it is unknown",
            );
            refuses(&chunked(&body)[..body.len()], &[coding, "chunked"], "breaks off");
        }
        refuses(
            &compressed("raw", &compressed("zstd", PAGE.as_bytes())),
            &["deflate"],
            "is not text",
        );
        for coding in ["zstd", "br", "deflate"] {
            refuses(&compressed(coding, PAGE.as_bytes()), &[], "is not text");
        }
        refuses(PAGE.as_bytes(), &["br"; 6], "more than 5");
        let bomb = compressed("zstd", &vec![b' '; ITEM_BYTES_MAX + 1]);
        refuses(&bomb, &["zstd"], "larger than");
    }

    #[test]
    fn chunks_are_joined() {
        let joined = |body: &str| unchunked(body.as_bytes());
        let whole = Ok(Some(b"Wikipedia ".to_vec()));
        assert_eq!(joined("4\r\nWiki\r\n6;x=y\r\npedia \r\n0\r\n\r\n"), whole);
        assert_eq!(joined("4\r\nWiki\r\n6\r\npedia \r\n"), whole, "without an end");
        assert_eq!(joined("4\r\nWiki\r\n6\r\npedia "), whole, "without an end");
        assert_eq!(joined("<html>\n"), Ok(None));
        assert_eq!(joined(&("be\n".to_owned() + &"to be or not ".repeat(20))), Ok(None));
        assert!(joined("ff\r\nshort").is_err());
        assert!(joined("4\r\nWiki\r\npedia\r\n").is_err());
    }
}
