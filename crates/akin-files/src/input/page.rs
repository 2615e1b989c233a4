//! The text and the title of an HTML page.

use dom_query::Document;
use dom_smoothie::{Config, Readability, TextMode};

use super::members::{Values, text_value};
use super::options::Extract;
use super::tree::parse;

const ELEMENTS_MAX: usize = 200_000;

/// Elements that are never read: they are invisible, or the same on every page.
const NOT_READ: &str = "script, style, noscript, template, svg, iframe, select, button, nav, \
                        [hidden], [role=navigation], [role=banner], [role=contentinfo], \
                        [role=search], [aria-hidden=true], body > header, body > footer, \
                        body > aside";

/// The page's text and title.
pub fn page(html: &str, extract: Extract) -> Result<Values, String> {
    let document = parse(html)?;
    let title = document.select("title").text();
    let text = match extract {
        Extract::Html => seen(&document),
        Extract::Main => main(document)?,
    };
    let mut values = vec![text_value("text", text.trim())];
    if !title.trim().is_empty() {
        values.push(text_value("title", title.trim()));
    }
    Ok(values)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn text(html: &str, extract: Extract) -> String {
        let values = page(html, extract).unwrap();
        values[0].1.text().unwrap().unwrap().into_owned()
    }

    #[test]
    fn pages_of_many_elements_are_refused() {
        let words = "An article has some sentences, of which this is one. ".repeat(20);
        let page_of = |elements| format!("<p>{words}</p>{}", "<br>".repeat(elements));
        let main = |elements: usize| page(&page_of(elements), Extract::Main);
        assert!(main(1_000).is_ok());
        assert!(main(ELEMENTS_MAX).unwrap_err().contains("200000"));
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
}
