//! The quality of lookups: recall measured against a full scan, and the S-curve of a scheme.

mod curve;
pub(crate) mod recall;

pub use curve::{CurveAnswer, CurveOf, curve_of};
pub use recall::{Recall, Sample};
