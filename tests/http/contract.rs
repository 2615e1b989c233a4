//! Holds what is sent and answered to `openapi.yaml`. Every call of an `App` goes through here, so
//! each test of this folder checks the contract as well.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::Value;

use crate::app::Reply;
use crate::schema::Schemas;

/// Answers of the layers around all operations, which the operations do not list.
const OF_LAYERS: [&str; 3] = ["method_not_allowed", "route_not_found", "unsupported_encoding"];

/// A request that was sent, as far as the contract speaks of it.
pub struct Sent {
    pub method: String,
    pub path: String,
    pub media: String,
    /// `None` where it was streamed or compressed.
    pub body: Option<Vec<u8>>,
}

pub struct Contract {
    document: Value,
}

pub static CONTRACT: LazyLock<Contract> = LazyLock::new(|| {
    let yaml = include_str!("../../openapi.yaml");
    Contract { document: yaml_serde::from_str(yaml).unwrap() }
});

impl Contract {
    /// Each operation as `METHOD /path/{template}`.
    pub fn operations(&self) -> BTreeSet<String> {
        let of = |(path, item): (&String, &Value)| {
            let methods: Vec<_> = item.as_object().unwrap().keys().cloned().collect();
            let path = path.clone();
            methods.into_iter().map(move |method| format!("{} {path}", method.to_uppercase()))
        };
        self.document["paths"].as_object().unwrap().iter().flat_map(of).collect()
    }

    /// A call of an operation: its path, where parameters without an example are `a`, with the
    /// required query; and the media type and the first example of its body, if it takes one.
    pub fn example(&self, operation: &str) -> (String, Option<(&str, &Value)>) {
        let (method, template) = operation.split_once(' ').unwrap();
        let of = &self.document["paths"][template][method.to_lowercase()];
        let (mut path, mut query) = (template.to_owned(), Vec::new());
        for parameter in of["parameters"].as_array().into_iter().flatten() {
            let (name, value) = (parameter["name"].as_str().unwrap(), &parameter["example"]);
            match parameter["in"].as_str().unwrap() {
                "path" => path = path.replace(&format!("{{{name}}}"), "a"),
                _ if parameter["required"] == true => {
                    query.push(format!("{name}={}", value.as_str().unwrap_or("a")));
                }
                _ => {}
            }
        }
        if !query.is_empty() {
            path = format!("{path}?{}", query.join("&"));
        }
        let body = of["requestBody"]["content"].as_object().and_then(|content| {
            let (media, of) = content.iter().find(|(media, _)| media.ends_with("json"))?;
            let several = of["examples"].as_object().and_then(|of| of.values().next());
            Some((media.as_str(), several.map_or(&of["example"], |example| &example["value"])))
        });
        (path, body)
    }

    /// Holds a call to the document; gives its operation, if there is one.
    pub fn check(&self, sent: &Sent, reply: &Reply) -> Option<String> {
        let template = self.template(&sent.path, &sent.method)?;
        let operation = format!("{} {template}", sent.method);
        let at = format!(
            "/paths/{}/{}",
            template.replace('~', "~0").replace('/', "~1"),
            sent.method.to_lowercase()
        );
        self.check_reply(&operation, &at, reply);
        if reply.status.is_success() && !reply.has_failed_lines() {
            self.check_request(&at, sent);
        }
        Some(operation)
    }

    /// The path's template: one without parameters, if there is one that fits.
    fn template(&self, path: &str, method: &str) -> Option<&str> {
        let path = path.split('?').next().unwrap();
        let paths = self.document["paths"].as_object().unwrap();
        let fitting = paths.iter().filter(|(template, item)| {
            fits(template, path) && item.get(method.to_lowercase()).is_some()
        });
        let fewest = fitting.min_by_key(|(template, _)| template.matches('{').count());
        fewest.map(|(template, _)| template.as_str())
    }

    fn check_reply(&self, operation: &str, at: &str, reply: &Reply) {
        let status = reply.status.as_u16();
        let media = reply.header("content-type").split("; charset").next().unwrap();
        let problem = media == "application/problem+json";
        if problem && OF_LAYERS.contains(&reply.json()["code"].as_str().unwrap()) {
            return;
        }
        let documented = self.document.pointer(&format!("{at}/responses/{status}"));
        let documented = documented.unwrap_or_else(|| {
            panic!("{operation} does not document {status}: {:?}", reply.body);
        });
        if problem {
            let code = reply.json()["code"].as_str().unwrap().to_owned();
            let description = documented["description"].as_str().unwrap();
            let named = description.contains(&format!("`{code}`"));
            assert!(named, "{operation} documents {status} as {description}, not as {code}");
        }
        if reply.body.is_empty() || !reply.header("content-encoding").is_empty() {
            return;
        }
        assert!(documented["content"][media].is_object(), "{operation}: {status} of {media}");
        let at = format!("{at}/responses/{status}");
        self.check_values(&at, media, &values(media, &reply.body).unwrap());
    }

    /// A body that was taken must be one that the document allows.
    fn check_request(&self, at: &str, sent: &Sent) {
        let at = format!("{at}/requestBody");
        let Some(body) = sent.body.as_ref().filter(|_| self.document.pointer(&at).is_some()) else {
            return;
        };
        let media = sent.media.split(';').next().unwrap().to_ascii_lowercase();
        let media = media.replace("merge-patch+json", "json"); // taken alike
        if let Ok(values) = values(&media, body) {
            self.check_values(&at, &media, &values);
        }
    }

    fn check_values(&self, at: &str, media: &str, values: &[Value]) {
        if values.is_empty() {
            return;
        }
        let line = if media == "application/x-ndjson" { "/contentSchema" } else { "" };
        let pointer = format!("{at}/content/{}/schema{line}", media.replace('/', "~1"));
        let schema = self.document.pointer(&pointer);
        let schema = schema.unwrap_or_else(|| panic!("there is no schema {pointer}"));
        let schemas = Schemas { document: &self.document };
        for value in values {
            let ours = at.contains("/responses/") && !at.contains("openapi");
            assert!(!ours || !has_null(value), "absent values are left out: {at}: {value:#}");
            if let Err(fault) = schemas.check(schema, value) {
                panic!("{at}{fault} in {value:#}");
            }
        }
    }
}

/// Whether a value is null that is none of the client's own.
fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(values) => values.iter().any(has_null),
        Value::Object(fields) => {
            let ours =
                fields.iter().filter(|(name, _)| !matches!(name.as_str(), "metadata" | "settings"));
            ours.into_iter().any(|(_, value)| has_null(value))
        }
        _ => false,
    }
}

/// The JSON values of a body; none of other media.
fn values(media: &str, body: &[u8]) -> serde_json::Result<Vec<Value>> {
    match media {
        "application/json" | "application/problem+json" => Ok(vec![serde_json::from_slice(body)?]),
        "application/x-ndjson" => {
            let lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
            lines.filter(|line| !line.is_empty()).map(serde_json::from_slice).collect()
        }
        _ => Ok(Vec::new()),
    }
}

/// The last parameter of a template takes the rest of a path.
fn fits(template: &str, path: &str) -> bool {
    let (mut wanted, mut given) = (template.split('/').peekable(), path.split('/').peekable());
    while let Some(segment) = wanted.next() {
        let Some(found) = given.next() else { return false };
        if segment == "{id}" && wanted.peek().is_none() {
            return !found.is_empty();
        }
        let fits = if segment.starts_with('{') { !found.is_empty() } else { segment == found };
        if !fits {
            return false;
        }
    }
    given.next().is_none()
}
