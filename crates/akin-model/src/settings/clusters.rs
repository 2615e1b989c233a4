use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use akin_core::scheme::{Kind, SchemeSettings, Threshold};
use akin_core::sketch::{Method, SketchSettings};

/// The clusters that a collection keeps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = ClusterSettings)]
pub struct ClusteringSettings {
    /// The lowest Jaccard similarity of two documents that are connected in a cluster. Without it
    /// no clusters are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Threshold>,
}

impl ClusteringSettings {
    /// Whether no clusters are kept.
    pub fn are_off(&self) -> bool {
        self.threshold.is_none()
    }

    /// Every fault of the settings, each beginning with its key.
    pub fn faults(&self, scheme: &SchemeSettings, sketch: &SketchSettings) -> Vec<String> {
        let Some(threshold) = self.threshold else { return Vec::new() };
        if sketch.method == Method::Foreign {
            let fault = "threshold is not for signatures: sketch.method must not be foreign";
            return vec![fault.to_owned()];
        }
        if scheme.kind == Kind::Fields {
            return vec!["threshold is not for records: scheme.kind must not be fields".to_owned()];
        }
        // Documents are linked by exact lookups where these are indexed.
        let exact_from = scheme.exact_from();
        let least = match exact_from {
            Some(from) if scheme.kind == Kind::Prefix || from <= threshold => Some(from),
            _ => scheme.threshold_min,
        };
        let fault = |least: Threshold| {
            let (threshold, least) = (threshold.get(), least.get());
            format!("threshold must be at least the {least} that the index covers, not {threshold}")
        };
        least.filter(|least| threshold < *least).map(fault).into_iter().collect()
    }
}
