//! From the members of a record to a document as the API takes it.

use std::borrow::Cow;
use std::fmt;

use serde::Serializer;
use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde_json::value::{RawValue, to_raw_value};

/// A member of a record: its name, and its value as JSON.
pub type Member<'a> = (Cow<'a, str>, Cow<'a, RawValue>);

const API: [&str; 7] = ["id", "text", "tokens", "fields", "signature", "metadata", "expires_at"];

/// Which members make a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// By default `id`, which a record need not have.
    pub id: Option<String>,
    /// By default `text`.
    pub text: Option<String>,
    /// Those that become metadata; by default all further ones.
    pub metadata: Option<Vec<String>>,
    /// Who takes the documents ignores further members, so that lines of JSON may keep them.
    pub further_are_ignored: bool,
    /// Nor are the further columns of tables needed, so they are not read.
    pub prunes: bool,
}

/// A member whose value is a text.
pub fn text_member<'a>(name: impl Into<Cow<'a, str>>, text: &str) -> Member<'a> {
    let json = to_raw_value(text).expect("a text always makes JSON");
    (name.into(), Cow::Owned(json))
}

/// The members of a JSON object, in their order; `None` if it is none.
pub fn members(json: &[u8]) -> Option<Vec<Member<'_>>> {
    struct Members;
    impl<'a> Visitor<'a> for Members {
        type Value = Vec<Member<'a>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some(name) = map.next_key::<Name<'a>>()? {
                members.push((name.0, Cow::Borrowed(map.next_value::<&RawValue>()?)));
            }
            Ok(members)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let members = deserializer.deserialize_map(Members).ok()?;
    deserializer.end().ok().map(|()| members)
}

#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl Columns {
    pub fn text_name(&self) -> &str {
        self.text.as_deref().unwrap_or("text")
    }

    pub fn id_name(&self) -> &str {
        self.id.as_deref().unwrap_or("id")
    }

    /// Whether a column is needed to make documents.
    pub fn wants(&self, name: &str) -> bool {
        name == self.text_name()
            || name == self.id_name()
            || match &self.metadata {
                None => !self.prunes,
                Some(wanted) => wanted.iter().any(|one| one == name),
            }
    }

    /// The document of a line of JSON; `None` if that is the line as it stands, or if it is no
    /// object, which is for the reader of the document to say.
    pub fn of_line(&self, json: &[u8], id: Option<&str>) -> Result<Option<Vec<u8>>, String> {
        let Some(members) = members(json) else { return Ok(None) };
        // Beside a text, a signature is more likely that of a letter.
        let has_text = members.iter().any(|(name, _)| name == "text");
        let is_named = |name: &str| API.contains(&name) && !(has_text && name == "signature");
        let is_number = |(name, value): &Member<'_>| {
            name == "id" && value.get().starts_with(|c: char| c.is_ascii_digit() || c == '-')
        };
        let stands = self.id.is_none() && self.text.is_none() && self.metadata.is_none();
        let further = members.iter().any(|(name, _)| !is_named(name));
        let has_content = members.iter().any(|(name, _)| API[1..5].contains(&&**name));
        if stands && !members.iter().any(is_number) && (has_content || !further) {
            let keeps = !further || self.further_are_ignored;
            if keeps {
                return Ok(None);
            }
        }
        self.document(&members, true, id).map(Some)
    }

    /// The document of a record; `id` is for one that has none. In JSON, members that the API
    /// knows keep their meaning.
    pub fn document(
        &self,
        members: &[Member<'_>],
        is_json: bool,
        id: Option<&str>,
    ) -> Result<Vec<u8>, String> {
        let find = |name: &str| members.iter().find(|(known, _)| known == name).map(|(_, v)| &**v);
        let own_id = find(self.id_name()).filter(|value| value.get() != "null");
        if own_id.is_none() && self.id.is_some() {
            return Err(missing(self.id_name(), "--id-column", members));
        }
        let text = find(self.text_name());
        let knows = |name: &str| {
            is_json
                && match name {
                    "tokens" | "fields" | "signature" => self.text.is_none() && text.is_none(),
                    name => name == "metadata" || name == "expires_at",
                }
        };
        if text.is_none()
            && !members.iter().any(|(name, _)| API[2..5].contains(&&**name) && knows(name))
        {
            return Err(missing(self.text_name(), "--text-column", members));
        }
        if text.is_some_and(|text| !text.get().starts_with('"')) {
            return Err(format!("'{}' is not a text", self.text_name()));
        }
        let is_further = |name: &str| {
            name != self.id_name() && name != self.text_name() && !knows(name) && self.wants(name)
        };
        let further: Vec<_> = members.iter().filter(|(name, _)| is_further(name)).collect();
        let mut json = Vec::new();
        let mut serializer = serde_json::Serializer::new(&mut json);
        let mut map = serializer.serialize_map(None).expect(INFALLIBLE);
        if let Some(id) = own_id.map(id_text).transpose()?.as_deref().or(id) {
            map.serialize_entry("id", id).expect(INFALLIBLE);
        }
        if let Some(text) = text {
            map.serialize_entry("text", text).expect(INFALLIBLE);
        }
        for (name, value) in members.iter().filter(|(name, _)| *name != "metadata" && knows(name)) {
            map.serialize_entry(name, value).expect(INFALLIBLE);
        }
        let own_metadata = is_json.then(|| find("metadata")).flatten();
        if let Some(metadata) = metadata(own_metadata, &further) {
            map.serialize_entry("metadata", &metadata).expect(INFALLIBLE);
        }
        map.end().expect(INFALLIBLE);
        Ok(json)
    }
}

const INFALLIBLE: &str = "texts and JSON always make JSON";

/// An id may be a number.
fn id_text(value: &RawValue) -> Result<String, String> {
    let json = value.get();
    match json.as_bytes()[0] {
        b'"' => serde_json::from_str(json).map_err(|error| error.to_string()),
        b'-' | b'0'..=b'9' => Ok(json.to_owned()),
        _ => Err("the id is neither a text nor a number".into()),
    }
}

/// The record's own metadata, and the further members unless it has them already.
fn metadata(own: Option<&RawValue>, further: &[&Member<'_>]) -> Option<Box<RawValue>> {
    if further.is_empty() {
        return own.map(ToOwned::to_owned);
    }
    let own = match own {
        None => Vec::new(),
        Some(own) => match members(own.get().as_bytes()) {
            Some(members) => members,
            None => return Some(own.to_owned()),
        },
    };
    let is_new = |name: &str| !own.iter().any(|(known, _)| known == name);
    let mut json = Vec::new();
    let mut serializer = serde_json::Serializer::new(&mut json);
    let further = further.iter().copied().filter(|(name, _)| is_new(name));
    let all = own.iter().chain(further).map(|(name, value)| (name, value));
    serializer.collect_map(all).expect(INFALLIBLE);
    let json = String::from_utf8(json).expect("JSON is UTF-8");
    Some(RawValue::from_string(json).expect("it was just written"))
}

/// Names beyond these are not listed.
const NAMES_MAX: usize = 12;

fn missing(wanted: &str, option: &str, members: &[Member<'_>]) -> String {
    no_column(wanted, option, members.iter().map(|(name, _)| &**name))
}

pub fn no_column<'a>(
    wanted: &str,
    option: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> String {
    let shown = names.clone().take(NAMES_MAX).collect::<Vec<_>>().join(", ");
    let more = if names.count() > NAMES_MAX { ", …" } else { "" };
    format!("there is no column '{wanted}' but {shown}{more}; name the column by {option}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(id: &str, text: &str, metadata: &[&str]) -> Columns {
        Columns {
            id: Some(id.into()),
            text: Some(text.into()),
            metadata: Some(metadata.iter().map(|name| (*name).to_owned()).collect()),
            further_are_ignored: false,
            prunes: false,
        }
    }

    fn line(columns: &Columns, json: &str) -> Result<Option<String>, String> {
        let line = columns.of_line(json.as_bytes(), Some("f:1"))?;
        Ok(line.map(|json| String::from_utf8(json).unwrap()))
    }

    #[test]
    fn lines_of_the_api_stand_as_they_are() {
        let default = Columns::default();
        for json in [r#"{"id":"a", "tokens":["x"]}"#, r#"{"text":"x","metadata":{"a":1}}"#, "{no"] {
            assert_eq!(line(&default, json), Ok(None));
        }
        assert_eq!(line(&default, r#"{"id":"a","signature":[1,2]}"#), Ok(None));
        let signed = r#"{"id":"a","text":"x","signature":"Yours, Ann"}"#;
        let made = r#"{"id":"a","text":"x","metadata":{"signature":"Yours, Ann"}}"#.to_owned();
        assert_eq!(line(&default, signed), Ok(Some(made)));
        let further = r#"{"text":"x","url":"u"}"#;
        let ignoring = Columns { further_are_ignored: true, ..Columns::default() };
        assert_eq!(line(&ignoring, further), Ok(None));
        let made = r#"{"id":"f:1","text":"x","metadata":{"url":"u"}}"#.to_owned();
        assert_eq!(line(&default, further), Ok(Some(made)));
    }

    #[test]
    fn columns_are_chosen() {
        let json = r#"{"n":7,"body":"b\u00e9","a":[1, 2],"b":null,"text":"t","metadata":{"a":0}}"#;
        let made = |columns: &Columns| line(columns, json).unwrap().unwrap();
        assert_eq!(
            made(&columns("n", "body", &["b"])),
            r#"{"id":"7","text":"b\u00e9","metadata":{"a":0,"b":null}}"#
        );
        assert_eq!(
            made(&Columns { metadata: None, ..columns("n", "body", &[]) }),
            r#"{"id":"7","text":"b\u00e9","metadata":{"a":0,"b":null,"text":"t"}}"#
        );
        assert_eq!(
            line(&columns("n", "content", &[]), json).unwrap_err(),
            "there is no column 'content' but n, body, a, b, text, metadata; name the column by \
             --text-column"
        );
        assert!(line(&columns("a", "body", &[]), json).unwrap_err().contains("neither a text"));
        assert!(line(&columns("n", "a", &[]), json).unwrap_err().contains("is not a text"));
    }
}
