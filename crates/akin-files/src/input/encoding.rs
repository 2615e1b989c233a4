//! Texts in encodings other than UTF-8, and byte order marks.

use std::io::{self, BufRead, BufReader, Read};

use encoding_rs::{Decoder, DecoderResult, Encoding};

/// The byte order mark of UTF-8, which concatenated files have at their joints, too.
pub const UTF_8_MARK: &[u8] = b"\xef\xbb\xbf";

/// Parses `--encoding`.
pub fn encoding(label: &str) -> Result<&'static Encoding, String> {
    Encoding::for_label(label.as_bytes()).ok_or_else(|| {
        format!("there is no encoding '{label}', but utf-8, utf-16le, latin1, windows-1252, gbk, …")
    })
}

/// The text as UTF-8, without a byte order mark. A mark overrides `named`.
pub fn decoded<'a>(
    start: &[u8],
    mut reader: Box<dyn BufRead + 'a>,
    named: Option<&'static Encoding>,
) -> Box<dyn BufRead + 'a> {
    let marked = Encoding::for_bom(start);
    if let Some((_, bytes)) = marked {
        reader = Box::new(io::Read::chain(&b""[..], skip(reader, bytes)));
    }
    match marked.map(|(encoding, _)| encoding).or(named) {
        None => reader,
        Some(encoding) if encoding == encoding_rs::UTF_8 => reader,
        Some(encoding) => {
            let decoder = encoding.new_decoder_without_bom_handling();
            Box::new(BufReader::new(Decoding { inner: reader, decoder, bytes: 0, ended: false }))
        }
    }
}

/// The mark has been seen, so it can be read again.
fn skip<R: BufRead>(mut reader: R, bytes: usize) -> R {
    let mut left = bytes;
    while left > 0 {
        let Ok(read @ 1..) = reader.fill_buf().map(|buffer| buffer.len().min(left)) else { break };
        reader.consume(read);
        left -= read;
    }
    reader
}

struct Decoding<R> {
    inner: R,
    decoder: Decoder,
    /// The number of bytes decoded so far.
    bytes: u64,
    ended: bool,
}

impl<R: BufRead> Read for Decoding<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.ended {
            let input = self.inner.fill_buf()?;
            let last = input.is_empty();
            let (result, read, written) =
                self.decoder.decode_to_utf8_without_replacement(input, buffer, last);
            self.inner.consume(read);
            self.bytes += read as u64;
            self.ended = last && result == DecoderResult::InputEmpty;
            if let DecoderResult::Malformed(..) = result {
                let (name, at) = (self.decoder.encoding().name(), self.bytes);
                let reason = format!("the text before byte {at} is not {name}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
            if written > 0 {
                return Ok(written);
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &'static [u8], named: Option<&str>) -> io::Result<String> {
        let named = named.map(|label| encoding(label).unwrap());
        io::read_to_string(decoded(bytes, Box::new(bytes), named))
    }

    #[test]
    fn byte_order_marks_override_the_encoding_option() {
        assert_eq!(read(b"\xef\xbb\xbfa\xc3\xa9", Some("latin1")).unwrap(), "aé");
        assert_eq!(read(b"\xff\xfea\0\xe9\0", None).unwrap(), "aé");
        assert_eq!(read(b"\xfe\xff\0a\0\xe9", Some("utf-8")).unwrap(), "aé");
        assert_eq!(read(b"a\xe9", Some("latin1")).unwrap(), "aé");
        assert_eq!(read(b"a\0\xe9\0", Some("utf-16le")).unwrap(), "aé");
        assert!(read(b"a\0\xe9", Some("utf-16le")).is_err(), "half a character");
        let error = read(b"ok \x81", Some("shift_jis")).unwrap_err().to_string();
        assert!(error.contains("Shift_JIS"), "{error}");
        assert!(encoding("klingon").unwrap_err().contains("klingon"));
    }
}
