//! Compares two records field by field.

use std::collections::BTreeSet;

use crate::document::Content;
use crate::engine::compare::measures::measure;
use crate::engine::{
    Analyser, CompareOptions, ComparedField, Comparison, EngineError, ExactResemblance,
    Explanation, PairContainment, Scores,
};
use akin_core::measure::Points;
use akin_core::scheme::FieldKeys;
use akin_core::text::NormalisedFields;

/// Compares two records field by field.
pub(super) fn compare_records(
    analyser: &Analyser,
    records: &FieldKeys,
    contents: (&Content, &Content),
    options: CompareOptions,
) -> Result<Comparison, EngineError> {
    let (a, b) = contents;
    analyser.check_fields(a)?;
    analyser.check_fields(b)?;
    let (a, b) = (analyser.shingler.fields(a)?, analyser.shingler.fields(b)?);
    let points = Points::of(&a, &b, analyser.edit_penalty);
    let (sketch_a, sketch_b) = (records.sketch(&a), records.sketch(&b));
    let shared = analyser.scheme.tables_shared(sketch_a.as_bytes(), sketch_b.as_bytes());
    let tables_shared: Vec<u32> = shared.collect();
    let is_candidate = !tables_shared.is_empty();
    let is_enough = points.total() >= analyser.points_min;
    let overlap = points.overlap();
    Ok(Comparison {
        probability_candidate: Some(f64::from(u8::from(is_candidate))),
        probability_reported: f64::from(u8::from(is_candidate && is_enough)),
        measures: measure(analyser, Some(contents), &overlap, options.measures)?,
        explanation: options.explain.then(|| Explanation {
            bands_shared: tables_shared,
            fields: compared_fields(&a, &b, &points),
            ..Explanation::default()
        }),
        scores: Scores::Records {
            exact: ExactResemblance::from(overlap),
            containment: PairContainment::from(overlap),
            points: points.total(),
            field_points: points.by_field,
        },
    })
}

/// The fields of either record, ordered by name.
fn compared_fields(
    a: &NormalisedFields,
    b: &NormalisedFields,
    points: &Points,
) -> Vec<ComparedField> {
    let names: BTreeSet<&str> = a.iter().chain(b.iter()).map(|(name, _)| name).collect();
    let compared = |name: &str| ComparedField {
        name: name.to_owned(),
        a: a.get(name).map(str::to_owned),
        b: b.get(name).map(str::to_owned),
        points: points.by_field.get(name).copied(),
    };
    names.into_iter().map(compared).collect()
}
