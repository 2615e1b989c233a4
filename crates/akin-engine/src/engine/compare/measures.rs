//! Optional measures of two contents, computed on request.

use serde::Serialize;
use utoipa::ToSchema;

use crate::document::Content;
use crate::engine::{Analyser, EngineError};
use akin_core::measure::{
    BagOverlap, CommonSubsequence, angle_degrees, cosine, edit_distance, euclidean,
};
use akin_core::text::Bag;

/// The measures requested.
#[expect(clippy::struct_excessive_bools, reason = "one flag per measure")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeasureSelection {
    pub edit: bool,
    pub lcs: bool,
    pub hamming: bool,
    pub cosine: bool,
    pub euclidean: bool,
}

/// The requested measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
#[schema(as = Measures)]
pub struct MeasureValues {
    /// Of the texts: the fewest characters to insert, delete or exchange to make one of the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit: Option<Distance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lcs: Option<CommonSubsequence>,
    /// Of the sets: shingles that only one of them has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hamming: Option<Distance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cosine: Option<CosineMeasure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub euclidean: Option<EuclideanMeasure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Distance {
    pub distance: usize,
}

/// The cosine similarity of the counts of shingles as vectors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct CosineMeasure {
    /// The cosine of the angle between them.
    pub similarity: f64,
    /// The angle, 0..=90.
    pub angle_degrees: f64,
}

/// The Euclidean distance of the counts of shingles as vectors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct EuclideanMeasure {
    /// The length of their difference.
    pub distance: f64,
}

impl MeasureValues {
    pub(crate) fn if_any(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}

/// Parses names of measures separated by commas.
impl std::str::FromStr for MeasureSelection {
    type Err = UnknownMeasure;

    fn from_str(text: &str) -> Result<Self, UnknownMeasure> {
        let mut measures = Self::default();
        match text.split(',').all(|name| measures.add(name)) {
            true => Ok(measures),
            false => Err(UnknownMeasure),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", Self::MESSAGE)]
pub struct UnknownMeasure;

impl UnknownMeasure {
    pub const MESSAGE: &str =
        "must be edit, lcs, hamming, cosine, euclidean, or several of them separated by commas";
}

impl MeasureSelection {
    /// The names of the measures, and whether each is selected.
    pub fn choices(&mut self) -> [(&'static str, &mut bool); 5] {
        [
            ("edit", &mut self.edit),
            ("lcs", &mut self.lcs),
            ("hamming", &mut self.hamming),
            ("cosine", &mut self.cosine),
            ("euclidean", &mut self.euclidean),
        ]
    }

    /// Adds the measure of this name; `false` if there is none.
    fn add(&mut self, name: &str) -> bool {
        let chosen = self.choices().into_iter().find(|(known, _)| *known == name);
        chosen.map(|(_, is_chosen)| *is_chosen = true).is_some()
    }

    /// Whether any measure needs the contents rather than their sets.
    pub fn of_contents(self) -> bool {
        self.of_characters() || self.of_counts()
    }

    fn of_characters(self) -> bool {
        self.edit || self.lcs
    }

    fn of_counts(self) -> bool {
        self.cosine || self.euclidean
    }

    /// The product of the texts' lengths in characters if they are compared by characters, else 0.
    pub(crate) fn product(self, a: &Content, b: &Content) -> u64 {
        match (a, b) {
            (Content::Text(a), Content::Text(b)) if self.of_characters() => {
                (a.chars().count() as u64).saturating_mul(b.chars().count() as u64)
            }
            _ => 0,
        }
    }
}

/// Computes the measures that need the contents.
///
/// # Errors
/// `TextRequired`, `TextsTooLong`, `TooManyShingles`.
pub(crate) fn measure(
    analyser: &Analyser,
    (a, b): (&Content, &Content),
    measures: MeasureSelection,
) -> Result<MeasureValues, EngineError> {
    let mut measured = MeasureValues::default();
    if measures.of_characters() {
        let (Content::Text(text_a), Content::Text(text_b)) = (a, b) else {
            return Err(EngineError::TextRequired);
        };
        let (found, max) = (measures.product(a, b), analyser.edit_product_max);
        if found > max {
            return Err(EngineError::TextsTooLong { found, max });
        }
        let edit = || Distance { distance: edit_distance(text_a, text_b) };
        measured.edit = measures.edit.then(edit);
        measured.lcs = measures.lcs.then(|| CommonSubsequence::of(text_a, text_b));
    }
    if measures.of_counts() {
        let (a, b) = bags(analyser, (a, b))?;
        measured.cosine = measures.cosine.then(|| {
            let similarity = cosine(&a, &b);
            CosineMeasure { similarity, angle_degrees: angle_degrees(similarity) }
        });
        let euclidean = || EuclideanMeasure { distance: euclidean(&a, &b) };
        measured.euclidean = measures.euclidean.then(euclidean);
    }
    Ok(measured)
}

/// # Errors
/// `TooManyShingles`.
pub(crate) fn bag_overlap(
    analyser: &Analyser,
    contents: (&Content, &Content),
) -> Result<BagOverlap, EngineError> {
    let (a, b) = bags(analyser, contents)?;
    Ok(BagOverlap::of(&a, &b))
}

fn bags(analyser: &Analyser, (a, b): (&Content, &Content)) -> Result<(Bag, Bag), EngineError> {
    Ok((analyser.shingler.bag(a)?, analyser.shingler.bag(b)?))
}
