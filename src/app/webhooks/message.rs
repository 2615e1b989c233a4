//! The message to a receiver, and its signature as Standard Webhooks defines it: the base64 of
//! HMAC-SHA256 over `ID.TIMESTAMP.BODY`.

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use ring::hmac;

use crate::engine::{Change, CollectionName, Position};
use crate::http::{change_json, position_text};
use crate::trusted_file;

/// The prefix of a secret in base64.
const BASE64_PREFIX: &str = "whsec_";

/// Shorter secrets can be guessed.
const SECRET_BYTES_MIN: usize = 16;

/// The size of the file of a secret.
const SECRET_BYTES_MAX: u64 = 64 << 10;

/// The key of the signatures. It is never shown.
#[derive(Clone)]
pub(super) struct Secret(Arc<hmac::Key>);

impl Secret {
    /// # Errors
    /// Why the file has no secret.
    pub fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let read = trusted_file::read(path, SECRET_BYTES_MAX);
        let content = read.map_err(|error| format!("{shown}: {error}"))?;
        let text =
            String::from_utf8(content.bytes).map_err(|_| format!("{shown}: it is no text"))?;
        Self::of(text.trim()).map_err(|reason| format!("{shown}: {reason}"))
    }

    fn of(text: &str) -> Result<Self, &'static str> {
        let bytes = match text.strip_prefix(BASE64_PREFIX) {
            Some(encoded) => {
                BASE64.decode(encoded).map_err(|_| "the part after whsec_ is not base64")
            }
            None => Ok(text.as_bytes().to_vec()),
        }?;
        if bytes.len() < SECRET_BYTES_MIN {
            return Err(
                "the secret is shorter than 16 bytes: create a secret by `openssl rand -hex 32`",
            );
        }
        Ok(Self(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &bytes))))
    }

    pub fn signature(&self, id: &str, timestamp_s: i64, body: &[u8]) -> String {
        let mut signed = hmac::Context::with_key(&self.0);
        signed.update(format!("{id}.{timestamp_s}.").as_bytes());
        signed.update(body);
        format!("v1,{}", BASE64.encode(signed.sign()))
    }
}

/// Some changes of a collection.
pub(super) struct Message {
    /// The same whenever the same changes are sent again.
    pub id: String,
    pub body: Bytes,
    /// The position after its changes.
    pub next: Position,
    pub changes: u64,
    /// Changes before these are no longer kept.
    pub gone: bool,
}

impl Message {
    /// As many of the changes as `bytes_max` allows, at least one. `next`: the position after all
    /// changes. `gone`: earlier changes are no longer kept.
    pub fn new(
        collection: &CollectionName,
        (after, changes, mut next): (Position, Vec<Change>, Position),
        gone: bool,
        bytes_max: usize,
    ) -> Self {
        let mut body = format!("{{\"collection\":\"{collection}\",\"changes\":[").into_bytes();
        let (mut count, mut behind) = (0, after);
        for change in changes {
            let line = change_json(&change);
            if count > 0 && body.len() + line.len() > bytes_max {
                next = behind;
                break;
            }
            if count > 0 {
                body.push(b',');
            }
            body.extend_from_slice(&line);
            behind = change.next;
            count += 1;
        }
        let gone_member = if gone { ",\"changes_gone\":true" } else { "" };
        let end = format!("],\"position\":\"{}\"{gone_member}}}", position_text(next));
        body.extend_from_slice(end.as_bytes());
        let id = format!("{collection}-{}-{}", position_text(after), next.sequence);
        Self { id, body: body.into(), next, changes: count, gone }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;
    use crate::document::DocumentId;

    /// The first is the example of the specification's libraries; the values were computed by
    /// Python's `hmac`.
    #[test]
    fn messages_are_signed_by_standard_webhooks() {
        let (id, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", br#"{"test": 2432232314}"#);
        for (secret, signature) in [
            (
                "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            ),
            ("a plain secret of text", "v1,I0gPdGrGsLAq/K5whvdTpeL5fE+ldWsSa/LMVBbLScc="),
        ] {
            assert_eq!(
                Secret::of(secret).ok().unwrap().signature(id, 1_614_265_330, body),
                signature
            );
        }
        assert!(Secret::of("too short").is_err() && Secret::of("whsec_?").is_err());
    }

    #[test]
    fn messages_are_bounded_in_bytes() {
        let at = |sequence| Position { store: 7, sequence };
        let change = |sequence| Change {
            id: DocumentId::new(format!("d{sequence}")).unwrap(),
            stored_at_ms: (sequence % 2 == 0).then_some(0),
            next: at(sequence),
        };
        let name = CollectionName::default();
        let (mut after, mut seen) = (at(0), Vec::new());
        while after != at(12) {
            let changes = (after.sequence + 1..=10).map(change).collect();
            let message = Message::new(&name, (after, changes, at(12)), false, 200);
            assert!(message.body.len() <= 300, "{}", message.body.len());
            let body: Value = serde_json::from_slice(&message.body).unwrap();
            assert_eq!(body["position"], position_text(message.next));
            assert!(body["changes_gone"].is_null());
            seen.extend(body["changes"].as_array().unwrap().clone());
            after = message.next;
        }
        let ids: Vec<_> = seen.iter().map(|change| change["id"].clone()).collect();
        assert_eq!(ids, (1..=10).map(|at| json!(format!("d{at}"))).collect::<Vec<_>>());
        assert_eq!(seen[0], json!({"change": "removed", "id": "d1"}));
        let gone = Message::new(&name, (at(0), vec![change(2)], at(2)), true, 1);
        let body: Value = serde_json::from_slice(&gone.body).unwrap();
        assert_eq!((&body["changes_gone"], &body["collection"]), (&json!(true), &json!("default")));
        assert_eq!((gone.changes, gone.id.as_str()), (1, "default-7-0-2"));
        let document: Value = serde_json::from_str(&crate::http::openapi_json()).unwrap();
        let documented = &document["components"]["schemas"]["WebhookMessage"]["properties"];
        let names = |object: &Value| object.as_object().unwrap().keys().cloned().collect();
        let (ours, theirs): (BTreeSet<_>, BTreeSet<_>) = (names(&body), names(documented));
        assert_eq!(ours, theirs);
    }
}
