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
        match (scheme.kind, scheme.exact_from()) {
            (Kind::Fields, _) => {
                vec!["threshold is not for records: scheme.kind must not be fields".to_owned()]
            }
            (Kind::Prefix, Some(from)) if threshold < from => {
                let (threshold, from) = (threshold.get(), from.get());
                vec![format!(
                    "threshold must be at least the {from} that the index covers, not {threshold}"
                )]
            }
            _ => Vec::new(),
        }
    }
}
