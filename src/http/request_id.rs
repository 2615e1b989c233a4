//! The id of a request: in its response's `x-request-id`, in problems and in the log.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::{Extensions, HeaderName, HeaderValue, Request};
use tower_http::request_id::RequestId;
use uuid::{Builder, Uuid};

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
    let text = new_uuid(SystemTime::now()).hyphenated().encode_lower(&mut text);
    HeaderValue::from_str(text).expect("a UUID is visible ASCII")
}

/// A UUIDv7 with keyed hashes of a counter for random bits: `Uuid::now_v7` would take a lock for
/// each request, and panic at a clock before 1970.
fn new_uuid(now: SystemTime) -> Uuid {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static MADE: AtomicU64 = AtomicU64::new(0);
    let made = MADE.fetch_add(1, Ordering::Relaxed);
    let random = [made, !made].map(|number| KEY.hash_one(number).to_le_bytes());
    let random = *random.as_flattened().first_chunk().expect("16 bytes are more than 10");
    let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    Builder::from_unix_timestamp_millis(since_epoch.as_millis() as u64, &random).into_uuid()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
        let before_1970 = new_uuid(UNIX_EPOCH - Duration::from_secs(1));
        assert_ne!(before_1970, new_uuid(UNIX_EPOCH));
    }
}
