//! The settings of a `PUT /collections/{collection}`.

use std::collections::BTreeMap;

use axum::extract::{FromRequest, Request};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::engine::CollectionSettings;
use crate::http::AppState;
use crate::http::problem::{Code, Problem, pointer};
use crate::http::request::{json, reading};
use akin_model::content::Object;
use akin_model::json::Any;

const CODE: Code = Code::InvalidRequest;

/// Room for the longest list of equivalents, 10,000 values of 64 bytes.
const BYTES_MAX: usize = 1 << 20;

/// Where an unknown key belongs is looked for in bodies up to this size: it takes several copies,
/// and values take many times the bytes of their JSON.
const EXPLAINED_BYTES_MAX: usize = 64 << 10;

pub struct Settings(pub CollectionSettings);

impl FromRequest<AppState> for Settings {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let body = reading::whole_json(request, state, BYTES_MAX).await?;
        read(&body).map(Self)
    }
}

pub fn read(body: &[u8]) -> Result<CollectionSettings, Problem> {
    // The values stay text: a body without settings must not take memory.
    let Object(given) = json::read::<Object<BTreeMap<String, &RawValue>>>(body, CODE)?;
    // serde would take an array of a section's values in their order, too.
    let sections = json!(CollectionSettings::default());
    // That of clusters is not shown where there are none.
    let is_section = |key: &str| key == "clusters" || sections.get(key).is_some();
    let is_array = |(key, value): &(&String, &&RawValue)| {
        is_section(key.as_str()) && !value.get().starts_with('{')
    };
    if let Some((section, _)) = given.iter().find(is_array) {
        let pointer = pointer::to(section);
        return Err(Problem::of_field(CODE, pointer, "a section of the settings is an object"));
    }
    json::read(body, CODE).map_err(|problem| with_place(problem, body, &sections))
}

/// Names the section of an unknown key, if a section has a key of that name.
fn with_place(problem: Problem, body: &[u8], sections: &Value) -> Problem {
    let Some((pointer, key)) = json::unknown_field(&problem) else { return problem };
    if body.len() > EXPLAINED_BYTES_MAX {
        return problem;
    }
    let Ok(Any(given)) = serde_json::from_slice::<Any<Value>>(body) else { return problem };
    let value = given.pointer(&pointer).cloned().unwrap_or_default();
    let belongs = |section: &&String| {
        let placed = json!({section.as_str(): {key.as_str(): value}});
        let read = serde_json::from_value::<CollectionSettings>(placed);
        read.map_or_else(|error| !error.to_string().starts_with("unknown field"), |_| true)
    };
    let mut names = sections.as_object().into_iter().flat_map(Map::keys);
    let Some(section) = names.find(belongs) else { return problem };
    let detail = format!("`{key}` belongs in `{section}`: {{\"{section}\": {{\"{key}\": …}}}}");
    Problem::of_field(CODE, pointer, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misplaced_key_is_answered_with_its_section() {
        for (given, pointer, section) in [
            (r#"{"threshold": 0.7}"#, "/threshold", "scheme"),
            (r#"{"bands": 3}"#, "/bands", "scheme"),
            (r#"{"size": "wrong"}"#, "/size", "shingles"),
            (r#"{"sketch": {"ttl_s": 1}}"#, "/sketch/ttl_s", "store"),
            (r#"{"scheme": {"checked_max": 1}}"#, "/scheme/checked_max", "limits"),
        ] {
            let problem = read(given.as_bytes()).unwrap_err();
            assert_eq!(problem.errors[0].pointer, pointer, "{given}");
            let expected = format!("belongs in `{section}`");
            assert!(problem.detail.contains(&expected), "{given}: {}", problem.detail);
        }
        let problem = read(br#"{"scheme": {"treshold": 0.7}}"#).unwrap_err();
        assert!(problem.detail.ends_with("did you mean `threshold`?"), "{}", problem.detail);
    }
}
