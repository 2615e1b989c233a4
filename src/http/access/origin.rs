//! Requests that web pages send.
//!
//! A browser sends requests for any page that its user visits, also to servers that only this
//! machine or network can reach. It says so: by `Origin` wherever the request may change something
//! or its answer may be read, and by `Sec-Fetch-Site` elsewhere.

use std::time::Duration;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use tower_http::cors::CorsLayer;

use crate::http::problem::{Code, Problem};
use crate::http::request_id;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// How long a browser may remember the answer to a preflight.
const PREFLIGHT_MAX_AGE: Duration = Duration::from_secs(600);

/// # Errors
/// The request comes from a page whose origin is neither the server's own nor in `allowed`.
pub fn check(headers: &HeaderMap, host: &Authority, allowed: &[String]) -> Result<(), Problem> {
    let mut origins = headers.get_all(header::ORIGIN).iter().peekable();
    let is = |name, value: &str| headers.get(name).is_some_and(|found| found == value);
    // A page of another site wants the answer, for an image or a script, say. A link that the user
    // follows is a request of the user.
    let is_foreign = (is(FETCH_SITE, "cross-site") || is(FETCH_SITE, "same-site"))
        && !is(FETCH_MODE, "navigate");
    if origins.peek().is_none() && is_foreign {
        return Err(refused("another site"));
    }
    for origin in origins {
        let origin = origin.to_str().unwrap_or("(not ASCII)");
        if !is_own(origin, host) && !allowed.iter().any(|known| known == origin) {
            return Err(refused(origin));
        }
    }
    Ok(())
}

fn refused(origin: &str) -> Problem {
    let detail = format!(
        "a web page of {origin} sent the request; server.cors_origins lists the origins that may"
    );
    Problem::new(Code::ForeignOrigin, detail)
}

/// Whether the server delivered the page. A proxy in between may add TLS, so the scheme only
/// supplies the port that is left out.
fn is_own(origin: &str, host: &Authority) -> bool {
    let Ok(uri) = origin.parse::<Uri>() else { return false };
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else { return false };
    let default = if scheme == "https" { 443 } else { 80 };
    let port = |of: &Authority| of.port_u16().unwrap_or(default);
    authority.host().eq_ignore_ascii_case(host.host()) && port(authority) == port(host)
}

/// Refuses the preflight of a request that would be refused. The layer of [`cors`] would answer it
/// without a reason.
///
/// # Errors
/// The page is of a foreign origin, or wants to use a method or a header that pages may not use.
pub fn check_preflight(
    headers: &HeaderMap,
    host: &Authority,
    allowed: &[String],
) -> Result<(), Problem> {
    check(headers, host, allowed)?;
    let listed = |name| headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let method = listed(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut methods = method.filter(|method| !METHODS.iter().any(|known| known == method));
    if let Some(method) = methods.next() {
        return Err(not_of_pages("the method", method));
    }
    let names = listed(header::ACCESS_CONTROL_REQUEST_HEADERS).flat_map(|names| names.split(','));
    let mut names = names.map(str::trim).filter(|name| {
        !name.is_empty() && !HEADERS.iter().any(|known| name.eq_ignore_ascii_case(known.as_str()))
    });
    names.next().map_or(Ok(()), |name| Err(not_of_pages("the header", name)))
}

fn not_of_pages(what: &str, name: &str) -> Problem {
    let headers = HEADERS.map(|header| header.to_string()).join(", ");
    let detail = format!(
        "a web page wants to send {what} '{name}': pages may send GET, POST, PUT, \
         PATCH and DELETE, \
         and the headers {headers}"
    );
    Problem::new(Code::ForeignOrigin, detail)
}

/// The requests that pages of the listed origins may send.
const METHODS: [Method; 5] =
    [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
const HEADERS: [HeaderName; 4] =
    [header::AUTHORIZATION, header::CONTENT_TYPE, header::CONTENT_ENCODING, request_id::HEADER];

/// Lets the pages of these origins read answers; `None` without any.
pub fn cors(origins: &[String]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let origins: Vec<HeaderValue> = origins.iter().filter_map(|o| o.parse().ok()).collect();
    let layer = CorsLayer::new()
        .allow_origin(origins)
        .allow_methods(METHODS)
        .allow_headers(HEADERS)
        .expose_headers([header::LOCATION, header::RETRY_AFTER, request_id::HEADER])
        .max_age(PREFLIGHT_MAX_AGE);
    Some(layer)
}

/// The fault of an origin in the settings: it must be as browsers write it.
pub fn fault(origin: &str) -> Option<String> {
    let authority = ["http://", "https://"].iter().find_map(|scheme| origin.strip_prefix(scheme));
    let is_origin = authority.is_some_and(|authority| {
        let is_plain = !authority.contains('@') && authority.to_ascii_lowercase() == authority;
        is_plain && authority.parse::<Authority>().is_ok()
    });
    (!is_origin).then(|| {
        format!("cors_origins must be origins such as https://example.org, not '{origin}'")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(headers: &[(&'static str, &str)]) -> bool {
        let host = Authority::from_static("akin.example:2546");
        let pairs = headers.iter().map(|(name, value)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        });
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(name, value);
        }
        check(&map, &host, &["https://shop.example".to_owned()]).is_err()
    }

    #[test]
    fn pages_of_allowed_origins_may_send() {
        assert!(!is_refused(&[]));
        for origin in
            ["http://akin.example:2546", "https://AKIN.example:2546", "https://shop.example"]
        {
            assert!(!is_refused(&[("origin", origin)]), "{origin}");
        }
        for origin in [
            "null",
            "",
            "https://evil.example",
            "http://akin.example",
            "http://shop.example",
            "https://shop.example.evil.example",
            "akin.example:2546",
            "é",
        ] {
            assert!(is_refused(&[("origin", origin)]), "{origin}");
        }
        let both = [("origin", "https://shop.example"), ("origin", "https://evil.example")];
        assert!(is_refused(&both));
        let host = Authority::from_static("akin.example");
        assert!(is_own("https://akin.example", &host) && is_own("http://akin.example:80", &host));
    }

    #[test]
    fn embedding_by_other_sites_is_refused() {
        assert!(is_refused(&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")]));
        assert!(is_refused(&[("sec-fetch-site", "same-site")]));
        assert!(!is_refused(&[("sec-fetch-site", "same-origin")]));
        assert!(!is_refused(&[("sec-fetch-site", "none")]));
        assert!(!is_refused(&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]));
        let allowed = [("sec-fetch-site", "cross-site"), ("origin", "https://shop.example")];
        assert!(!is_refused(&allowed));
    }

    #[test]
    fn a_preflight_is_refused_with_the_reason() {
        let host = Authority::from_static("akin.example:2546");
        let refusal = |origin: &'static str, method: &'static str, names: &'static str| {
            let mut headers = HeaderMap::new();
            for (name, value) in [
                (header::ORIGIN, origin),
                (header::ACCESS_CONTROL_REQUEST_METHOD, method),
                (header::ACCESS_CONTROL_REQUEST_HEADERS, names),
            ] {
                headers.insert(name, HeaderValue::from_static(value));
            }
            let checked = check_preflight(&headers, &host, &["https://shop.example".to_owned()]);
            checked.err().map(|problem| problem.detail)
        };
        let shop = "https://shop.example";
        assert_eq!(refusal(shop, "PUT", "authorization, Content-Type,x-request-id"), None);
        for (refused, reason) in [
            (refusal("https://evil.example", "PUT", ""), "a web page of https://evil.example sent"),
            (refusal(shop, "TRACE", ""), "the method 'TRACE'"),
            (refusal(shop, "PUT", "content-type,x-other"), "the header 'x-other'"),
        ] {
            assert!(refused.as_ref().is_some_and(|r| r.contains(reason)), "{reason}: {refused:?}");
        }
    }

    #[test]
    fn an_origin_is_a_scheme_and_a_host() {
        for origin in ["https://example.org", "http://localhost:3000", "http://[::1]:3000"] {
            assert_eq!(fault(origin), None, "{origin}");
        }
        for origin in ["*", "null", "example.org", "https://example.org/", "https://Example.org"] {
            assert!(fault(origin).is_some(), "{origin}");
        }
    }
}
