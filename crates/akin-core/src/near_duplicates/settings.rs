//! Which texts are near-duplicates, and the pipeline that follows from it.

use crate::scheme::{Bands, ProbePlan, SchemeSettings, Threshold};
use crate::sketch::{Estimator, Method, Sketch, SketchSettings, Sketcher};
use crate::text::{ShingleError, ShingleSet, ShingleSettings, Shingler, Unit};

/// The most shingles of a text: the index counts them in 32 bits.
const SHINGLES_MAX: usize = u32::MAX as usize;

/// Which texts are near-duplicates, and how likely a near-duplicate is found.
///
/// By default two texts are near-duplicates if their sets of three consecutive words have a Jaccard
/// similarity of at least 0.8, and a pair at exactly that threshold is found with a probability of
/// at least 0.99.
///
/// ```
/// use akin_core::{MatchSettings, TextIndex, Unit};
///
/// let settings = MatchSettings::new().unit(Unit::Character).size(5).threshold(0.7);
/// let addresses: TextIndex<u32> = TextIndex::new(&settings)?;
///
/// let refused = TextIndex::<u32>::new(&settings.threshold(7.0)).unwrap_err();
/// assert_eq!(refused.to_string(), "a threshold must be above 0 and at most 1, not 7");
/// # Ok::<(), akin_core::SettingsError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct MatchSettings {
    shingles: ShingleSettings,
    sketch: SketchSettings,
    threshold: f64,
    recall: f64,
    verify: bool,
}

/// Settings that cannot be used: the message names each fault.
///
/// ```
/// use akin_core::{MatchSettings, TextIndex};
///
/// let error = TextIndex::<u32>::new(&MatchSettings::new().size(0).recall(2.0)).unwrap_err();
/// assert_eq!(error.faults.len(), 2);
/// assert_eq!(error.faults[0], "size must be from 1 to 64, not 0");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", faults.join("; "))]
pub struct SettingsError {
    /// A sentence for each fault.
    pub faults: Vec<String>,
}

impl Default for MatchSettings {
    fn default() -> Self {
        let SchemeSettings { threshold, recall, .. } = SchemeSettings::default();
        Self {
            shingles: ShingleSettings::default(),
            sketch: SketchSettings::default(),
            threshold: threshold.get(),
            recall,
            verify: true,
        }
    }
}

impl MatchSettings {
    /// The default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// The units of which shingles are made: by default words.
    pub fn unit(mut self, unit: Unit) -> Self {
        self.shingles.unit = unit;
        self
    }

    /// The number of consecutive units in a shingle, 1 to 64: by default 3. Shorter shingles find
    /// texts with more scattered differences; longer shingles match by chance less often.
    pub fn size(mut self, units: u32) -> Self {
        self.shingles.size = units;
        self
    }

    /// The Jaccard similarity from which texts are near-duplicates, above 0 and at most 1: by
    /// default 0.8.
    pub fn threshold(self, similarity: f64) -> Self {
        Self { threshold: similarity, ..self }
    }

    /// The probability to find a text with a similarity of exactly the threshold, above 0 and below
    /// 1: by default 0.99. More similar texts are found more surely.
    pub fn recall(self, probability: f64) -> Self {
        Self { recall: probability, ..self }
    }

    /// Whether the sets of the texts are kept and compared exactly: by default they are. Kept sets
    /// take 8 bytes for each distinct shingle of the texts. Without them a text is a match if the
    /// estimate from its sketch reaches the threshold. [`deduplicate`](crate::deduplicate) always
    /// compares exactly.
    pub fn verify(self, exactly: bool) -> Self {
        Self { verify: exactly, ..self }
    }

    /// The seed of all hash functions: by default 0. Choose a secret seed if the authors of texts
    /// may want unlike texts to match.
    pub fn seed(mut self, seed: u64) -> Self {
        self.sketch.seed = Some(seed);
        self
    }

    /// All settings of how texts are normalised and cut, instead of [`Self::unit`] and
    /// [`Self::size`].
    pub fn shingles(self, shingles: ShingleSettings) -> Self {
        Self { shingles, ..self }
    }

    /// All settings of the sketches, instead of [`Self::seed`].
    pub fn sketch(self, sketch: SketchSettings) -> Self {
        Self { sketch, ..self }
    }

    pub(super) fn verifies(&self) -> bool {
        self.verify
    }

    /// # Errors
    /// [`SettingsError`] with all faults.
    pub(super) fn pipeline(&self) -> Result<Pipeline, SettingsError> {
        let mut faults = self.shingles.faults();
        faults.extend(self.sketch.faults());
        if self.shingles.unit == Unit::Field {
            faults.push("unit must not be field: a text has no fields".to_owned());
        }
        if self.sketch.method == Method::Foreign {
            faults.push("method must not be foreign: a text has no signature".to_owned());
        }
        let mut scheme = SchemeSettings { recall: self.recall, ..SchemeSettings::default() };
        match Threshold::new(self.threshold) {
            // Every query is at this threshold.
            Ok(threshold) => {
                (scheme.threshold, scheme.threshold_min) = (threshold, Some(threshold));
            }
            Err(error) => faults.push(error.to_string()),
        }
        faults.extend(scheme.faults(&self.sketch));
        if !faults.is_empty() {
            return Err(SettingsError { faults });
        }
        let bands = Bands::new(&scheme, &self.sketch);
        Ok(Pipeline {
            shingler: Shingler::new(self.shingles.clone(), self.sketch.seed(), SHINGLES_MAX),
            sketcher: Sketcher::new(self.sketch.clone()),
            estimator: Estimator::new(&self.sketch),
            threshold: scheme.threshold,
            plan: bands.plan(scheme.threshold),
            bands,
        })
    }
}

/// Everything that turns texts into keys and judges candidates.
#[derive(Debug)]
pub(super) struct Pipeline {
    shingler: Shingler,
    pub sketcher: Sketcher,
    pub estimator: Estimator,
    pub threshold: Threshold,
    pub bands: Bands,
    /// How lookups at the threshold probe.
    pub plan: ProbePlan,
}

/// A text as the index and the join need it.
pub(super) struct AnalysedText {
    pub set: ShingleSet,
    pub fingerprint: u64,
    pub sketch: Sketch,
}

impl Pipeline {
    pub fn analyse(&self, text: &str) -> Result<AnalysedText, ShingleError> {
        let set = self.shingler.text(text)?.set;
        let (fingerprint, sketch) = (set.fingerprint(), self.sketcher.sketch(&set));
        Ok(AnalysedText { set, fingerprint, sketch })
    }
}
