//! The collection as it should be: a map.

use std::collections::BTreeMap;

use akin::document::{Content, Document, DocumentId, Metadata};

use crate::plain_resemblance::{Features, Least, Rule, Score, score};

#[derive(Clone, Debug)]
pub struct Plain {
    pub content: Content,
    pub metadata: Option<Metadata>,
    /// The number in the metadata.
    pub number: Option<usize>,
    pub expires_at_ms: Option<i64>,
    pub features: Features,
}

#[derive(Clone, Debug)]
pub struct Model {
    pub rule: Rule,
    pub now_ms: i64,
    /// With those that have expired and are not removed yet.
    pub documents: BTreeMap<String, Plain>,
}

pub fn id(id: &str) -> DocumentId {
    DocumentId::new(id).unwrap()
}

/// Of the documents whose ids begin so.
pub fn owner(id: &str) -> &str {
    id.split('.').next().unwrap()
}

/// `{"n": …, "owner": …}`.
pub fn metadata(id: &str, number: usize) -> Metadata {
    Metadata::from_json(&format!(r#"{{"n": {number}, "owner": "{}"}}"#, owner(id))).unwrap()
}

impl Model {
    pub fn new(rule: Rule, now_ms: i64) -> Self {
        Self { rule, now_ms, documents: BTreeMap::new() }
    }

    /// The documents whose owners are meant, under a rule.
    pub fn part(&self, rule: Rule, is_meant: impl Fn(&str) -> bool) -> Self {
        let meant = self.documents.iter().filter(|(id, _)| is_meant(owner(id)));
        let documents = meant.map(|(id, plain)| (id.clone(), plain.clone())).collect();
        let mut part = Self { rule, now_ms: self.now_ms, documents };
        part.set_rule(rule);
        part
    }

    pub fn set_rule(&mut self, rule: Rule) {
        self.rule = rule;
        for plain in self.documents.values_mut() {
            plain.features = rule.features(&plain.content);
        }
    }

    pub fn put(&mut self, document: &Document, number: Option<usize>) {
        let plain = Plain {
            content: document.content.clone(),
            metadata: document.metadata.clone(),
            number,
            expires_at_ms: document.expires_at_ms,
            features: self.rule.features(&document.content),
        };
        self.documents.insert(document.id.to_string(), plain);
    }

    pub fn get(&self, id: &str) -> Option<&Plain> {
        self.documents.get(id).filter(|plain| self.is_alive(plain))
    }

    pub fn alive(&self) -> impl Iterator<Item = (&String, &Plain)> {
        self.documents.iter().filter(|(_, plain)| self.is_alive(plain))
    }

    fn is_alive(&self, plain: &Plain) -> bool {
        plain.expires_at_ms.is_none_or(|at| at > self.now_ms)
    }

    /// Whether there was one.
    pub fn remove(&mut self, id: &str) -> bool {
        self.get(id).is_some() && self.documents.remove(id).is_some()
    }

    /// Removes an owner's documents with lower numbers; returns how many.
    pub fn remove_below(&mut self, owned_by: &str, number: usize) -> u64 {
        let meant = |(id, plain): &(&String, &Plain)| {
            owner(id) == owned_by && plain.number.is_some_and(|its| its < number)
        };
        let meant: Vec<String> = self.alive().filter(meant).map(|(id, _)| id.clone()).collect();
        self.documents.retain(|id, _| !meant.contains(id));
        meant.len() as u64
    }

    /// Removes what has expired; returns how many.
    pub fn sweep(&mut self) -> u64 {
        let before = self.documents.len();
        let now_ms = self.now_ms;
        self.documents.retain(|_, plain| plain.expires_at_ms.is_none_or(|at| at > now_ms));
        (before - self.documents.len()) as u64
    }

    /// The ids and scores of near-duplicates, in the order of answers.
    pub fn near(&self, of: &Features, least: Least, except: Option<&str>) -> Vec<(String, Score)> {
        let others = self.alive().filter(|(id, _)| Some(id.as_str()) != except);
        let scored = others.map(|(id, plain)| (id.clone(), score(of, &plain.features)));
        let mut near: Vec<_> = scored.filter(|(_, score)| least.admits(*score)).collect();
        near.sort_by(|(a, ours), (b, its)| {
            let by_points = its.points.cmp(&ours.points);
            let by_resemblance = || its.resemblance.total_cmp(&ours.resemblance);
            by_points.then_with(by_resemblance).then_with(|| a.cmp(b))
        });
        near
    }
}
