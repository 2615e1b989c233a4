//! The measures of a comparison that are computed on request.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use utoipa::openapi::schema::{ObjectBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::document::Content;
use crate::engine::{Analyser, EngineError};
use akin_core::measure::{Compute, MEASURES, Measure, MeasureValue, Overlap};
use akin_core::text::Bag;

/// Whether each of [`MEASURES`] is requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeasureSelection([bool; MEASURES.len()]);

/// The requested measures with their values.
#[derive(Clone, Debug)]
pub struct MeasureValues(Vec<(Measure, Vec<f64>)>);

impl MeasureValues {
    /// Each measure, and its values in the order of [`Measure::values`].
    pub fn iter(&self) -> impl Iterator<Item = (&Measure, &[f64])> {
        self.0.iter().map(|(measure, values)| (measure, values.as_slice()))
    }
}

/// An object of measures, each an object of its values.
impl Serialize for MeasureValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of = |(measure, values)| NamedValues { measure, values };
        serializer.collect_map(self.iter().map(|of_measure| (of_measure.0.name, of(of_measure))))
    }
}

struct NamedValues<'a> {
    measure: &'a Measure,
    values: &'a [f64],
}

impl Serialize for NamedValues<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = |(of, value): (&MeasureValue, &f64)| match of.is_count {
            true => (of.name, serde_json::Number::from(*value as u64)),
            false => (of.name, serde_json::Number::from_f64(*value).unwrap_or_else(|| 0.into())),
        };
        serializer.collect_map(self.measure.values.iter().zip(self.values).map(number))
    }
}

impl ToSchema for MeasureValues {
    fn name() -> Cow<'static, str> {
        "Measures".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.extend(MEASURES.iter().map(|measure| (schema_name(measure), schema_of(measure))));
    }
}

impl PartialSchema for MeasureValues {
    fn schema() -> RefOr<Schema> {
        let object = ObjectBuilder::new().description(Some("The requested measures."));
        let with = |object: ObjectBuilder, measure: &Measure| {
            object.property(measure.name, Ref::from_schema_name(schema_name(measure)))
        };
        MEASURES.iter().fold(object, with).into()
    }
}

fn schema_name(measure: &Measure) -> String {
    let (first, rest) = measure.name.split_at(1);
    format!("{}{rest}Measure", first.to_uppercase())
}

fn schema_of(measure: &Measure) -> RefOr<Schema> {
    let object = ObjectBuilder::new()
        .description(Some(format!("By the measure `{}`: {}.", measure.name, measure.meaning)));
    let with = |object: ObjectBuilder, value: &MeasureValue| {
        let number = if value.is_count { usize::schema() } else { f64::schema() };
        let number = match number {
            RefOr::T(Schema::Object(number)) => {
                let meaning = value.meaning;
                ObjectBuilder::from(number).description(Some(meaning))
            }
            _ => unreachable!("a number has a schema of its own"),
        };
        object.property(value.name, number).required(value.name)
    };
    measure.values.iter().fold(object, with).into()
}

/// Parses names of measures separated by commas.
impl std::str::FromStr for MeasureSelection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut measures = Self::default();
        if text.split(',').all(|name| measures.add(name)) {
            return Ok(measures);
        }
        let names = MEASURES.map(|measure| measure.name).join(", ");
        Err(format!("must be {names}, or several of them separated by commas"))
    }
}

impl MeasureSelection {
    /// The names of the measures, and whether each is selected.
    pub fn choices(&mut self) -> impl Iterator<Item = (&'static str, &mut bool)> {
        MEASURES.iter().map(|measure| measure.name).zip(&mut self.0)
    }

    /// Adds the measure of this name; `false` if there is none.
    fn add(&mut self, name: &str) -> bool {
        let chosen = self.choices().find(|(known, _)| *known == name);
        chosen.map(|(_, is_chosen)| *is_chosen = true).is_some()
    }

    fn chosen(self) -> impl Iterator<Item = Measure> {
        MEASURES.into_iter().zip(self.0).filter_map(|(it, is_chosen)| is_chosen.then_some(it))
    }

    /// Whether any measure needs the contents rather than their sets.
    pub fn of_contents(self) -> bool {
        self.chosen().any(|measure| !matches!(measure.compute, Compute::Sets(_)))
    }

    /// The product of the texts' lengths in characters if they are compared by characters, else 0.
    pub(crate) fn product(self, a: &Content, b: &Content) -> u64 {
        let by_characters = |measure: Measure| matches!(measure.compute, Compute::Characters(_));
        match (a, b) {
            (Content::Text(a), Content::Text(b)) if self.chosen().any(by_characters) => {
                (a.chars().count() as u64).saturating_mul(b.chars().count() as u64)
            }
            _ => 0,
        }
    }
}

/// Computes the measures; without contents, only the measures of sets.
///
/// # Errors
/// `TextRequired`, `TextsTooLong`, `TooManyShingles`.
pub(crate) fn measure(
    analyser: &Analyser,
    contents: Option<(&Content, &Content)>,
    overlap: &Overlap,
    selection: MeasureSelection,
) -> Result<Option<MeasureValues>, EngineError> {
    let (mut measured, mut counts) = (Vec::new(), None);
    for measure in selection.chosen() {
        let values = match (measure.compute, contents) {
            (Compute::Sets(of), _) => of(overlap),
            (_, None) => continue,
            (Compute::Characters(of), Some((a, b))) => {
                let (Content::Text(text_a), Content::Text(text_b)) = (a, b) else {
                    return Err(EngineError::TextRequired);
                };
                let (found, max) = (selection.product(a, b), analyser.edit_product_max);
                if found > max {
                    return Err(EngineError::TextsTooLong { found, max });
                }
                of(text_a, text_b)
            }
            (Compute::Counts(of), Some(contents)) => {
                let (a, b) = match &counts {
                    Some(counts) => counts,
                    None => counts.insert(bags(analyser, contents)?),
                };
                of(a, b)
            }
        };
        measured.push((measure, values));
    }
    Ok((!measured.is_empty()).then_some(MeasureValues(measured)))
}

/// The overlap of the bags of two contents.
///
/// # Errors
/// `TooManyShingles`.
pub(crate) fn bag_overlap(
    analyser: &Analyser,
    contents: (&Content, &Content),
) -> Result<Overlap, EngineError> {
    let (a, b) = bags(analyser, contents)?;
    Ok(Overlap::of_bags(&a, &b))
}

fn bags(analyser: &Analyser, (a, b): (&Content, &Content)) -> Result<(Bag, Bag), EngineError> {
    Ok((analyser.shingler.bag(a)?, analyser.shingler.bag(b)?))
}
