//! The console at `/` and the documentation at `/docs`: files that are part of the binary, so that
//! they need no network and always fit the server that they talk to.
//!
//! `assets/` is plain HTML, CSS and ES modules, served as they are. They are open to everyone: the
//! pages read the API with the reader's key.

mod problems;

use std::borrow::Cow;
use std::sync::LazyLock;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use xxhash_rust::xxh3::xxh3_64;

use crate::http::access::Route;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// A file as it is served.
struct ConsolePage {
    path: &'static str,
    media: &'static str,
    body: Cow<'static, str>,
    /// Weak, as a response may be compressed.
    etag: HeaderValue,
}

impl ConsolePage {
    fn new(path: &'static str, media: &'static str, body: impl Into<Cow<'static, str>>) -> Self {
        let body = body.into();
        let etag = format!("W/\"{:016x}\"", xxh3_64(body.as_bytes()));
        let etag = HeaderValue::try_from(etag).expect("hexadecimal digits in quotes are ASCII");
        Self { path, media, body, etag }
    }

    /// The page, or 304 if the client has it already.
    fn answer(&'static self, headers: &HeaderMap) -> Response {
        let about = [
            (header::ETAG, self.etag.clone()),
            // It is asked for again each time, so that a new version is seen at once.
            (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        ];
        if self.is_known_to(headers) {
            return (StatusCode::NOT_MODIFIED, about).into_response();
        }
        let media = [(header::CONTENT_TYPE, HeaderValue::from_static(self.media))];
        (about, media, &*self.body).into_response()
    }

    fn is_known_to(&self, headers: &HeaderMap) -> bool {
        let known = headers.get_all(header::IF_NONE_MATCH).iter();
        let mut tags = known.filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(','));
        tags.any(|tag| tag.trim() == "*" || tag.trim().as_bytes() == self.etag.as_bytes())
    }
}

macro_rules! scripts {
    ($($name:literal)+) => {
        [$((concat!("/console/", $name), include_str!(concat!("assets/", $name)))),+]
    };
}

static PAGES: LazyLock<Vec<ConsolePage>> = LazyLock::new(|| {
    let pages = [
        ConsolePage::new("/", HTML, include_str!("assets/index.html")),
        ConsolePage::new("/console/style.css", CSS, include_str!("assets/style.css")),
        ConsolePage::new("/docs", HTML, include_str!("assets/docs.html")),
        ConsolePage::new("/docs/problems", HTML, problems::page()),
    ];
    let scripts = scripts!(
        "api.js" "app.js" "charts.js" "clusters.js" "compare.js" "comparison.js" "corpus.js"
        "docs.js" "documents.js" "dom.js" "format.js" "graph.js" "histogram.js" "interval.js"
        "lookup.js" "markdown.js" "metrics.js" "passages.js" "pieces.js" "probe.js" "problem.js"
        "route.js" "schema.js" "snippet.js" "start.js" "tryout.js" "tuning.js"
    );
    let scripts = scripts.map(|(path, text)| ConsolePage::new(path, SCRIPT, text));
    pages.into_iter().chain(scripts).collect()
});

/// A route for each page.
pub fn routes() -> impl Iterator<Item = Route> {
    PAGES.iter().map(|page| {
        Route::page(page.path, get(move |headers: HeaderMap| async move { page.answer(&headers) }))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_console_file_is_served_and_short() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http/console/assets");
        let served: HashSet<&str> = PAGES.iter().map(|page| &*page.body).collect();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            assert!(served.contains(&*text), "{} is not served", path.display());
            assert!(text.lines().count() <= 400, "{} has too many lines", path.display());
        }
    }

    #[test]
    fn nothing_is_inline_and_nothing_comes_from_elsewhere() {
        for page in PAGES.iter() {
            for (at, _) in page.body.match_indices("://") {
                let start = page.body[..at].rfind(char::is_whitespace).unwrap_or(0);
                let address = page.body[start..].split_whitespace().next().unwrap_or_default();
                let is_name = address.contains("www.w3.org/2000/svg");
                assert!(is_name, "{} names {address}", page.path);
            }
            for inline in ["<script>", " style=\"", "<style", " onclick=\"", "innerHTML"] {
                assert!(!page.body.contains(inline), "{} has {inline}", page.path);
            }
        }
    }
}
