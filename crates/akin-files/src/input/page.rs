//! The text and the title of an HTML page.

use dom_query::Document;
use dom_smoothie::{Config, Readability, ReadabilityError, TextMode};

use super::members::text_value;
use super::sink::{Page, PageMemory};
use super::tree::parse;
use akin_model::content::Extract;

const ELEMENTS_MAX: usize = 200_000;

/// Elements that are never read: they are invisible, or the same on every page.
const NOT_READ: &str = "script, style, noscript, template, svg, iframe, select, button, nav, \
                        [hidden], [role=navigation], [role=banner], [role=contentinfo], \
                        [role=search], [aria-hidden=true], body > header, body > footer, \
                        body > aside";

/// The page's text and title.
///
/// # Errors
/// The page breaks a bound, or its memory is refused.
pub fn page(html: &str, extract: Extract, memory: &mut PageMemory<'_>) -> Result<Page, String> {
    let document = parse(html, memory)?;
    let title = document.select("title").text();
    let (text, has_article) = match extract {
        Extract::Text => (seen(&document), true),
        Extract::Main => match main(document)? {
            Some(text) => (text, true),
            // The search for the article changed the document, whose memory is free again.
            None => (seen(&parse(html, &mut |_| Ok(()))?), false),
        },
    };
    let title = Some(title.trim()).filter(|title| !title.is_empty());
    let further = title.map(|title| text_value("title", title)).into_iter().collect();
    Ok(Page { text: text.trim().to_owned(), further, has_article })
}

fn seen(document: &Document) -> String {
    document.select(NOT_READ).remove();
    document.body().map_or_else(String::new, |body| body.formatted_text().to_string())
}

/// `None` if the page has no article.
fn main(document: Document) -> Result<Option<String>, String> {
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
    match reader.parse() {
        Ok(article) => {
            let text = article.text_content.to_string();
            Ok(Some(text).filter(|text| !text.trim().is_empty()))
        }
        Err(ReadabilityError::GrabFailed) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(html: &str, extract: Extract) -> Result<Page, String> {
        super::page(html, extract, &mut |_| Ok(()))
    }

    fn text(html: &str, extract: Extract) -> String {
        page(html, extract).unwrap().text
    }

    #[test]
    fn pages_of_many_elements_are_refused() {
        let words = "An article has some sentences, of which this is one. ".repeat(20);
        let page_of = |elements| format!("<p>{words}</p>{}", "<br>".repeat(elements));
        let main = |elements: usize| page(&page_of(elements), Extract::Main);
        assert!(main(1_000).is_ok());
        let refused = main(ELEMENTS_MAX).err().unwrap();
        assert!(refused.contains("200000"), "{refused}");
    }

    #[test]
    fn a_page_without_an_article_has_its_text() {
        for (html, words) in [
            (
                "<title>T</title><body><div class=sidebar>Words of a page.</div></body>",
                "Words of a page.",
            ),
            ("<title>T</title><frameset><frame src=a></frameset>", ""),
        ] {
            assert!(!page(html, Extract::Main).unwrap().has_article, "{html}");
            assert_eq!(text(html, Extract::Main), words);
            assert!(page(html, Extract::Text).unwrap().has_article);
        }
        assert!(page("<p>An article of one sentence.", Extract::Main).unwrap().has_article);
    }

    #[test]
    fn scripts_and_navigation_are_not_read() {
        let html = "<title>T</title><body><nav><a href=x>Menu</a></nav><header>Site</header>\
                    <article><header><h1>Head</h1></header><p>One &amp; <b>two</b>.</p>\
                    <p>Three.</p></article><script>var x</script><style>a{}</style>";
        let words = text(html, Extract::Text);
        let words: Vec<_> = words.split_whitespace().collect();
        assert_eq!(words, ["Head", "One", "&", "two.", "Three."]);
    }
}
