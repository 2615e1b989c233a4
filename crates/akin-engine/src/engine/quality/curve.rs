//! The S-curve and the costs of the collection's scheme, or of a given scheme.

use serde::Serialize;
use utoipa::ToSchema;

use crate::engine::{Analyser, CollectionSettings, Engine, EngineError};
use akin_core::index::Index;
use akin_core::scheme::{Bands, Curve, CurvePoint, Kind, ProbePlan, Scheme, Threshold};

/// The scheme of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CurveOf {
    /// The collection's own scheme, with lookups at a threshold (the collection's if `None`).
    Collection { threshold: Option<Threshold> },
    /// The scheme chosen by default for a threshold (the collection's if `None`) and a recall.
    Wanted { threshold: Option<Threshold>, recall: f64 },
    /// `bands` keys of `rows` slots, all of them probed: the S-curve of the textbook. The threshold
    /// (the collection's if `None`) separates false negatives from false positives.
    Keys { bands: u32, rows: u32, threshold: Option<Threshold> },
}

/// The chance to find a document by its Jaccard similarity, and the costs of the scheme.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Curve)]
pub struct CurveAnswer {
    pub kind: Kind,
    /// Keys of a document.
    #[schema(example = 32)]
    pub bands: u32,
    /// Slots of a key.
    #[schema(example = 4)]
    pub rows: u32,
    /// Slots of a sketch.
    #[schema(example = 128)]
    pub slots: u32,
    #[schema(value_type = f64, example = 0.8)]
    pub threshold: Threshold,
    /// Keys that a lookup at the threshold probes.
    #[schema(example = 9)]
    pub keys_probed: u32,
    /// A candidate with fewer agreeing slots is not checked exactly.
    pub agreeing_min: u32,
    /// The chance to find a document with a similarity of exactly the threshold.
    #[schema(example = 0.992)]
    pub expected_recall: f64,
    /// The share that is missed, on average over similarities from the threshold to 1.
    pub false_negatives: f64,
    /// The share that is checked in vain, on average over similarities from 0 to the threshold.
    pub false_positives: f64,
    /// Memory of the index for a document, computed from its layout.
    pub bytes_per_document: f64,
    /// Memory of the collection's index for a document. Only for the collection's own scheme, and
    /// only if there are documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_bytes_per_document: Option<f64>,
    /// At 0, 0.01, …, 1.
    pub points: Vec<CurvePoint>,
}

impl Engine {
    /// Computes a curve, off the runtime, as it takes a while for large sketches.
    ///
    /// # Errors
    /// `Curve`: the scheme is invalid. `Store`.
    pub async fn curve(&self, of: CurveOf) -> Result<CurveAnswer, EngineError> {
        let (settings, analyser) = (self.settings.clone(), self.analyser.clone());
        let work = move || match of {
            CurveOf::Collection { threshold } => {
                let threshold = threshold.unwrap_or(settings.scheme.threshold);
                own_curve(&settings, &analyser, threshold)
            }
            other => curve_of(&settings, other),
        };
        let mut answer = crate::engine::compute_if(true, work).await??;
        let stats = self.backend.stats().await?;
        if matches!(of, CurveOf::Collection { .. }) {
            answer.measured_bytes_per_document = stats.size.bytes_per_document();
        }
        Ok(answer)
    }
}

fn own_curve(
    settings: &CollectionSettings,
    analyser: &Analyser,
    threshold: Threshold,
) -> Result<CurveAnswer, EngineError> {
    let bands = bands_of(&analyser.scheme)?;
    Ok(drawn(settings, bands, threshold, bands.plan(threshold)))
}

/// Only bands and random rows have a curve.
fn bands_of(scheme: &Scheme) -> Result<&Bands, EngineError> {
    let faults = || vec!["kind must be bands or random_rows to have a curve".to_owned()];
    scheme.bands().ok_or_else(|| EngineError::Curve { faults: faults() })
}

/// The curve of a scheme over the sketches of a collection with these settings, from computation
/// alone.
///
/// # Errors
/// `Curve`: the scheme is invalid.
pub fn curve_of(settings: &CollectionSettings, of: CurveOf) -> Result<CurveAnswer, EngineError> {
    let mut settings = settings.clone();
    let scheme = &mut settings.scheme;
    let (threshold, all) = match of {
        CurveOf::Collection { threshold } => (threshold, false),
        CurveOf::Wanted { threshold, recall } => {
            scheme.threshold_min = None;
            scheme.threshold = threshold.unwrap_or(scheme.threshold);
            (scheme.recall, scheme.bands, scheme.rows) = (recall, None, None);
            (threshold, false)
        }
        CurveOf::Keys { bands, rows, threshold } => {
            scheme.threshold_min = None;
            (scheme.bands, scheme.rows) = (Some(bands), Some(rows));
            (threshold, true)
        }
    };
    let threshold = threshold.unwrap_or(scheme.threshold);
    let faults = scheme.faults(&settings.sketch);
    if !faults.is_empty() {
        return Err(EngineError::Curve { faults });
    }
    let scheme = Scheme::new(&settings.scheme, &settings.sketch);
    let bands = bands_of(&scheme)?;
    let plan = if all { bands.plan_all(threshold) } else { bands.plan(threshold) };
    Ok(drawn(&settings, bands, threshold, plan))
}

fn drawn(
    settings: &CollectionSettings,
    bands: &Bands,
    threshold: Threshold,
    plan: ProbePlan,
) -> CurveAnswer {
    let curve = Curve::of(bands, threshold, &plan, Index::usual_bytes());
    CurveAnswer {
        kind: settings.scheme.kind,
        bands: curve.bands,
        rows: curve.rows,
        slots: settings.sketch.slots,
        threshold,
        keys_probed: plan.bands,
        agreeing_min: plan.agreeing_min,
        expected_recall: plan.expected_recall,
        false_negatives: curve.false_negatives,
        false_positives: curve.false_positives,
        bytes_per_document: curve.document_bytes,
        measured_bytes_per_document: None,
        points: curve.points,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_is_chosen_for_what_is_wanted() {
        let settings = CollectionSettings::default();
        let own = curve_of(&settings, CurveOf::Collection { threshold: None }).unwrap();
        assert_eq!((own.bands, own.rows, own.keys_probed), (32, 4, 9));
        let wanted = CurveOf::Wanted { threshold: Threshold::new(0.5).ok(), recall: 0.99 };
        let low = curve_of(&settings, wanted).unwrap();
        assert!(low.rows < 4, "four rows do not reach 0.99 at 0.5");
        assert!(low.expected_recall >= 0.99, "{}", low.expected_recall);
        assert_eq!(low.threshold.get(), 0.5);
    }

    #[test]
    fn a_collection_s_own_curve_is_that_of_its_settings() {
        let settings = CollectionSettings::default();
        let threshold = settings.scheme.threshold;
        let own = own_curve(&settings, &Analyser::new(&settings), threshold).unwrap();
        let of = CurveOf::Collection { threshold: None };
        assert_eq!(curve_of(&settings, of).unwrap(), own);
    }

    #[test]
    fn what_cannot_be_is_named() {
        let of = CurveOf::Keys { bands: 100, rows: 5, threshold: None };
        let error = curve_of(&CollectionSettings::default(), of).unwrap_err();
        assert!(error.to_string().contains("100 × 5 is more than 128 slots"), "{error}");
        let of = CurveOf::Wanted { threshold: None, recall: f64::NAN };
        let error = curve_of(&CollectionSettings::default(), of).unwrap_err();
        assert!(error.to_string().contains("recall must be above 0"), "{error}");
    }
}
