//! The documentation of problem codes, at the address that the `type` of a problem gives.

use std::fmt::Write;

use crate::http::problem::Code;

/// The page, with a placeholder for the problems.
const PAGE: &str = include_str!("problems.html");

/// The page, from the codes.
pub fn page() -> String {
    let mut problems = String::new();
    for code in Code::ALL {
        let (name, status, title) = code.facts();
        let retry = match code.retry_after_s() {
            Some(1) => "may succeed after a second".to_owned(),
            Some(seconds) => format!("may succeed after {seconds} seconds"),
            None => "fails again".to_owned(),
        };
        write!(
            problems,
            "<section id=\"{name}\">\n<h2><code>{name}</code></h2>\n\
             <p>{title}. Status {status}; the same request {retry}.</p>\n<p>{advice}</p>\n\
             </section>\n",
            title = escaped(title),
            status = status.as_u16(),
            advice = escaped(code.advice()),
        )
        .expect("a string takes what is written to it");
    }
    PAGE.replace("{{problems}}\n", &problems)
}

/// Text as HTML, with `code` between backticks.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let parts = text.split('`').enumerate();
    let is_code = |part: usize| part % 2 == 1;
    parts
        .map(|(i, part)| if is_code(i) { format!("<code>{part}</code>") } else { part.into() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_an_anchor_and_advice() {
        let page = page();
        for code in Code::ALL {
            let (name, ..) = code.facts();
            assert_eq!(page.matches(&format!("id=\"{name}\"")).count(), 1, "{name}");
            assert!(page.contains(&escaped(code.advice())), "{name}");
        }
        assert!(!page.contains('`'), "code is marked up");
    }
}
