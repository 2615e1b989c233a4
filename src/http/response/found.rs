//! Clusters, written piece by piece, and pairs.

use serde::Serialize;
use utoipa::ToSchema;

use crate::engine::{ClusterPart, FoundPair};
use crate::http::bulk::ndjson;
use akin_model::clusters::{ClusterLine, ClusterMemberReply, IncompleteReply};

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
