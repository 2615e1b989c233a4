//! The documentation of problem codes, at the address that the `type` of a problem gives.

use std::fmt::Write;

use crate::http::problem::code::Code;

const HEAD: &str = r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Problems · akin</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="../console/style.css">
</head>
<body>
<header class="bar">
<a class="brand" href="../">akin</a>
<nav aria-label="Pages"><a href="../">Console</a> <a href="../docs">API</a>
<a href="problems" aria-current="page">Problems</a></nav>
</header>
<main class="prose">
<h1>Problems</h1>
<p>Every error is a JSON object of the media type <code>application/problem+json</code> (RFC 9457).
Its <code>type</code> is the address of the code on this page, its <code>detail</code> says what is
wrong with this request, <code>errors</code> points at each bad field of a body, and
<code>request_id</code> finds the request in the server's log. Requests with a code that may be
retried come with <code>retry-after</code>.</p>
"#;

const FOOT: &str = "</main>\n</body>\n</html>\n";

/// The page, from the codes.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for code in Code::ALL {
        let (name, status, title) = code.facts();
        let retry = match code.retry_after_s() {
            Some(1) => "may succeed after a second".to_owned(),
            Some(seconds) => format!("may succeed after {seconds} seconds"),
            None => "fails again".to_owned(),
        };
        write!(
            page,
            "<section id=\"{name}\">\n<h2><code>{name}</code></h2>\n\
             <p>{title}. Status {status}; the same request {retry}.</p>\n<p>{advice}</p>\n\
             </section>\n",
            title = escaped(title),
            status = status.as_u16(),
            advice = escaped(code.advice()),
        )
        .expect("a string takes what is written to it");
    }
    page + FOOT
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
