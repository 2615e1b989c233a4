//! Deduplication of a list of texts.

use std::convert::Infallible;

use super::settings::{MatchSettings, Pipeline, SettingsError};
use crate::join::{
    Corpus, Join, JoinError, JoinProgress, Keys, LeftOut, Linkage, PairScoring, Sets,
};
use crate::text::{HashesMap, ShingleError, ShingleSet};

/// Groups texts into clusters of near-duplicates, and keeps the first text of each cluster.
///
/// A text without a shingle, for example an empty text, is near nothing and is kept. The work does
/// not grow with the square of the number of texts, even if most of them are made from the same
/// template.
///
/// ```
/// use akin_core::{Linkage, MatchSettings, deduplicate};
///
/// let texts = [
///     "The quick brown fox jumps over the lazy dog",
///     "Lorem ipsum dolor sit amet",
///     "the quick brown fox jumps over the lazy dog!",
/// ];
/// let deduplicated = deduplicate(texts, &MatchSettings::new(), Linkage::Representative)?;
/// assert_eq!(deduplicated.kept().collect::<Vec<_>>(), [0, 1]);
/// assert_eq!(deduplicated.clusters(), [[0, 2]]);
/// # Ok::<(), akin_core::DeduplicateError>(())
/// ```
///
/// # Errors
/// [`DeduplicateError`]: faults of the settings, or a text of more than half a gigabyte.
///
/// # Panics
/// If there are 2³² texts or more.
pub fn deduplicate<T: AsRef<str>>(
    texts: impl IntoIterator<Item = T>,
    settings: &MatchSettings,
    linkage: Linkage,
) -> Result<Deduplicated, DeduplicateError> {
    let pipeline = settings.pipeline()?;
    let mut sets = DistinctSets::new(&pipeline);
    for text in texts {
        sets.push(text.as_ref(), &pipeline)?;
    }
    let (representatives, left_out) = no_error(clusters(&mut sets, &pipeline, linkage));
    let DistinctSets { set_of_text, text_of_set, .. } = sets;
    let kept_text = |(text, set): (usize, Option<u32>)| {
        set.map_or(text, |set| text_of_set[representatives[set as usize] as usize])
    };
    let kept = set_of_text.into_iter().enumerate().map(kept_text).collect();
    Ok(Deduplicated { kept, left_out })
}

/// Why texts could not be deduplicated.
///
/// ```
/// use akin_core::{DeduplicateError, Linkage, MatchSettings, deduplicate};
///
/// let error = deduplicate(["a"], &MatchSettings::new().threshold(0.0), Linkage::Single);
/// assert!(matches!(error, Err(DeduplicateError::Settings(_))));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeduplicateError {
    /// The settings have faults.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A text cannot be cut into shingles. Empty texts are no error.
    #[error("text {number}: {error}")]
    Text { number: usize, error: ShingleError },
}

/// Texts grouped into clusters of near-duplicates. Texts are numbered from 0, in their order.
///
/// ```
/// # use akin_core::{Linkage, MatchSettings, deduplicate};
/// let texts = ["one two three", "four five six", "One Two Three", "FOUR FIVE SIX"];
/// let deduplicated = deduplicate(texts, &MatchSettings::new(), Linkage::Single).unwrap();
/// assert_eq!(deduplicated.kept_for(3), 1);
/// assert_eq!(deduplicated.clusters(), [[0, 2], [1, 3]]);
/// ```
#[derive(Clone, Debug)]
pub struct Deduplicated {
    /// For each text the text that is kept for it.
    kept: Vec<usize>,
    left_out: LeftOut,
}

impl Deduplicated {
    /// The texts to keep, ascending: the first text of each cluster, and each text without a
    /// near-duplicate.
    pub fn kept(&self) -> impl Iterator<Item = usize> {
        self.kept.iter().enumerate().filter(|(text, kept)| text == *kept).map(|(text, _)| text)
    }

    /// The text that is kept for a text: itself, or the first text of its cluster.
    ///
    /// # Panics
    /// If there is no text with this number.
    pub fn kept_for(&self, text: usize) -> usize {
        self.kept[text]
    }

    /// The clusters of two or more texts, in the order of their first texts; the texts of each
    /// ascend.
    pub fn clusters(&self) -> Vec<Vec<usize>> {
        let mut clusters = vec![Vec::new(); self.kept.len()];
        for (text, kept) in self.kept.iter().enumerate() {
            clusters[*kept].push(text);
        }
        clusters.retain(|texts| texts.len() > 1);
        clusters
    }

    /// Distinct texts that were not compared with all their candidates, because too many of the
    /// comparisons found no near-duplicate. Its numbers count distinct sets of shingles.
    pub fn left_out(&self) -> LeftOut {
        self.left_out.clone()
    }
}

/// The distinct sets of the texts, numbered by their first texts.
struct DistinctSets {
    corpus: Corpus,
    sets: Vec<ShingleSet>,
    /// The first text with each set.
    text_of_set: Vec<usize>,
    /// The set of each text; `None` for texts without a shingle.
    set_of_text: Vec<Option<u32>>,
    by_fingerprint: HashesMap<u32>,
}

impl DistinctSets {
    fn new(pipeline: &Pipeline) -> Self {
        Self {
            corpus: Corpus::new(pipeline.sketcher.sketch_bytes()),
            sets: Vec::new(),
            text_of_set: Vec::new(),
            set_of_text: Vec::new(),
            by_fingerprint: HashesMap::default(),
        }
    }

    fn push(&mut self, text: &str, pipeline: &Pipeline) -> Result<(), DeduplicateError> {
        let number = self.set_of_text.len();
        assert!(number < u32::MAX as usize, "fewer than 2^32 texts can be deduplicated at once");
        let analysed = match pipeline.analyse(text) {
            Ok(analysed) => analysed,
            Err(ShingleError::Empty) => {
                self.set_of_text.push(None);
                return Ok(());
            }
            Err(error) => return Err(DeduplicateError::Text { number, error }),
        };
        let new = self.corpus.count();
        let set = *self.by_fingerprint.entry(analysed.fingerprint).or_insert(new);
        if set == new {
            self.corpus.push(analysed.set.count() as u32, analysed.sketch.as_bytes());
            self.sets.push(analysed.set);
            self.text_of_set.push(number);
        }
        self.set_of_text.push(Some(set));
        Ok(())
    }
}

impl Sets for DistinctSets {
    type Error = Infallible;

    fn count(&self) -> u32 {
        self.corpus.count()
    }

    fn shingles(&self, number: u32) -> usize {
        self.corpus.shingles(number)
    }

    fn sketch(&mut self, number: u32) -> Result<&[u8], Infallible> {
        Ok(self.corpus.sketch(number))
    }

    fn set(&mut self, number: u32) -> Result<ShingleSet, Infallible> {
        Ok(self.sets[number as usize].clone())
    }
}

/// The representative of each set.
fn clusters(
    sets: &mut DistinctSets,
    pipeline: &Pipeline,
    linkage: Linkage,
) -> Result<(Vec<u32>, LeftOut), JoinError<Infallible>> {
    let Pipeline { estimator, threshold, bands, plan, .. } = pipeline;
    let keys = Keys {
        tables: plan.bands,
        value: |sketch: &[u8], table| Some(bands.value(sketch, table)),
        agreeing_min: plan.agreeing_min,
        crowds_from: *threshold,
    };
    let progress = JoinProgress::default();
    let judged = (*estimator, *threshold);
    let join = Join::by_keys(keys, judged, PairScoring::Verified, sets, &progress)?;
    Ok((join.clusters(linkage, sets, &progress)?, join.left_out()))
}

fn no_error<T>(result: Result<T, JoinError<Infallible>>) -> T {
    match result {
        Ok(value) => value,
        Err(JoinError::Sets(never)) => match never {},
        Err(JoinError::Stopped(_)) => unreachable!("nobody stops this join"),
    }
}
