use std::fs;

/// The committed document is the contract that reviews see: it must be what the code says.
#[test]
fn the_committed_document_is_that_of_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.yaml");
    let made = akin::http::openapi_yaml();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(path, &made).unwrap();
    }
    let committed = fs::read_to_string(path).unwrap_or_default();
    let differing = committed.lines().zip(made.lines()).position(|(a, b)| a != b);
    assert!(
        committed == made,
        "openapi.yaml differs from the code (first at line {:?}): if that is meant, regenerate it \
         with UPDATE=1 cargo test --test http openapi",
        differing.map(|line| line + 1)
    );
}

#[test]
fn every_code_is_documented() {
    let document = akin::http::openapi_yaml();
    for code in ["malformed_json", "document_not_found", "not_ready", "timed_out", "overloaded"] {
        assert!(document.contains(&format!("| `{code}` |")), "{code}");
    }
    assert!(document.contains("/documents/{id}:"), "OpenAPI knows no wildcards");
}

#[test]
fn every_schema_that_is_named_is_there() {
    let document = akin::http::openapi_yaml();
    let references = document.split("'#/components/schemas/").skip(1);
    let names: Vec<_> = references.filter_map(|rest| rest.split('\'').next()).collect();
    assert!(names.contains(&"Problem"), "{names:?}");
    for name in names {
        assert!(document.contains(&format!("\n    {name}:\n")), "{name} is nowhere");
    }
}

#[test]
fn what_receivers_of_webhooks_are_sent_is_documented() {
    let document: serde_json::Value = serde_json::from_str(&akin::http::openapi_json()).unwrap();
    let post = &document["webhooks"]["changes"]["post"];
    let schema = &post["requestBody"]["content"]["application/json"]["schema"]["$ref"];
    assert_eq!(schema, "#/components/schemas/WebhookMessage", "{post}");
    let headers = post["parameters"].as_array().unwrap().iter().map(|header| &header["name"]);
    let headers: Vec<_> = headers.collect();
    assert_eq!(headers, ["webhook-id", "webhook-timestamp", "webhook-signature"]);
}
