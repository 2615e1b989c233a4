//! Passages of a document that is added.

use std::sync::Arc;

use akin_core::passages::TextBlocks;

use super::{PassageQuery, no_text};
use crate::backend::{BackendError, Findings, PreparedDocument};
use crate::background::request::{self, charge, reserve};
use crate::document::Content;
use crate::engine::lookup::charging::of_content;
use crate::engine::{Engine, EngineError, OnDuplicate};
use akin_model::passages::{AddedPassages, ContainedOf};

/// Which stored documents are looked for when a document is added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContainmentCheck {
    /// `skip`: do not store a document that shares passages with a document that is looked for.
    pub on_contained: OnDuplicate,
    /// The least share of words in passages.
    pub containment_min: f64,
    pub of: ContainedOf,
}

impl Engine {
    /// The blocks of a text, in a collection with passages.
    pub(in crate::engine) fn passage_blocks(&self, content: &Content) -> Option<TextBlocks> {
        let settings = self.settings.passages.settings()?;
        let Content::Text(text) = content else { return None };
        // A text that is too long to be cut into words has no shingles either, and is refused.
        let words = self.analyser.shingler.words(text).ok()?;
        Some(TextBlocks::new(settings, text, &words))
    }

    /// # Errors
    /// `Unsupported`, `PassagesOff`, `WrongContent`
    pub(in crate::engine) fn check_has_passages(&self, of: &Content) -> Result<(), EngineError> {
        match of {
            _ if self.settings.passages.is_off() => {
                Err(EngineError::Backend(BackendError::PassagesOff))
            }
            Content::Text(_) => self.passage_search().map(|_| ()),
            _ => Err(no_text()),
        }
    }

    /// The stored documents that share passages with a document, after every earlier document that
    /// may be one of these was stored or withdrawn.
    ///
    /// # Errors
    /// `PassagesOff`, `OverBudget`, `OutOfService`, `Store`.
    pub(in crate::engine) async fn passages_at_arrival(
        &self,
        document: &PreparedDocument,
        found: &Findings<'_>,
        check: ContainmentCheck,
    ) -> Result<AddedPassages, EngineError> {
        let settings = self.settings.passages.settings().ok_or(BackendError::PassagesOff)?;
        let search = self.passage_search()?;
        let query = PassageQuery {
            containment_min: check.containment_min,
            of: check.of,
            limit: self.settings.limits.duplicates_max,
            ..PassageQuery::default()
        };
        let document = &document.document;
        let Content::Text(text) = &document.content else { return Err(no_text()) };
        let searching = async {
            reserve(text.len())?;
            charge(of_content(&document.content))?;
            let probe = self.cut_words(text.clone(), Some(document.id.clone())).await?;
            let request = self.passage_request(&probe, &query);
            let saw_all = search.wait_for_earlier_texts(found, &request).await?;
            let page = self.search_passages(search, &probe, &query, request).await?;
            Ok::<_, EngineError>((page, saw_all, probe.words.len()))
        };
        // A bulk import may hold more than the search for one of its documents may.
        let of_search = request::current().map(|memory| Arc::new(memory.of_one_request()));
        let (page, saw_all, words) = request::within(of_search, searching).await?;
        reserve(page.bytes())?;
        let answer = page.answer(settings, query.words_min(settings), words);
        Ok(AddedPassages {
            matches: answer.matches,
            guarantee: answer.guarantee,
            more: answer.more,
            truncated: answer.truncated || !saw_all,
        })
    }
}
