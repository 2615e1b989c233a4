//! Lookups by containment: the documents that have most of the probe's shingles, or of which the
//! probe has most, however much longer one of them is.
//!
//! Keys of sketches cannot find these documents: sketches of a short and a long text hardly agree.
//! The candidates are the documents that share a run of words with the probe, by the index of
//! passages; each is compared exactly, by its set. So the promise is that of the index: a document
//! without a run of so many words of the probe may be missed, whatever its containment is.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::{FoundMatches, PageRange, ProbeQuery};
use crate::backend::{
    BackendError, Candidate, PassageRequest, PassageSearch, SharedPassages, Sketched,
};
use crate::background::request;
use crate::document::{Content, DocumentId};
use crate::engine::lookup::keyed::ATTEMPTS_MAX;
use crate::engine::{
    Answer, Chance, ContainedOf, Engine, EngineError, FoundBy, Guarantee, Lookup, Match, Mode,
    PassageQuery, Probe, Reach,
};
use akin_core::scheme::Threshold;
use akin_core::sketch::Sketch;

/// The fewest equal words of a candidate: a gram of the index of passages.
const WORDS_MIN: usize = 8;

/// Documents that are looked up in memory without a pause.
const DOCUMENTS_AT_ONCE: usize = 1_000;

impl Engine {
    /// The documents that share a run of words with the probe, and of which the containment reaches
    /// the threshold; without the probe itself.
    pub(super) async fn similar_by_containment(
        &self,
        probe: Probe,
        lookup: &Lookup,
        of: ContainedOf,
    ) -> Result<Answer, EngineError> {
        if !matches!(lookup.mode, None | Some(Mode::Verified)) {
            let served = "verified in a lookup by containment";
            return Err(EngineError::UnsupportedMode { served });
        }
        let threshold = self.minimum_score(lookup.threshold, lookup.points)?.threshold;
        let settings = self.settings.passages.settings().ok_or(BackendError::PassagesOff)?;
        let search = self.passage_search()?;
        let page = PageRange::from(lookup);
        let text = self.probe_text(probe).await?;
        let analysis = self.analyse_content(&Content::Text(text.text.to_string())).await?;
        let query = ProbeQuery {
            own_id: text.own_id.as_ref(),
            limit: page.end(),
            // Each candidate is compared, as a low resemblance may be a high containment.
            ..ProbeQuery::of(&analysis, Mode::Verified, self.settings.limits.candidates_max)
        };
        let conditions = lookup.conditions.clone();
        let passages = PassageQuery {
            words_min: Some(WORDS_MIN),
            containment_min: threshold.get(),
            of,
            conditions,
            ..PassageQuery::default()
        };
        // The shared words decide, not the length of a passage.
        let request = PassageRequest { readers: None, ..self.passage_request(&text, &passages) };
        let finding = self.find_contained(search, request, &query, threshold, of);
        let mut found = request::apart(finding).await?;
        // A document may have been replaced since the search.
        self.keep_meeting(&mut found, page, &lookup.conditions).await?;
        let chances = Chance::of(settings, text.words.len());
        let reach = Reach::Containment {
            threshold,
            guarantee: Guarantee::new(settings, settings.run_words()),
            chances: (of == ContainedOf::Probe).then_some(chances),
        };
        Self::answer(found, page, (Mode::Verified, reach))
    }

    /// Searches and compares, and repeats both if documents are removed in between.
    async fn find_contained(
        &self,
        search: &dyn PassageSearch,
        request: PassageRequest,
        query: &ProbeQuery<'_>,
        threshold: Threshold,
        of: ContainedOf,
    ) -> Result<FoundMatches, EngineError> {
        for attempt in 1.. {
            let found = search.passages(request.clone()).await?;
            let mut sets = self.sets_of(&found.matches, query.sketch()).await?;
            let (candidates, elements) = (sets.len(), query.set().count());
            sets.retain(|set| most_of(of, elements, set.shingles as usize) >= threshold.get());
            let checked = self.verify(query, sets).await?;
            if checked.none_gone || attempt == ATTEMPTS_MAX {
                let mut scored = checked.scored;
                scored.retain(|scored| containment(of, scored) >= threshold.get());
                scored.sort_unstable_by(|a, b| in_order(of, a, b));
                return Ok(FoundMatches {
                    scored,
                    candidates,
                    truncated: found.truncated || !checked.none_gone,
                    expected_recall: 0.0,
                    by: FoundBy::Passages,
                });
            }
        }
        unreachable!("the last attempt returns");
    }

    /// The distinct sets of documents, each with all of these documents that have it.
    async fn sets_of(
        &self,
        found: &[SharedPassages],
        probe: &Sketch,
    ) -> Result<Vec<Candidate>, EngineError> {
        let mut sets = HashMap::<u64, Candidate>::new();
        for block in found.chunks(DOCUMENTS_AT_ONCE) {
            let ids: Vec<DocumentId> = block.iter().map(|it| it.member.id.clone()).collect();
            let sketched = self.backend.sketched(&ids).await?;
            for Sketched { mut candidate, sketch } in sketched.into_iter().flatten() {
                let (probe, sketch) = (probe.as_bytes(), sketch.as_bytes());
                candidate.agreeing = self.analyser.estimator.agreeing(probe, sketch);
                match sets.entry(candidate.fingerprint) {
                    Entry::Vacant(new) => {
                        new.insert(candidate);
                    }
                    Entry::Occupied(mut same) => {
                        same.get_mut().members.append(&mut candidate.members);
                    }
                }
            }
            tokio::task::yield_now().await;
        }
        Ok(sets.into_values().collect())
    }
}

/// The highest containment of two sets of these sizes.
fn most_of(of: ContainedOf, probe: usize, matched: usize) -> f64 {
    let whole = match of {
        ContainedOf::Probe => probe,
        ContainedOf::Match => matched,
    };
    probe.min(matched) as f64 / whole as f64
}

fn containment(of: ContainedOf, scored: &Match) -> f64 {
    scored.similarity.containment().map_or(0.0, |shares| match of {
        ContainedOf::Probe => shares.of_probe,
        ContainedOf::Match => shares.of_match,
    })
}

/// By containment, then by resemblance, then by id.
fn in_order(of: ContainedOf, a: &Match, b: &Match) -> Ordering {
    let by_containment = containment(of, b).total_cmp(&containment(of, a));
    let by_resemblance = || b.resemblance().total_cmp(&a.resemblance());
    by_containment.then_with(by_resemblance).then_with(|| a.id.cmp(&b.id))
}
