//! The texts of HTML pages.

use std::borrow::Cow;
use std::io::BufRead;

use dom_query::Document;
use dom_smoothie::{Config, Readability, TextMode};
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use super::columns::{Member, text_member};
use super::event::Stop;
use super::options::Extract;
use super::sink::Sink;
use super::text::whole_bytes;

/// Larger pages are refused: they are no prose, and a parser's work grows faster than a page.
const PAGE_BYTES_MAX: usize = 8 << 20;
const ELEMENTS_MAX: usize = 200_000;
/// The work of a parser grows with the square of it.
const DEPTH_MAX: usize = 1_000;
/// Elements that need no end, so that counting their tags says nothing of depth.
const ENDLESS: [&str; 20] = [
    "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "option", "br", "hr",
    "img", "input", "meta", "link", "col", "wbr", "area",
];
/// A page names its encoding this early.
const HEAD_BYTES: usize = 1 << 10;

/// What is never read: nobody sees it, or it is the same on every page.
const NOT_READ: &str = "script, style, noscript, template, svg, iframe, select, button, nav, \
                        [hidden], [role=navigation], [role=banner], [role=contentinfo], \
                        [role=search], [aria-hidden=true], body > header, body > footer, \
                        body > aside";

pub fn read(
    reader: impl BufRead,
    named: Option<&'static Encoding>,
    extract: Extract,
    sink: &mut Sink<'_, '_>,
) -> Result<(), Stop> {
    let bytes = whole_bytes(reader)?;
    let page = page(&decoded(&bytes, named), extract);
    let mut members = page.map_err(|reason| Stop::Failed { line: None, reason })?;
    if is_blank(&members) {
        return Err(Stop::Empty);
    }
    let file = sink.file.clone();
    members.push(text_member("id", &file));
    Ok(sink.record(None, &members)?)
}

/// Whether no text was found.
pub fn is_blank(members: &[Member<'_>]) -> bool {
    let text = members.iter().find(|(name, _)| name == "text");
    text.is_none_or(|(_, text)| !text.get().chars().any(char::is_alphanumeric))
}

/// The page's text and title.
pub fn page(html: &str, extract: Extract) -> Result<Vec<Member<'static>>, String> {
    if html.len() > PAGE_BYTES_MAX {
        return Err(format!("the page is larger than {PAGE_BYTES_MAX} bytes"));
    }
    if nests_deeper_than(html, DEPTH_MAX) {
        return Err(format!("the page has more than {DEPTH_MAX} elements in each other"));
    }
    let document = Document::from(html);
    let title = document.select("title").text();
    let text = match extract {
        Extract::Html => seen(&document),
        Extract::Main => main(document)?,
    };
    let mut members = vec![text_member("text", text.trim())];
    if !title.trim().is_empty() {
        members.push(text_member("title", title.trim()));
    }
    Ok(members)
}

fn nests_deeper_than(html: &str, most: usize) -> bool {
    let mut depth = 0_usize;
    html.split('<').skip(1).any(|tag| {
        let (ends, tag) = tag.strip_prefix('/').map_or((false, tag), |tag| (true, tag));
        let end = tag.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(tag.len());
        let name = &tag[..end];
        if !name.is_empty() && !ENDLESS.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            depth = if ends { depth.saturating_sub(1) } else { depth + 1 };
        }
        depth > most
    })
}

fn seen(document: &Document) -> String {
    document.select(NOT_READ).remove();
    document.body().map_or_else(String::new, |body| body.formatted_text().to_string())
}

fn main(document: Document) -> Result<String, String> {
    let config = Config {
        max_elements_to_parse: ELEMENTS_MAX,
        text_mode: TextMode::Formatted,
        disable_json_ld: true,
        // A short page is a page, too.
        char_threshold: 0,
        ..Config::default()
    };
    let mut reader = Readability::with_document(document, None, Some(config))
        .map_err(|error| error.to_string())?;
    reader
        .parse()
        .map(|article| article.text_content.to_string())
        .map_err(|error| error.to_string())
}

/// By the mark, the name given, the page's own word for it; else UTF-8, and last Windows-1252, as
/// browsers do.
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

/// What follows `charset=`.
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

    fn text(html: &str, extract: Extract) -> String {
        let members = page(html, extract).unwrap();
        serde_json::from_str(members[0].1.get()).unwrap()
    }

    #[test]
    fn scripts_and_navigation_are_not_read() {
        let html = "<title>T</title><body><nav><a href=x>Menu</a></nav><header>Site</header>\
                    <article><header><h1>Head</h1></header><p>One &amp; <b>two</b>.</p>\
                    <p>Three.</p></article><script>var x</script><style>a{}</style>";
        let words = text(html, Extract::Html);
        let words: Vec<_> = words.split_whitespace().collect();
        assert_eq!(words, ["Head", "One", "&", "two.", "Three."]);
    }

    #[test]
    fn a_page_names_its_encoding_or_is_read_as_browsers_do() {
        assert_eq!(decoded(b"<meta charset='iso-8859-2'>\xb1", None).chars().last(), Some('ą'));
        assert_eq!(decoded(b"<p>caf\xe9", None), "<p>café");
        assert_eq!(decoded("<p>café".as_bytes(), None), "<p>café");
        assert_eq!(charset("text/html; charset=UTF-8"), Some(UTF_8));
    }

    #[test]
    fn deep_pages_are_read_or_refused() {
        let deep = "<div>".repeat(200) + "text";
        assert_eq!(text(&deep, Extract::Html), "text");
        let deep = "<div>".repeat(DEPTH_MAX + 1) + "text";
        assert!(page(&deep, Extract::Html).unwrap_err().contains("in each other"));
        assert!(!nests_deeper_than(&"<p>a<b>b</b><br>".repeat(DEPTH_MAX + 1), 3));
    }
}
