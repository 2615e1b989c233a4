//! JSON Schema as far as the bodies in `openapi.yaml` use it. Here, objects have no properties but
//! those that are declared: the document itself leaves answers open, as later versions may add to
//! them.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// The schemas that others refer to.
pub struct Schemas<'a> {
    pub document: &'a Value,
}

impl Schemas<'_> {
    /// # Errors
    /// Where a value is not as its schema says: a JSON pointer, the keyword, and what it says.
    ///
    /// # Panics
    /// The schema has a keyword that no schema had before.
    pub fn check(&self, schema: &Value, value: &Value) -> Result<(), String> {
        self.declared(schema, value, false).map(drop)
    }

    /// The names of the properties that a schema declares, if the value is as it says. `is_part`:
    /// other parts of the schema declare more of them.
    fn declared(
        &self,
        schema: &Value,
        value: &Value,
        is_part: bool,
    ) -> Result<BTreeSet<String>, String> {
        if *schema == Value::Bool(false) {
            return Err(": it is not declared".to_owned());
        }
        let names = fields(&schema["properties"]).map(|(name, _)| name.to_owned());
        let mut declared: BTreeSet<String> = names.collect();
        let is_own = |name: &str| schema["properties"].get(name).is_some();
        for (keyword, of) in fields(schema) {
            match keyword {
                "properties" => {
                    for (name, value) in fields(value).filter(|(name, _)| is_own(name)) {
                        self.check(&of[name], value).map_err(|fault| format!("/{name}{fault}"))?;
                    }
                }
                "additionalProperties" => {
                    for (name, value) in fields(value).filter(|(name, _)| !is_own(name)) {
                        self.check(of, value).map_err(|fault| format!("/{name}{fault}"))?;
                        declared.insert(name.to_owned());
                    }
                }
                "propertyNames" => {
                    for (name, _) in fields(value) {
                        self.check(of, &Value::from(name))?;
                    }
                }
                "items" => {
                    for (place, value) in elements(value).enumerate() {
                        self.check(of, value).map_err(|fault| format!("/{place}{fault}"))?;
                    }
                }
                "$ref" => declared.extend(self.declared(self.named(of), value, is_part)?),
                "allOf" => {
                    for part in elements(of) {
                        declared.extend(self.declared(part, value, true)?);
                    }
                }
                "oneOf" => {
                    let tried = elements(of).map(|choice| self.declared(choice, value, is_part));
                    declared.extend(one(tried.collect())?);
                }
                _ if holds(keyword, of, value) => {}
                _ => return Err(format!(": {keyword} is {of}")),
            }
        }
        let is_closed = schema.get("properties").or(schema.get("allOf")).is_some() && !is_part;
        match fields(value).find(|(name, _)| is_closed && !declared.contains(*name)) {
            Some((name, _)) => Err(format!("/{name}: it is not declared")),
            None => Ok(declared),
        }
    }

    fn named(&self, reference: &Value) -> &Value {
        let pointer = reference.as_str().unwrap().trim_start_matches('#');
        self.document.pointer(pointer).unwrap_or_else(|| panic!("there is no {pointer}"))
    }
}

/// The one choice that a value is as.
fn one<T>(tried: Vec<Result<T, String>>) -> Result<T, String> {
    let (mut fitting, mut faults) = (Vec::new(), Vec::new());
    for choice in tried {
        match choice {
            Ok(choice) => fitting.push(choice),
            Err(fault) => faults.push(fault),
        }
    }
    match fitting.len() {
        1 => Ok(fitting.remove(0)),
        several => Err(format!(": {several} choices of oneOf fit, others not: {faults:?}")),
    }
}

fn fields(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter).map(|(name, value)| (name.as_str(), value))
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Whether a value is as a keyword says that has no further schemas.
fn holds(keyword: &str, of: &Value, value: &Value) -> bool {
    let compares = |figure: Option<f64>, compare: fn(&f64, &f64) -> bool| {
        figure.is_none_or(|figure| compare(&figure, &of.as_f64().unwrap()))
    };
    let length = value.as_str().map(|text| text.chars().count() as f64);
    let size = value.as_array().map(|elements| elements.len() as f64);
    match keyword {
        "contentMediaType" | "contentSchema" | "default" | "description" | "discriminator"
        | "example" | "title" => true,
        "type" if of.is_array() => elements(of).any(|of| is_of_type(of, value)),
        "type" => is_of_type(of, value),
        "required" => {
            let is_there = |name: &Value| value.get(name.as_str().unwrap()).is_some();
            !value.is_object() || elements(of).all(is_there)
        }
        "enum" => elements(of).any(|of| of == value),
        "minimum" => compares(value.as_f64(), f64::ge),
        "maximum" => compares(value.as_f64(), f64::le),
        "exclusiveMinimum" => compares(value.as_f64(), f64::gt),
        "exclusiveMaximum" => compares(value.as_f64(), f64::lt),
        "multipleOf" => value.as_f64().is_none_or(|number| number % of.as_f64().unwrap() == 0.0),
        "uniqueItems" => {
            let others = |place| elements(value).skip(place + 1);
            elements(value).enumerate().all(|(place, one)| others(place).all(|of| of != one))
        }
        "maxLength" => compares(length, f64::le),
        "minLength" => compares(length, f64::ge),
        "minItems" => compares(size, f64::ge),
        "maxItems" => compares(size, f64::le),
        "pattern" => {
            assert_eq!(of, r"^[^\u0000-\u001f\u007f-\u009f]*$", "the pattern is new");
            value.as_str().is_none_or(|text| !text.contains(char::is_control))
        }
        "format" => match of.as_str().unwrap() {
            "double" | "int32" | "int64" => true,
            "date-time" => value.as_str().is_none_or(|time| time.parse::<Timestamp>().is_ok()),
            other => panic!("the format {other} is new"),
        },
        _ => panic!("the keyword {keyword} is new"),
    }
}

fn is_of_type(of: &Value, value: &Value) -> bool {
    match of.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        other => panic!("there is no type {other}"),
    }
}

/// Each schema with a value that is as it says, and values that are not.
#[test]
fn values_that_are_not_as_their_schema_says_are_found() {
    let document = json!({
        "name": {"type": "string", "minLength": 1, "maxLength": 2},
        "both": {"allOf": [
            {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
            {"oneOf": [{"$ref": "#/one"}, {"type": "object", "properties": {"c": {}}, "required": ["c"]}]},
        ]},
        "one": {"type": "object", "properties": {"b": {"enum": [1, "x"]}}, "required": ["b"]},
    });
    let schemas = Schemas { document: &document };
    for (schema, value, others) in [
        (
            json!({"type": "integer", "minimum": 1}),
            json!(1.0),
            vec![json!(0), json!(1.5), json!("1")],
        ),
        (
            json!({"type": ["number", "null"], "maximum": 2}),
            json!(null),
            vec![json!(2.5), json!(true)],
        ),
        (
            json!({"exclusiveMinimum": 0, "exclusiveMaximum": 1}),
            json!(0.1),
            vec![json!(0), json!(1)],
        ),
        (json!({"$ref": "#/name"}), json!("éé"), vec![json!("ééé"), json!(""), json!(1)]),
        (
            json!({"items": {"$ref": "#/name"}, "minItems": 1, "maxItems": 2}),
            json!(["a"]),
            vec![json!([]), json!(["a", "b", "c"]), json!(["a", "ccc"])],
        ),
        (
            json!({"pattern": r"^[^\u0000-\u001f\u007f-\u009f]*$"}),
            json!("é\u{a0}"),
            vec![json!("a\tb"), json!("\u{85}")],
        ),
        (json!({"multipleOf": 4}), json!(8), vec![json!(6)]),
        (json!({"uniqueItems": true}), json!([1, 2]), vec![json!([1, 2, 1])]),
        (json!({"format": "date-time"}), json!("2026-11-26T10:00:00Z"), vec![json!("today")]),
        (
            json!({"$ref": "#/one"}),
            json!({"b": "x"}),
            vec![json!({}), json!({"b": 2}), json!({"b": 1, "c": 1})],
        ),
        (
            json!({"$ref": "#/both"}),
            json!({"a": 1, "c": 1}),
            vec![
                json!({"a": 1}),
                json!({"c": 1}),
                json!({"a": 1, "b": 1, "c": 1}),
                json!({"a": 1, "b": 1, "d": 1}),
            ],
        ),
        (
            json!({"oneOf": [{"$ref": "#/one"}, {"$ref": "#/both"}]}),
            json!({"b": 1}),
            vec![json!({"a": 1, "b": 1, "d": 1}), json!({"a": 1})],
        ),
        (
            json!({"additionalProperties": {"type": "boolean"}, "propertyNames": {"$ref": "#/name"}}),
            json!({"a": true}),
            vec![json!({"a": 1}), json!({"aaa": true})],
        ),
        (
            json!({"properties": {"a": {}}, "additionalProperties": false}),
            json!({"a": 1}),
            vec![json!({"b": 1})],
        ),
    ] {
        assert_eq!(schemas.check(&schema, &value), Ok(()), "{schema} {value}");
        for other in others {
            assert!(schemas.check(&schema, &other).is_err(), "{schema} {other}");
        }
    }
}
