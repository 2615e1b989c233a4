//! What a client may find: what was acknowledged last and, for requests without an answer, what
//! they would have made of it.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use ureq::Error;

use crate::client::{Answer, Client};

pub const NEWS: &str = "news";
const DEFAULT: &str = "default";

/// How long a document lives that is to expire.
const BRIEF: SignedDuration = SignedDuration::from_millis(300);

#[derive(Clone, Debug, Default)]
struct Collection {
    may_be_absent: bool,
    may_be_there: bool,
    documents: BTreeMap<String, Document>,
}

/// The texts that a document may have; `None` for its absence.
#[derive(Clone, Debug)]
struct Document {
    texts: Vec<Option<String>>,
    expires_at: Option<Timestamp>,
}

#[derive(Clone, Debug)]
pub struct Model {
    collections: BTreeMap<String, Collection>,
    step: u64,
    /// Requests that were acknowledged, and that were refused.
    pub acknowledged: u64,
    pub refused: u64,
}

/// The server has gone.
pub type Gone = Error;

fn prefix(collection: &str) -> String {
    match collection {
        DEFAULT => String::new(),
        name => format!("/collections/{name}"),
    }
}

fn is_done(status: u16) -> bool {
    (200..300).contains(&status)
}

/// Whether the answer says that nothing was done.
fn is_refused(status: u16) -> bool {
    matches!(status, 404 | 409 | 507)
}

impl Model {
    pub fn new() -> Self {
        let default = Collection { may_be_there: true, ..Collection::default() };
        let news = Collection { may_be_absent: true, ..Collection::default() };
        let collections = [(DEFAULT.to_owned(), default), (NEWS.to_owned(), news)].into();
        Self { collections, step: 0, acknowledged: 0, refused: 0 }
    }

    fn text(&mut self) -> String {
        self.step += 1;
        let length = if self.step.is_multiple_of(7) { 1_500 } else { 20 + self.step * 13 % 60 };
        let word = |n: u64| format!("w{}", (self.step * 4_099 + n) * 2_654_435_761 % 1_000_003);
        (0..length).map(word).collect::<Vec<_>>().join(" ")
    }

    fn states(&mut self, collection: &str, id: &str) -> &mut Document {
        let documents = &mut self.collections.get_mut(collection).unwrap().documents;
        let absent = || Document { texts: vec![None], expires_at: None };
        documents.entry(id.to_owned()).or_insert_with(absent)
    }

    /// Makes a call that changes one document, and notes what it may have done.
    fn change(
        &mut self,
        collection: &str,
        id: &str,
        text: Option<String>,
        call: impl FnOnce() -> Answer,
    ) -> Result<u16, Gone> {
        self.states(collection, id).texts.push(text.clone());
        let (status, body) = call()?;
        let states = self.states(collection, id);
        if is_done(status) || (status == 404 && text.is_none()) {
            states.texts = vec![text];
            self.acknowledged += 1;
        } else {
            if is_refused(status) {
                states.texts.pop();
            }
            assert!(status >= 500 || status == 404, "{status} {body}");
            self.refused += 1;
        }
        Ok(status)
    }

    pub fn add(&mut self, client: &Client, collection: &str, id: &str) -> Result<u16, Gone> {
        let text = self.text();
        let path = format!("{}/documents?check=false", prefix(collection));
        let document = json!({"id": id, "text": text});
        self.change(collection, id, Some(text), || client.post(&path, &document))
    }

    pub fn remove(&mut self, client: &Client, collection: &str, id: &str) -> Result<u16, Gone> {
        let path = format!("{}/documents/{id}", prefix(collection));
        self.change(collection, id, None, || client.delete(&path))
    }

    /// Adds a document that expires soon.
    pub fn add_brief(&mut self, client: &Client, id: &str) -> Result<(), Gone> {
        let (text, mut life) = (self.text(), BRIEF);
        let mut expires_at = Timestamp::now() + life;
        let post = || loop {
            let document = json!({"id": id, "text": text, "expires_at": expires_at.to_string()});
            let (status, body) = client.post("/documents?check=false", &document)?;
            if !body.contains("would have expired already") {
                return Ok((status, body));
            }
            // The machine is so busy that this took longer.
            life *= 2;
            expires_at = Timestamp::now() + life;
        };
        let added = self.change(DEFAULT, id, Some(text.clone()), post);
        self.states(DEFAULT, id).expires_at = Some(expires_at);
        // It may be gone from now on.
        added.map(|_| self.states(DEFAULT, id).texts.push(None))
    }

    /// Adds documents in one body.
    pub fn add_bulk(&mut self, client: &Client, ids: &[String]) -> Result<(), Gone> {
        let mut lines = String::new();
        for id in ids {
            let text = self.text();
            lines.push_str(&json!({"id": id, "text": text}).to_string());
            lines.push('\n');
            self.states(DEFAULT, id).texts.push(Some(text));
        }
        let (status, body) =
            client.call("POST", "/documents?check=false", "application/x-ndjson", &lines)?;
        assert!(status == 200 || status >= 500, "{status} {body}");
        for (id, line) in ids.iter().zip(body.lines()) {
            let result: Value = serde_json::from_str(line).unwrap();
            let states = self.states(DEFAULT, id);
            match (result["status"].as_str(), result["problem"]["status"].as_u64()) {
                (Some("created" | "replaced"), _) => {
                    states.texts = states.texts.split_off(states.texts.len() - 1);
                    self.acknowledged += 1;
                }
                (_, Some(507)) => drop(states.texts.pop()),
                _ => self.refused += 1,
            }
        }
        Ok(())
    }

    pub fn create_news(&mut self, client: &Client) -> Result<u16, Gone> {
        let news = self.collections.get_mut(NEWS).unwrap();
        news.may_be_there = true;
        let (status, _) = client.call("PUT", "/collections/news", "application/json", "{}")?;
        if status == 201 {
            // There was none, so a drop before it that got no answer was carried out.
            assert!(news.may_be_absent, "it is made anew though it was there: {news:?}");
            news.documents.clear();
        }
        match is_done(status) {
            true => news.may_be_absent = false,
            false if is_refused(status) => news.may_be_there = !news.may_be_absent,
            false => {}
        }
        Ok(status)
    }

    pub fn drop_news(&mut self, client: &Client) -> Result<(), Gone> {
        let news = self.collections.get_mut(NEWS).unwrap();
        news.may_be_absent = true;
        let (status, _) = client.delete("/collections/news")?;
        if is_done(status) || status == 404 {
            *news = Collection { may_be_absent: true, ..Collection::default() };
        }
        Ok(())
    }

    /// Holds what there is against what there may be, which is then exactly what was found.
    pub fn check(&mut self, client: &Client) -> Result<(), Gone> {
        let listed = client.json("/collections")?;
        assert!(listed.get("unavailable").is_none(), "{listed}");
        for (name, collection) in &mut self.collections {
            let is_there = client.get(&prefix(name))?.0 != 404 || name == DEFAULT;
            let may_be = if is_there { collection.may_be_there } else { collection.may_be_absent };
            assert!(may_be, "{name} is there: {is_there}, and should not be: {collection:?}");
            (collection.may_be_there, collection.may_be_absent) = (is_there, !is_there);
            match is_there {
                true => collection.check(client, name)?,
                false => collection.documents.clear(),
            }
        }
        Ok(())
    }
}

impl Collection {
    fn check(&mut self, client: &Client, name: &str) -> Result<(), Gone> {
        let mut stored = BTreeMap::new();
        for line in client.get(&format!("{}/export", prefix(name)))?.1.lines() {
            let document: Value = serde_json::from_str(line).unwrap();
            let part = |part: &str| document[part].as_str().map(str::to_owned);
            stored.insert(part("id").unwrap_or_else(|| panic!("{document}")), part("text"));
        }
        let now = Timestamp::now();
        for (id, document) in &mut self.documents {
            let found = stored.remove(id).flatten();
            let has_expired = document.expires_at.is_some_and(|at| at < now - BRIEF);
            assert!(found.is_none() || !has_expired, "{name}/{id} came back after it had expired");
            assert!(document.texts.contains(&found), "{name}/{id} is {found:?}: {document:?}");
            document.texts = vec![found.clone()];
            if document.expires_at.is_some() && found.is_some() {
                document.texts.push(None);
            }
        }
        assert!(stored.is_empty(), "nobody wrote these to {name}: {stored:?}");
        self.documents.retain(|_, document| document.texts != [None]);
        self.check_found(client, name)
    }

    /// Some of the documents are found by their texts, and by their ids.
    fn check_found(&self, client: &Client, name: &str) -> Result<(), Gone> {
        let lasting = self.documents.iter().filter(|(_, document)| document.expires_at.is_none());
        for (id, document) in lasting.rev().take(4) {
            let Some(text) = &document.texts[0] else { continue };
            let path = format!("{}/similar?threshold=1", prefix(name));
            let (status, found) = client.call("POST", &path, "text/plain", text)?;
            assert!(status == 200 && found.contains(&format!("\"{id}\"")), "{name}/{id}: {found}");
            let (status, stored) = client.get(&format!("{}/documents/{id}", prefix(name)))?;
            assert!(status == 200 && stored.contains(text), "{name}/{id}: {stored}");
        }
        Ok(())
    }
}
