//! The texts of HTML pages.

use std::borrow::Cow;
use std::io::BufRead;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use super::event::Stop;
use super::members::Value;
use super::options::Extract;
use super::page::page;
use super::sink::Sink;
use super::text::whole_bytes;

/// A page names its encoding within these first bytes.
const HEAD_BYTES: usize = 1 << 10;

pub fn read(
    reader: impl BufRead,
    named: Option<&'static Encoding>,
    extract: Extract,
    sink: &mut Sink<'_, '_>,
) -> Result<(), Stop> {
    let bytes = whole_bytes(reader)?;
    let page = page(&decoded(&bytes, named), extract);
    let mut values = page.map_err(|reason| Stop::Failed { line: None, reason })?;
    values.push(("id".into(), Value::Text(sink.file.to_string().into())));
    Ok(sink.record(None, values)?)
}

/// Decodes by the byte order mark, by `named`, by the page's own declaration, as UTF-8, or as
/// Windows-1252, in this order, as browsers do.
pub fn decoded<'b>(bytes: &'b [u8], named: Option<&'static Encoding>) -> Cow<'b, str> {
    let own = || declared(&bytes[..bytes.len().min(HEAD_BYTES)]);
    let fallback = || match std::str::from_utf8(bytes) {
        Ok(_) => UTF_8,
        Err(_) => WINDOWS_1252,
    };
    let encoding = named.or_else(own).unwrap_or_else(fallback);
    encoding.decode(bytes).0
}

/// `<meta charset="…">`, or the same in a `content-type`.
fn declared(head: &[u8]) -> Option<&'static Encoding> {
    charset(&String::from_utf8_lossy(head))
}

/// The encoding named after `charset=`.
pub fn charset(text: &str) -> Option<&'static Encoding> {
    let lower = text.to_ascii_lowercase();
    let (_, rest) = lower.split_once("charset=")?;
    let rest = rest.trim_start_matches(['"', '\'', ' ']);
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:".contains(c));
    Encoding::for_label(&rest.as_bytes()[..end.unwrap_or(rest.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_decoded_as_in_browsers() {
        assert_eq!(decoded(b"<meta charset='iso-8859-2'>\xb1", None).chars().last(), Some('ą'));
        assert_eq!(decoded(b"<p>caf\xe9", None), "<p>café");
        assert_eq!(decoded("<p>café".as_bytes(), None), "<p>café");
        assert_eq!(charset("text/html; charset=UTF-8"), Some(UTF_8));
    }
}
