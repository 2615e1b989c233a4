//! The text and the title of an HTML page.

use dom_query::{Attr, Document, Element};
use dom_smoothie::{Config, Readability, ReadabilityError, TextMode};

use super::members::text_value;
use super::sink::{Page, PageBudget, PageCost};
use super::tree::parse;
use akin_model::content::Extract;

const ELEMENTS_MAX: usize = 200_000;

/// The [`steps`] of the search for the main text. A page of 25,000 elements, each with a text
/// and in a hundred others, has about as many.
const STEPS_MAX: usize = 5_000_000;

/// Bytes of a text that are read in about the time that it takes to go from an element to another.
const STEP_BYTES: usize = 64;

/// Elements that are never read.
const NOT_READ: [&str; 9] =
    ["script", "style", "noscript", "template", "svg", "iframe", "select", "button", "nav"];

/// The page's text and title.
///
/// # Errors
/// The page breaks a bound, or its memory or its work is refused.
pub fn page(html: &str, extract: Extract, budget: &mut PageBudget<'_>) -> Result<Page, String> {
    let document = parse(html, budget)?;
    let titles = document.root().descendants_it().filter(|node| node.has_name("title"));
    let title: String = titles.map(|title| title.text().to_string()).collect();
    let (text, has_article) = match extract {
        Extract::Text => (seen(&document), true),
        Extract::Main => match main(document, budget)? {
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
    let mut left = vec![(document.root(), false)];
    while let Some((node, is_in_body)) = left.pop() {
        if node.element_ref().is_some_and(|element| is_never_read(&element, is_in_body)) {
            node.remove_from_parent();
        } else {
            let is_body = node.has_name("body");
            left.extend(node.children_it(false).map(|child| (child, is_body)));
        }
    }
    document.body().map_or_else(String::new, |body| body.formatted_text().to_string())
}

/// Whether an element is invisible, or the same on every page. `is_in_body`: directly in it.
fn is_never_read(element: &Element, is_in_body: bool) -> bool {
    let name = &&*element.name.local;
    let by_attribute = |attribute: &Attr| match (&*attribute.name.local, &*attribute.value) {
        ("hidden", _) | ("aria-hidden", "true") => true,
        ("role", role) => ["navigation", "banner", "contentinfo", "search"].contains(&role),
        _ => false,
    };
    NOT_READ.contains(name)
        || is_in_body && ["header", "footer", "aside"].contains(name)
        || element.attrs.iter().any(by_attribute)
}

/// The search for the main text reads the text of each element with all elements in it, so each
/// element and each text is visited once for every element that it is in.
fn steps(document: &Document) -> usize {
    let mut left = vec![(document.root(), 0)];
    let mut steps = 0;
    while let Some((node, depth)) = left.pop() {
        let bytes = if node.is_text() { node.text().len() } else { 0 };
        steps += depth * (1 + bytes / STEP_BYTES);
        left.extend(node.children_it(false).map(|child| (child, depth + 1)));
    }
    steps
}

/// `None` if the page has no article.
fn main(document: Document, budget: &mut PageBudget<'_>) -> Result<Option<String>, String> {
    let steps = steps(&document);
    if steps > STEPS_MAX {
        return Err("the page is too deep for its main text: extract=text takes all of it".into());
    }
    budget(PageCost::Steps(steps))?;
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

    /// The search for the main text would take time by the product of both.
    #[test]
    fn pages_of_many_or_long_elements_deep_in_others_have_no_main_text() {
        let page_of = |depth, rest: &str| format!("{}{rest}", "<div>".repeat(depth));
        let elements = |count| "<p>a, b".repeat(count);
        for (depth, rest) in [(900, elements(25_000)), (900, "word ".repeat(200_000))] {
            let page = page_of(depth, &rest);
            let refused = super::page(&page, Extract::Main, &mut |_| Ok(())).err().unwrap();
            assert!(refused.contains("too deep"), "{refused}");
            assert!(!text(&page, Extract::Text).is_empty());
        }
        for (depth, rest) in [(100, elements(20_000)), (900, elements(10)), (1, elements(25_000))] {
            assert!(page(&page_of(depth, &rest), Extract::Main).is_ok());
        }
        let mut steps = 0;
        let mut refuse = |cost| match cost {
            PageCost::Memory(_) => Ok(()),
            PageCost::Steps(of_page) => {
                steps = of_page;
                Err("no".to_owned())
            }
        };
        assert_eq!(super::page("<p>a", Extract::Main, &mut refuse).err().unwrap(), "no");
        assert_eq!(steps, 1 + 2 + 2 + 3 + 4, "html, head, body, p and its text");
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
                    <p>Three.</p><aside>Four.</aside></article><aside>Beside</aside>\
                    <p hidden>No</p><p aria-hidden=true>No</p><p aria-hidden=false>Five.</p>\
                    <div><p role=search>No</p><p role=note>Six.<svg><text>No</text></svg></div>\
                    <script>var x</script><style>a{}</style>";
        let words = text(html, Extract::Text);
        let words: Vec<_> = words.split_whitespace().collect();
        assert_eq!(words, ["Head", "One", "&", "two.", "Three.", "Four.", "Five.", "Six."]);
        assert_eq!(text("<body role=navigation><p>No", Extract::Text), "");
    }
}
