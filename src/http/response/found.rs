//! Clusters, written piece by piece, and running discoveries.

use serde::Serialize;
use utoipa::ToSchema;

use crate::engine::{ClusterPart, DiscoveryKind, DiscoveryStats, FoundPair, Linkage, Mode, Stage};
use crate::http::bulk::ndjson;
use akin_model::clusters::{ClusterLine, ClusterMemberReply, IncompleteReply};
use akin_model::time::Time;

const PLAIN: &str = "replies are plain JSON";

/// Writes clusters as lines of NDJSON, from their parts.
#[derive(Default)]
pub struct ClusterLines {
    members_written: bool,
}

impl ClusterLines {
    pub fn write(&mut self, part: ClusterPart, text: &mut Vec<u8>) {
        match part {
            ClusterPart::Begin(head) => {
                self.members_written = false;
                serde_json::to_writer(&mut *text, &head).expect(PLAIN);
                // The object goes on.
                text.pop();
                text.extend_from_slice(br#","members":["#);
            }
            ClusterPart::Member { id, resemblance } => {
                if self.members_written {
                    text.push(b',');
                }
                self.members_written = true;
                let member = ClusterMemberReply { id, resemblance };
                serde_json::to_writer(text, &member).expect(PLAIN);
            }
            ClusterPart::End => text.extend_from_slice(b"]}\n"),
            ClusterPart::Incomplete(incomplete) => {
                ndjson::write_line(text, &ClusterLine::Incomplete(IncompleteReply { incomplete }));
            }
        }
    }
}

/// A line of all pairs. The last line may say which pairs may be missing.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum PairLine {
    Pair(FoundPair),
    Incomplete(IncompleteReply),
}

/// A running discovery.
#[derive(Serialize, ToSchema)]
#[schema(as = Discovery)]
pub struct DiscoveryReply {
    /// `pairs` or `clusters`.
    #[schema(example = "pairs")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "single")]
    linkage: Option<&'static str>,
    threshold: f64,
    mode: Mode,
    started_at: Time,
    stage: Stage,
    /// Steps of this stage that are done.
    done: u64,
    /// Steps of this stage; 0 while unknown.
    total: u64,
    /// Pairs or clusters sent so far.
    found: u64,
}

impl From<DiscoveryStats> for DiscoveryReply {
    fn from(stats: DiscoveryStats) -> Self {
        let (kind, linkage) = match stats.kind {
            DiscoveryKind::Pairs => ("pairs", None),
            DiscoveryKind::Clusters(Linkage::Single) => ("clusters", Some("single")),
            DiscoveryKind::Clusters(Linkage::Representative) => {
                ("clusters", Some("representative"))
            }
        };
        Self {
            kind,
            linkage,
            threshold: stats.threshold.get(),
            mode: stats.mode,
            started_at: Time(stats.started_at_ms),
            stage: stats.stage,
            done: stats.done,
            total: stats.total,
            found: stats.found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use akin_model::clusters::ClusterHead;

    use crate::document::DocumentId;

    #[test]
    fn parts_come_to_lines_that_are_json() {
        let id = |id: &str| DocumentId::new(id).unwrap();
        let cluster = |members: &[&str]| {
            let begin = ClusterPart::Begin(ClusterHead {
                cluster: "c".to_owned(),
                representative: id(members[0]),
                size: members.len(),
            });
            let members = members
                .iter()
                .map(|member| ClusterPart::Member { id: id(member), resemblance: 0.5 });
            [begin].into_iter().chain(members).chain([ClusterPart::End]).collect::<Vec<_>>()
        };
        let mut lines = ClusterLines::default();
        let mut text = Vec::new();
        for part in [cluster(&["a\"]}", "b", "c"]), cluster(&["d"])].concat() {
            lines.write(part, &mut text);
        }
        let text = String::from_utf8(text).unwrap();
        let read: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(read.len(), 2);
        assert_eq!(read[0]["representative"], "a\"]}");
        assert_eq!(read[0]["members"][2], serde_json::json!({"id": "c", "resemblance": 0.5}));
        assert_eq!(
            (&read[1]["size"], read[1]["members"].as_array().unwrap().len()),
            (&1.into(), 1)
        );
    }
}
