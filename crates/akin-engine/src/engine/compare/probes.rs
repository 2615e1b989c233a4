//! Compares two probes, which are contents or stored documents.

use crate::background::request::{charge, reserve};
use crate::budget::cost;
use crate::document::Content;
use crate::engine::CONTENT_INLINE_BYTES_MAX;
use crate::engine::compare::{Side, compare_sides, passages};
use crate::engine::lookup::charging::{of_comparing, of_content};
use crate::engine::{
    Analysis, CompareOptions, Comparison, Engine, EngineError, Match, Probe, compute_if,
};
use crate::stored::{Detail, Record};
use akin_core::text::ShingleSet;

/// If the product of two texts' lengths is higher, they are compared character by character off the
/// runtime's thread: that takes about a millisecond.
const PRODUCT_INLINE_MAX: u64 = 10_000_000;

/// Memory of a comparison for each byte of content, or shingle: the content, the set of eight bytes
/// a shingle, and the words that bags count.
const COMPARED_BYTES: usize = 16;

/// With an explanation: the passages, too, each of two offsets in every text.
const EXPLAINED_BYTES: usize = 32;

impl Engine {
    /// Compares two contents: estimated and exact resemblance, and the measures and explanation
    /// that the options select.
    ///
    /// # Errors
    /// The errors of [`Engine::similar`]; `TextNotKept` if the options require the content of a
    /// document that is stored without it; `TextRequired`, `TextsTooLong`, `OverBudget`.
    pub async fn compare(
        &self,
        a: Probe,
        b: Probe,
        options: CompareOptions,
    ) -> Result<Comparison, EngineError> {
        let (a, b) = (self.side(a, options).await?, self.side(b, options).await?);
        let bytes_per_byte = if options.explain { EXPLAINED_BYTES } else { COMPARED_BYTES };
        reserve((a.work() + b.work()).saturating_mul(bytes_per_byte))?;
        charge(compared_cost(&a, &b, options))?;
        let analyser = self.analyser.clone();
        let long = a.work() + b.work() > CONTENT_INLINE_BYTES_MAX
            || characters_product(&a, &b, options) > PRODUCT_INLINE_MAX;
        compute_if(long, move || compare_sides(&analyser, &a, &b, options)).await?
    }

    /// The parts of a match's text that are covered by shingles of the probe; `None` if there is no
    /// text, or the request has done as much work as it may.
    ///
    /// # Errors
    /// `OverBudget`.
    pub(crate) async fn highlights(
        &self,
        found: &Match,
        probe: &ShingleSet,
    ) -> Result<Option<Vec<[usize; 2]>>, EngineError> {
        let Some(content @ Content::Text(_)) = &found.content else { return Ok(None) };
        if charge(of_content(content)).is_err() {
            return Ok(None);
        }
        reserve(content.weight().saturating_mul(EXPLAINED_BYTES))?;
        let long = content.weight() > CONTENT_INLINE_BYTES_MAX;
        let (analyser, content, probe) = (self.analyser.clone(), content.clone(), probe.clone());
        let passages = compute_if(long, move || passages(&analyser, &content, &probe)).await??;
        Ok(Some(passages.shared))
    }

    async fn side(&self, probe: Probe, options: CompareOptions) -> Result<Side, EngineError> {
        match probe {
            Probe::Content(content) => {
                let analysis = self.analyse_content(&content).await?;
                Ok(Side { content: Some(content), analysis })
            }
            Probe::Stored(id) => {
                let record = self.backend.record(&id, Detail::All).await?;
                let Record { content, set, fingerprint, sketch, .. } =
                    record.ok_or_else(|| EngineError::not_found(&id))?;
                if content.is_none() && (options.explain || options.measures.of_contents()) {
                    return Err(EngineError::TextNotKept { id });
                }
                let set = set.expect("a whole record has its set");
                Ok(Side { content, analysis: Analysis::stored(set, fingerprint, sketch) })
            }
        }
    }
}

impl Side {
    /// An estimate of the work to compare it: bytes of content or shingles, whichever is more.
    fn work(&self) -> usize {
        self.content.as_ref().map_or(0, Content::weight).max(self.analysis.set.count())
    }
}

fn characters_product(a: &Side, b: &Side, options: CompareOptions) -> u64 {
    let contents = a.content.as_ref().zip(b.content.as_ref());
    contents.map_or(0, |(a, b)| options.measures.product(a, b))
}

fn compared_cost(a: &Side, b: &Side, options: CompareOptions) -> usize {
    let cut: usize = [a, b].iter().filter_map(|side| side.content.as_ref()).map(of_content).sum();
    cut + of_comparing(a.analysis.set.count(), b.analysis.set.count())
        + (characters_product(a, b, options) / cost::CHARACTER_PAIRS) as usize
}
