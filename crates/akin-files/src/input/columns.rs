//! From the members of a record to a document as the API takes it.

use std::borrow::Cow;

use serde::Serializer;
use serde::ser::SerializeMap;
use serde_json::value::{RawValue, to_raw_value};

use super::event::Item;
use super::members::{Member, below, find, find_exact, members, object, replaced, without};
use akin_model::document::DocumentId;

const API: [&str; 7] = ["id", "text", "tokens", "fields", "signature", "metadata", "expires_at"];

/// Which members make a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextColumns {
    /// The member with the id. By default `id`, which is optional.
    pub id: Option<String>,
    /// The member with the text, by default `text`.
    pub text: Option<String>,
    /// The members that become metadata; by default all further members.
    pub metadata: Option<Vec<String>>,
    /// The reader of the documents ignores further members, so lines of JSON may keep them.
    pub further_are_ignored: bool,
    /// Further columns of tables are not needed, so they are not read.
    pub prunes: bool,
}

impl TextColumns {
    pub fn text_name(&self) -> &str {
        self.text.as_deref().unwrap_or("text")
    }

    pub fn id_name(&self) -> &str {
        self.id.as_deref().unwrap_or("id")
    }

    /// Takes other columns for texts and ids, where they are named.
    pub fn rename(&mut self, text: Option<String>, id: Option<String>) {
        self.text = text.or(self.text.take());
        self.id = id.or(self.id.take());
    }

    /// The line of a document with another text; `None` if it has no text.
    pub fn with_text(&self, item: &Item, text: &str) -> Option<Vec<u8>> {
        // A line that is not original is a document as the API takes it.
        let name = if item.line.is_some() { self.text_name() } else { "text" };
        let text = to_raw_value(text).ok()?;
        Some(replaced(item.line(), name, &text)?.get().as_bytes().to_vec())
    }

    /// Whether a column is needed to make documents: by its own name, or because a needed column
    /// lies within it.
    pub fn wants(&self, name: &str) -> bool {
        let wanted = self.metadata.iter().flatten().map(String::as_str);
        let mut paths = [self.text_name(), self.id_name()].into_iter().chain(wanted);
        self.takes_all() || paths.any(|path| path == name || below(path, name).is_some())
    }

    fn takes_all(&self) -> bool {
        self.metadata.is_none() && !self.prunes
    }

    /// The document of a line of JSON; `None` if the line is the document, or if it is not an
    /// object, which the reader of the document reports.
    pub fn of_line(&self, json: &[u8], id: Option<&str>) -> Result<Option<Vec<u8>>, String> {
        let Some(members) = members(json) else { return Ok(None) };
        // In a record with a text, a signature is more likely the end of a letter.
        let has_text = members.iter().any(|(name, _)| name == "text");
        let is_named = |name: &str| API.contains(&name) && !(has_text && name == "signature");
        let is_number = |(name, value): &Member<'_>| {
            name == "id" && value.get().starts_with(|c: char| c.is_ascii_digit() || c == '-')
        };
        let is_null = find_exact(&members, "text").is_some_and(|text| text.get() == "null");
        let has_columns = self.id.is_some() || self.text.is_some() || self.metadata.is_some();
        let stands = !has_columns && (!is_null || has_other_content(&members));
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

    /// The document of a record; `id` is for a record without an id. In JSON, members that the API
    /// knows keep their meaning.
    pub fn document(
        &self,
        members: &[Member<'_>],
        is_json: bool,
        id: Option<&str>,
    ) -> Result<Vec<u8>, String> {
        let find = |name: &str| find(members, name);
        let own_id = find(self.id_name()).filter(|value| value.get() != "null");
        if own_id.is_none() && self.id.is_some() {
            return Err(match find(self.id_name()) {
                Some(_) => format!("'{}' is null, but --id-column names it", self.id_name()),
                None => missing(self.id_name(), "--id-column", members),
            });
        }
        let is_other = is_json && self.text.is_none() && has_other_content(members);
        let text = find(self.text_name()).filter(|text| !is_other || text.get() != "null");
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
        if text.is_some_and(|text| !text.get().starts_with('"') && text.get() != "null") {
            return Err(format!("'{}' is not a text", self.text_name()));
        }
        let further = self.further(members, knows);
        let mut json = Vec::new();
        let mut serializer = serde_json::Serializer::new(&mut json);
        let mut map = serializer.serialize_map(None).expect(INFALLIBLE);
        if let Some(id) = own_id.map(id_text).transpose()?.as_deref().or(id) {
            map.serialize_entry("id", id).expect(INFALLIBLE);
        }
        // A null text is an empty text: there is nothing to compare.
        match text.map(RawValue::get) {
            Some("null") => map.serialize_entry("text", "").expect(INFALLIBLE),
            Some(_) => map.serialize_entry("text", &text).expect(INFALLIBLE),
            None => {}
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

impl TextColumns {
    /// The members that become metadata. The text and the id are cut out of members that contain
    /// them.
    fn further<'m>(
        &self,
        members: &'m [Member<'_>],
        knows: impl Fn(&str) -> bool,
    ) -> Vec<Member<'m>> {
        let own = [self.id_name(), self.text_name()];
        let is_own = |name: &str| own.contains(&name) || knows(name);
        let all = || members.iter().filter(|(name, _)| !is_own(name));
        let Some(wanted) = &self.metadata else {
            let rest = |(name, value): &'m Member<'_>| {
                let paths = own.iter().filter(|path| find_exact(members, path).is_none());
                let paths = paths.filter_map(|path| below(path, name));
                let rest = paths.fold(None, |rest: Option<Box<RawValue>>, path| {
                    without(rest.as_deref().unwrap_or(value), path).or(rest)
                });
                (Cow::Borrowed(&**name), rest.map_or(Cow::Borrowed(&**value), Cow::Owned))
            };
            return if self.prunes { Vec::new() } else { all().map(rest).collect() };
        };
        let is_wanted = |name: &str| wanted.iter().any(|one| one == name);
        let borrow = |(name, value): &'m Member<'_>| -> Member<'m> {
            (Cow::Borrowed(&**name), Cow::Borrowed(&**value))
        };
        let exact = all().filter(|(name, _)| is_wanted(name)).map(borrow);
        let nested = wanted.iter().filter(|name| find_exact(members, name).is_none());
        let nested = nested.filter_map(|name| {
            Some((Cow::Owned(name.clone()), Cow::Borrowed(find(members, name)?)))
        });
        exact.chain(nested).collect()
    }
}

/// Whether there is a content other than a text.
fn has_other_content(members: &[Member<'_>]) -> bool {
    members.iter().any(|(name, value)| API[2..5].contains(&&**name) && value.get() != "null")
}

const INFALLIBLE: &str = "texts and JSON always make JSON";

/// A string, or an integer as the HTTP API takes it. The rules for strings are checked where the
/// document is read.
fn id_text(value: &RawValue) -> Result<String, String> {
    let json = value.get();
    if json.starts_with('"') {
        return serde_json::from_str(json).map_err(|error| error.to_string());
    }
    let integer = serde_json::from_str::<DocumentId>(json);
    integer.map(|id| id.as_str().to_owned()).map_err(|_| {
        let shown: String = json.chars().take(ID_SHOWN_CHARS).collect();
        format!("the id is {shown}: an id is a string or an integer of 64 bits")
    })
}

/// The length of an id in an error message.
const ID_SHOWN_CHARS: usize = 40;

/// The record's own metadata, and the further members unless it has them already.
fn metadata(own: Option<&RawValue>, further: &[Member<'_>]) -> Option<Box<RawValue>> {
    if further.is_empty() {
        return own.map(ToOwned::to_owned);
    }
    let mut own = match own {
        None => Vec::new(),
        Some(own) => match members(own.get().as_bytes()) {
            Some(members) => members,
            None => return Some(own.to_owned()),
        },
    };
    for (name, value) in further {
        if find_exact(&own, name).is_none() {
            own.push((name.clone(), Cow::Borrowed(&**value)));
        }
    }
    Some(object(&own))
}

/// The number of columns that an error message lists.
const NAMES_MAX: usize = 12;

fn missing(wanted: &str, option: &str, members: &[Member<'_>]) -> String {
    let mut reason = no_column(wanted, option, members.iter().map(|(name, _)| &**name));
    let has_objects = |value: &RawValue| {
        value.get().strip_prefix('[').is_some_and(|array| array.trim_start().starts_with('{'))
    };
    if let Some((name, _)) = members.iter().find(|(_, value)| has_objects(value)) {
        reason += ", or the array with the documents by --records ";
        reason += name;
    }
    reason
}

pub fn no_column<'a>(
    wanted: &str,
    option: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> String {
    let shown = names.clone().take(NAMES_MAX).collect::<Vec<_>>().join(", ");
    let more = if names.count() > NAMES_MAX { ", …" } else { "" };
    format!(
        "there is no column '{wanted}' but {shown}{more}; name the column by {option} (one within \
         others as a.b)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(id: &str, text: &str, metadata: &[&str]) -> TextColumns {
        TextColumns {
            id: Some(id.into()),
            text: Some(text.into()),
            metadata: Some(metadata.iter().map(|name| (*name).to_owned()).collect()),
            further_are_ignored: false,
            prunes: false,
        }
    }

    fn line(columns: &TextColumns, json: &str) -> Result<Option<String>, String> {
        let line = columns.of_line(json.as_bytes(), Some("f:1"))?;
        Ok(line.map(|json| String::from_utf8(json).unwrap()))
    }

    #[test]
    fn documents_of_the_api_are_sent_unchanged() {
        let default = TextColumns::default();
        for json in [r#"{"id":"a", "tokens":["x"]}"#, r#"{"text":"x","metadata":{"a":1}}"#, "{no"] {
            assert_eq!(line(&default, json), Ok(None));
        }
        assert_eq!(line(&default, r#"{"id":"a","signature":[1,2]}"#), Ok(None));
        let signed = r#"{"id":"a","text":"x","signature":"Yours, Ann"}"#;
        let made = r#"{"id":"a","text":"x","metadata":{"signature":"Yours, Ann"}}"#.to_owned();
        assert_eq!(line(&default, signed), Ok(Some(made)));
        let further = r#"{"text":"x","url":"u"}"#;
        let ignoring = TextColumns { further_are_ignored: true, ..TextColumns::default() };
        assert_eq!(line(&ignoring, further), Ok(None));
        let made = r#"{"id":"f:1","text":"x","metadata":{"url":"u"}}"#.to_owned();
        assert_eq!(line(&default, further), Ok(Some(made)));
    }

    #[test]
    fn columns_are_chosen() {
        let json = r#"{"n":7,"body":"b\u00e9","a":[1, 2],"b":null,"text":"t","metadata":{"a":0}}"#;
        let made = |columns: &TextColumns| line(columns, json).unwrap().unwrap();
        assert_eq!(
            made(&columns("n", "body", &["b"])),
            r#"{"id":"7","text":"b\u00e9","metadata":{"a":0,"b":null}}"#
        );
        assert_eq!(
            made(&TextColumns { metadata: None, ..columns("n", "body", &[]) }),
            r#"{"id":"7","text":"b\u00e9","metadata":{"a":0,"b":null,"text":"t"}}"#
        );
        assert_eq!(
            line(&columns("n", "content", &[]), json).unwrap_err(),
            "there is no column 'content' but n, body, a, b, text, metadata; name the column by \
             --text-column (one within others as a.b)"
        );
        assert!(
            line(&columns("a", "body", &[]), json).unwrap_err().contains("string or an integer")
        );
        assert!(line(&columns("n", "a", &[]), json).unwrap_err().contains("is not a text"));
    }

    #[test]
    fn columns_within_others_are_named_with_dots() {
        let json = r#"{"doc":{"text":"t","n":[1],"in":{"id":7,"x":0}},"a.b":{"c":2}}"#;
        let all = TextColumns { metadata: None, ..columns("doc.in.id", "doc.text", &[]) };
        let made =
            r#"{"id":"7","text":"t","metadata":{"doc":{"n":[1],"in":{"x":0}},"a.b":{"c":2}}}"#;
        assert_eq!(line(&all, json), Ok(Some(made.into())));
        let some = columns("doc.in.id", "doc.text", &["a.b.c", "doc.n"]);
        let made = r#"{"id":"7","text":"t","metadata":{"a.b.c":2,"doc.n":[1]}}"#;
        assert_eq!(line(&some, json), Ok(Some(made.into())));
        assert!(line(&columns("doc.id", "doc.text", &[]), json).is_err());
        assert!(all.wants("doc") && some.wants("doc") && !some.wants("do"));
    }

    #[test]
    fn a_null_text_is_an_empty_text() {
        let made = r#"{"id":"a","text":"","metadata":{"b":1}}"#.to_owned();
        assert_eq!(
            line(&TextColumns::default(), r#"{"id":"a","text":null,"b":1}"#),
            Ok(Some(made))
        );
        let tokens = r#"{"id":"a","text":null,"tokens":[]}"#;
        assert_eq!(line(&TextColumns::default(), tokens), Ok(None));
        let made = r#"{"id":"7","tokens":[]}"#.to_owned();
        let tokens = r#"{"id":7,"text":null,"tokens":[]}"#;
        assert_eq!(line(&TextColumns::default(), tokens), Ok(Some(made)));
        let made = r#"{"id":"f:1","text":""}"#.to_owned();
        assert_eq!(line(&TextColumns::default(), r#"{"text":null}"#), Ok(Some(made)));
    }
}
