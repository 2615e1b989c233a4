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

/// Generators of clients fail at `prefixItems` and `items: false`, and at a body of two JSON media.
/// They always send the default of a parameter.
#[test]
fn the_document_has_what_generators_understand() {
    let document: serde_json::Value = serde_json::from_str(&akin::http::openapi_json()).unwrap();
    let text = document.to_string();
    assert!(!text.contains("prefixItems") && !text.contains("\"items\":false"), "a tuple");
    let pairs = &document["paths"]["/pairs"]["get"]["responses"]["200"]["content"];
    let lines = &pairs["application/x-ndjson"]["schema"];
    assert_eq!(lines["type"], "string", "{lines}");
    assert_eq!(lines["contentSchema"]["$ref"], "#/components/schemas/PairLine", "{lines}");
    for operation in document["paths"].as_object().unwrap().values().flat_map(|path| {
        path.as_object().unwrap().values().filter(|operation| operation["requestBody"].is_object())
    }) {
        let media = operation["requestBody"]["content"].as_object().unwrap().keys();
        let json = media.filter(|media| media.ends_with("json") && !media.contains("ndjson"));
        assert_eq!(json.count(), 1, "{}", operation["operationId"]);
    }
    let parameters = document["paths"]["/clusters"]["get"]["parameters"].as_array().unwrap();
    for parameter in parameters {
        assert!(parameter["schema"]["default"].is_null(), "is of one form alone: {parameter}");
    }
}
