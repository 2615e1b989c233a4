//! The encoding of an HTML page, as browsers find it: by the HTML Standard, section 13.2.3.2.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use memchr::memmem;

/// Browsers wait for so many bytes before they choose an encoding.
const PRESCAN_BYTES: usize = 1 << 10;
/// The elements whose text has no tags.
const RAW_TEXTS: [&[u8]; 8] =
    [b"script", b"style", b"title", b"textarea", b"xmp", b"iframe", b"noembed", b"noframes"];

/// The text of a page. A byte order mark decides, then the encoding of the `Content-Type` header
/// (`named`), then a declaration in the first 1,024 bytes, then a later declaration. A page that
/// has none of them is UTF-8, or else Windows-1252.
pub fn decode_page<'b>(bytes: &'b [u8], named: Option<&'static Encoding>) -> Cow<'b, str> {
    let declared = || {
        let start = &bytes[..bytes.len().min(PRESCAN_BYTES)];
        prescan(start, false).or_else(|| prescan(bytes, true))
    };
    named.or_else(declared).unwrap_or_else(|| undeclared(bytes)).decode(bytes).0
}

/// The encoding of a text that declares none: UTF-8, or else Windows-1252. After other characters
/// beyond ASCII, the last character may be cut off.
pub fn undeclared(text: &[u8]) -> &'static Encoding {
    match std::str::from_utf8(text) {
        Err(error) if error.error_len().is_some() => WINDOWS_1252,
        Err(error) if text[..error.valid_up_to()].is_ascii() => WINDOWS_1252,
        _ => UTF_8,
    }
}

/// The encoding in a `Content-Type` header.
pub fn charset_of(content_type: &str) -> Option<&'static Encoding> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let label = value.trim().trim_matches(['"', '\'']);
        name.trim().eq_ignore_ascii_case("charset").then(|| of_label(label.as_bytes()))?
    })
}

fn of_label(label: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_label_no_replacement(label)
}

/// An encoding that a page declares in bytes that contain ASCII cannot be UTF-16.
fn readable(encoding: &'static Encoding) -> &'static Encoding {
    match encoding {
        utf_16 if utf_16 == UTF_16LE || utf_16 == UTF_16BE => UTF_8,
        user if user == X_USER_DEFINED => WINDOWS_1252,
        encoding => encoding,
    }
}

/// "Prescan a byte stream to determine its encoding". `skips_raw_text`: as a parser, which comes
/// to later declarations, and unlike the prescan, scripts are not searched for tags.
fn prescan(bytes: &[u8], skips_raw_text: bool) -> Option<&'static Encoding> {
    if bytes.starts_with(b"<\0?\0x\0") {
        return Some(UTF_16LE);
    }
    if bytes.starts_with(b"\0<\0?\0x") {
        return Some(UTF_16BE);
    }
    let mut scan = Prescan { bytes, at: 0 };
    let declared = scan.find_meta(skips_raw_text).ok();
    declared.or_else(|| xml_encoding(bytes)).map(readable)
}

struct Prescan<'b> {
    bytes: &'b [u8],
    at: usize,
}

/// Its name and its value, in lower case.
type Attribute = (Vec<u8>, Vec<u8>);

/// The bytes ended.
struct End;

impl Prescan<'_> {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    fn byte(&self) -> Result<u8, End> {
        self.bytes.get(self.at).copied().ok_or(End)
    }

    /// Goes to the next byte that `is` accepts.
    fn seek(&mut self, is: impl Fn(u8) -> bool) -> Result<(), End> {
        self.at += self.rest().iter().position(|byte| is(*byte)).ok_or(End)?;
        Ok(())
    }

    fn find_meta(&mut self, skips_raw_text: bool) -> Result<&'static Encoding, End> {
        loop {
            self.seek(|byte| byte == b'<')?;
            let rest = self.rest();
            let is_meta = rest.len() > 5 && rest[1..5].eq_ignore_ascii_case(b"meta");
            let is_end = rest.get(1) == Some(&b'/');
            if rest.starts_with(b"<!--") {
                // The dashes may be the dashes of the beginning.
                self.at += 2 + memmem::find(&rest[2..], b"-->").ok_or(End)? + 3;
            } else if is_meta && (is_space(rest[5]) || rest[5] == b'/') {
                self.at += 5;
                if let Some(encoding) = self.meta()? {
                    return Ok(encoding);
                }
            } else if rest.get(1 + usize::from(is_end)).is_some_and(u8::is_ascii_alphabetic) {
                let name = self.at + 1;
                self.seek(|byte| is_space(byte) || byte == b'>')?;
                let name = self.bytes[name..self.at].to_ascii_lowercase();
                while self.attribute()?.is_some() {}
                if skips_raw_text && RAW_TEXTS.contains(&name.as_slice()) {
                    self.skip_raw_text(&name)?;
                }
            } else if matches!(rest.get(1), Some(b'!' | b'/' | b'?')) {
                self.seek(|byte| byte == b'>')?;
            } else {
                self.at += 1;
            }
        }
    }

    /// Goes to the end tag of this name.
    fn skip_raw_text(&mut self, name: &[u8]) -> Result<(), End> {
        let is_end = |at: &usize| {
            let tag = self.rest().get(at + 2..at + 2 + name.len());
            tag.is_some_and(|tag| tag.eq_ignore_ascii_case(name))
        };
        self.at += memmem::find_iter(self.rest(), b"</").find(is_end).ok_or(End)?;
        Ok(())
    }

    /// The encoding that the attributes of a `meta` declare.
    fn meta(&mut self) -> Result<Option<&'static Encoding>, End> {
        let (mut names, mut is_pragma, mut needs_pragma) = (Vec::new(), false, None);
        let mut encoding = None;
        while let Some((name, value)) = self.attribute()? {
            if names.contains(&name) {
                continue;
            }
            match name.as_slice() {
                b"http-equiv" => is_pragma |= value == b"content-type",
                b"content" if encoding.is_none() => {
                    encoding = of_content(&value);
                    needs_pragma = encoding.map(|_| true).or(needs_pragma);
                }
                b"charset" => (encoding, needs_pragma) = (of_label(&value), Some(false)),
                _ => continue,
            }
            names.push(name);
        }
        Ok(encoding.filter(|_| needs_pragma.is_some_and(|needs| !needs || is_pragma)))
    }

    /// "Get an attribute".
    fn attribute(&mut self) -> Result<Option<Attribute>, End> {
        self.seek(|byte| !is_space(byte) && byte != b'/')?;
        if self.byte()? == b'>' {
            return Ok(None);
        }
        let start = self.at;
        // An equals sign at the beginning belongs to the name.
        self.at += 1;
        self.seek(|byte| is_space(byte) || matches!(byte, b'=' | b'/' | b'>'))?;
        let name = self.bytes[start..self.at].to_ascii_lowercase();
        if is_space(self.byte()?) {
            self.seek(|byte| !is_space(byte))?;
        }
        if self.byte()? != b'=' {
            return Ok(Some((name, Vec::new())));
        }
        self.at += 1;
        self.seek(|byte| !is_space(byte))?;
        let quote = Some(self.byte()?).filter(|byte| matches!(byte, b'"' | b'\''));
        self.at += usize::from(quote.is_some());
        let start = self.at;
        match quote {
            Some(quote) => self.seek(|byte| byte == quote)?,
            None => self.seek(|byte| is_space(byte) || byte == b'>')?,
        }
        let value = self.bytes[start..self.at].to_ascii_lowercase();
        self.at += usize::from(quote.is_some());
        Ok(Some((name, value)))
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

/// "Extracting a character encoding from a meta element", of a value in lower case.
fn of_content(mut value: &[u8]) -> Option<&'static Encoding> {
    loop {
        let at = memmem::find(value, b"charset")?;
        value = value[at + b"charset".len()..].trim_ascii_start();
        if let Some(label) = value.strip_prefix(b"=") {
            let label = label.trim_ascii_start();
            return match label.first()? {
                quote @ (b'"' | b'\'') => {
                    let end = label[1..].iter().position(|byte| byte == quote)?;
                    of_label(&label[1..=end])
                }
                _ => of_label(label.split(|byte| is_space(*byte) || *byte == b';').next()?),
            };
        }
    }
}

/// "Get an XML encoding".
fn xml_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let declaration = bytes.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..declaration.iter().position(|byte| *byte == b'>')?];
    let at = memmem::find(declaration, b"encoding")?;
    let blank = |bytes: &[u8]| bytes.iter().take_while(|byte| **byte <= b' ').count();
    let value = &declaration[at + b"encoding".len()..];
    let value = value[blank(value)..].strip_prefix(b"=")?;
    let value = &value[blank(value)..];
    let quote = value.first().filter(|byte| matches!(byte, b'"' | b'\''))?;
    let end = value[1..].iter().position(|byte| byte == quote)?;
    let label = &value[1..=end];
    if label.iter().any(|byte| *byte <= b' ') { None } else { of_label(label) }
}

#[cfg(test)]
mod tests {
    use encoding_rs::{BIG5, EUC_JP, GBK, ISO_8859_2, KOI8_R, SHIFT_JIS};

    use super::*;

    fn declared(page: &str) -> Option<&'static Encoding> {
        prescan(page.as_bytes(), false)
    }

    #[test]
    fn declarations_are_found_as_in_browsers() {
        for (page, encoding) in [
            ("<meta charset=koi8-r>", Some(KOI8_R)),
            ("<META\nCHARSET = 'KOI8-R' />", Some(KOI8_R)),
            ("<meta/charset=koi8-r>", Some(KOI8_R)),
            ("<metax charset=koi8-r>", None),
            ("<meta name=charset content=koi8-r>", None),
            ("<meta http-equiv=Content-Type content='text/html; charset = euc-jp'>", Some(EUC_JP)),
            ("<meta content=\"x; charset='big5';\" http-equiv=\"content-type\">", Some(BIG5)),
            ("<meta content='text/html; charset=big5'>", None),
            ("<meta http-equiv=content-type content='charset charset=gbk x'>", Some(GBK)),
            ("<meta charset=klingon><meta charset=gbk>", Some(GBK)),
            ("<meta charset=gbk charset=big5>", Some(GBK)),
            ("<meta charset=unicode>", Some(UTF_8)),
            ("<meta charset=utf-16be>", Some(UTF_8)),
            ("<meta charset=x-user-defined>", Some(WINDOWS_1252)),
            ("<!-- <meta charset=gbk> --><meta charset=big5>", Some(BIG5)),
            ("<!--><meta charset=gbk>", Some(GBK)),
            ("<!-- <meta charset=gbk>", None),
            ("<a title='<meta charset=gbk>'><meta charset=big5>", Some(BIG5)),
            ("<!doctype <meta charset=gbk><meta charset=big5>", Some(BIG5)),
            ("</ <meta charset=gbk><meta charset=big5>", Some(BIG5)),
            ("<a <meta charset=gbk>", None),
            ("<meta charset=gbk", None),
            ("<?xml version='1.0' encoding='shift_jis'?><html>", Some(SHIFT_JIS)),
            ("<?xml version='1.0' encoding = \"shift_jis\"?><meta charset=gbk>", Some(GBK)),
            ("<?xml version='1.0' encoding='utf-16'?>", Some(UTF_8)),
            ("<\0?\0x\0m\0l\0", Some(UTF_16LE)),
            ("<p>charset=gbk", None),
        ] {
            assert_eq!(declared(page), encoding, "{page}");
        }
        // The prescan reads scripts like the rest of the page; a parser does not.
        let script = "<script>'<meta charset=gbk>'</Script><meta charset=big5>";
        assert_eq!(declared(script), Some(GBK));
        assert_eq!(prescan(script.as_bytes(), true), Some(BIG5));
    }

    #[test]
    fn headers_name_encodings() {
        for header in [
            "text/html; charset=KOI8-R",
            "text/html;x=y; Charset = \"koi8-r\"",
            "x; charset='koi8-r'",
        ] {
            assert_eq!(charset_of(header), Some(KOI8_R), "{header}");
        }
        for header in ["text/html", "charset=koi8-r", "text/html; charset=klingon"] {
            assert_eq!(charset_of(header), None, "{header}");
        }
    }

    #[test]
    fn marks_headers_and_declarations_decide_in_this_order() {
        let text = |page: &[u8], named| decode_page(page, named).into_owned();
        let page = b"<meta charset=iso-8859-2>\xb1";
        assert!(text(page, None).ends_with('ą'));
        assert!(text(page, Some(KOI8_R)).ends_with('╠'));
        assert_eq!(
            text(b"\xef\xbb\xbf<meta charset=gbk>\xc3\xa9", Some(GBK)).chars().last(),
            Some('é')
        );
        assert_eq!(text(b"<p>caf\xe9", None), "<p>café");
        assert_eq!(text("<p>café".as_bytes(), None), "<p>café");
        let late = |script: &str| {
            let blank = " ".repeat(2 * PRESCAN_BYTES);
            [script.as_bytes(), blank.as_bytes(), b"<meta charset=iso-8859-2>\xb1"].concat()
        };
        assert!(text(&late(""), None).ends_with('ą'));
        assert!(text(&late("<script>f('<!--')</script>"), None).ends_with('ą'));
        assert!(text(&late(""), Some(ISO_8859_2)).ends_with('ą'));
    }
}
