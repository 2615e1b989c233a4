//! Searches for passages, against all runs of words of all documents.

use std::collections::BTreeMap;

use akin::document::Content;
use akin::engine::{
    AddOptions, Added, ContainedOf, ContainmentCheck, PassageMatch, PassageQuery, Probe,
};

use crate::collection::World;
use crate::equal_runs::{check_words, covered_by_runs};
use crate::plain::{Model, id};
use crate::settings::Setting;
use crate::single_client;

/// The options of an addition; with passages, it says which documents it shares passages with.
pub fn options(setting: Setting, skip: bool) -> AddOptions {
    let check = ContainmentCheck {
        on_contained: akin::engine::OnDuplicate::Keep,
        containment_min: 0.0,
        of: ContainedOf::Probe,
    };
    let passages = (setting == Setting::Passages).then_some(check);
    AddOptions { passages, ..single_client::options(skip) }
}

impl World {
    /// The passages of a stored document, or of a new text.
    pub async fn check_passages(&mut self, name: Option<&str>) {
        if self.setting != Setting::Passages {
            return;
        }
        let query = PassageQuery { limit: 10_000, ..PassageQuery::default() };
        let probe = match name {
            Some(name) => Probe::Stored(id(name)),
            None => Probe::Content(crate::contents::content(self.setting, &mut self.numbers)),
        };
        let content = match (&probe, name.and_then(|name| self.model.get(name))) {
            (Probe::Content(content), _) => content.clone(),
            (_, Some(plain)) => plain.content.clone(),
            (_, None) => {
                assert!(self.engine().passages(probe, &query).await.is_err(), "{name:?} is gone");
                return;
            }
        };
        let answer = self.engine().passages(probe, &query).await.unwrap();
        assert!(!answer.truncated && !answer.more);
        self.check_shared(&content, name, &answer.matches);
    }

    /// What an addition told, before it is in the model.
    pub fn check_passages_of(&self, content: &Content, added: &Added) {
        let Some(passages) = &added.passages else { return };
        assert!(!passages.truncated && !passages.more);
        self.check_shared(content, Some(added.id.as_str()), &passages.matches);
    }

    fn check_shared(&self, content: &Content, except: Option<&str>, found: &[PassageMatch]) {
        let run = self.settings.passages.words as usize;
        let probe = words(content);
        let mut left: BTreeMap<&str, &PassageMatch> =
            found.iter().map(|found| (found.id.as_str(), found)).collect();
        assert_eq!(left.len(), found.len(), "an id is found once");
        for (name, words) in texts(&self.model).filter(|(name, _)| Some(*name) != except) {
            let (covered, longest) = covered_by_runs(&probe, &words, run);
            let is_whole = words.len() < run && probe.windows(words.len()).any(|it| *it == words);
            let shared = covered.iter().filter(|is_covered| **is_covered).count();
            match left.remove(name) {
                Some(found) => {
                    assert!(found.words_shared >= shared, "{name} in {probe:?}");
                    check_words(found, [&probe, &words], run, 1);
                    assert!(longest < run || found.longest == longest, "{name} in {probe:?}");
                }
                None => assert!(longest < run && !is_whole, "{name} is missing in {probe:?}"),
            }
        }
        assert!(left.is_empty(), "{left:?} are not stored, or the probe itself");
    }
}

fn words(content: &Content) -> Vec<&str> {
    let Content::Text(text) = content else { unreachable!("the collection has texts") };
    text.split(' ').collect()
}

fn texts(model: &Model) -> impl Iterator<Item = (&str, Vec<&str>)> {
    model.alive().map(|(name, plain)| (name.as_str(), words(&plain.content)))
}
