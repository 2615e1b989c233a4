//! Headers of answers for browsers.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// A page loads from, calls and is framed by this server only, and sends its address to no other
/// server.
const OF_HTML: [(HeaderName, &str); 3] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
         font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; \
         frame-ancestors 'none'",
    ),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
];

/// Keeps a browser from guessing the type of an answer, and protects pages. A handler's own headers
/// stay.
pub fn protect(headers: &mut HeaderMap) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let media = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    if media.is_some_and(|media| media.starts_with(b"text/html")) {
        for (name, value) in OF_HTML {
            headers.entry(name).or_insert(HeaderValue::from_static(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protected(media: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
        protect(&mut headers);
        headers
    }

    #[test]
    fn pages_are_protected_and_nothing_is_sniffed() {
        let page = protected("text/html; charset=utf-8");
        let policy = page[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(page[header::REFERRER_POLICY], "no-referrer");
        let json = protected("application/json");
        assert_eq!(json[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert!(!json.contains_key(header::CONTENT_SECURITY_POLICY));
    }
}
