//! The id of a request: in its response's `x-request-id`, in problems and in the log.

use axum::http::{Extensions, HeaderName, HeaderValue, Request};
use tower_http::request_id::RequestId;
use uuid::Uuid;

pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The longest id that is taken from a request, in bytes.
const BYTES_MAX: usize = 128;

/// Gives a request its id: a new one, unless it brings an id that can be logged, 1..=128 bytes of
/// visible ASCII.
pub fn give<B>(request: &mut Request<B>) -> RequestId {
    let is_usable = |id: &&HeaderValue| {
        (1..=BYTES_MAX).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic)
    };
    let given = request.headers().get(HEADER).filter(is_usable).cloned();
    let id = RequestId::new(given.unwrap_or_else(new));
    request.extensions_mut().insert(id.clone());
    id
}

/// The id of the request with these extensions.
pub fn of(extensions: &Extensions) -> RequestId {
    extensions.get().cloned().expect("the outermost layer gives every request an id")
}

pub fn text(id: &RequestId) -> &str {
    id.header_value().to_str().expect("an id is visible ASCII")
}

fn new() -> HeaderValue {
    let mut text = Uuid::encode_buffer();
    let text = Uuid::now_v7().hyphenated().encode_lower(&mut text);
    HeaderValue::from_str(text).expect("a UUID is visible ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(id: &str) -> bool {
        let mut request = Request::get("/").header(HEADER, id).body(()).unwrap();
        text(&give(&mut request)) == id
    }

    #[test]
    fn an_id_is_kept_if_it_can_be_logged() {
        assert!(kept("trace-7/a") && kept(&"x".repeat(BYTES_MAX)));
        for id in ["", "two words", "tab\there", "é", &"x".repeat(BYTES_MAX + 1)] {
            assert!(!kept(id), "{id:?}");
        }
    }

    #[test]
    fn a_new_id_is_a_uuid() {
        let mut request = Request::get("/").body(()).unwrap();
        let ids = [(); 2].map(|()| give(&mut request));
        assert_eq!(text(&of(request.extensions())), text(&ids[1]));
        assert_ne!(text(&ids[0]), text(&ids[1]));
        assert_eq!(Uuid::parse_str(text(&ids[0])).unwrap().get_version_num(), 7);
    }
}
