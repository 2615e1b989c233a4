//! The cluster of one document: what near-duplicates of near-duplicates connect with it.

use std::collections::{HashSet, VecDeque};

use serde::Serialize;
use utoipa::ToSchema;

use crate::document::DocumentId;
use crate::engine::{Answer, Engine, EngineError, Lookup, MatchDetails, Mode, Probe};
use crate::join::cluster_name;
use crate::scheme::Threshold;

/// The documents that are connected with a document by near-duplicates, as with single linkage.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = ClusterOfDocument)]
pub struct ClusterOf {
    /// The cluster's name, as in a discovery; absent if not all members are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "e6c632b61e964e1f")]
    pub cluster: Option<String>,
    /// The lowest id of the members in byte order.
    pub representative: DocumentId,
    /// The number of members.
    pub size: usize,
    /// In byte order of their ids.
    pub members: Vec<Linked>,
    /// There are more members than `limit`.
    pub more: bool,
    /// A work limit was hit: some members may be missing.
    pub truncated: bool,
    #[schema(value_type = f64, example = 0.8)]
    pub threshold: Threshold,
    pub mode: Mode,
}

/// A member of a cluster, and what connects it. Together these links are a tree, whose root is the
/// document that was looked up.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = LinkedMember)]
pub struct Linked {
    pub id: DocumentId,
    /// The member whose near-duplicate it is; absent for the document that was looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linked_to: Option<DocumentId>,
    /// The Jaccard similarity to that member.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.91)]
    pub resemblance: Option<f64>,
}

impl Engine {
    /// Looks up the document, then its matches, then theirs, until nothing new comes or there are
    /// more than `lookup.limit` members. Costs a lookup for each distinct set among them.
    ///
    /// # Errors
    /// Those of [`Engine::similar`].
    pub async fn cluster_of(
        &self,
        id: DocumentId,
        lookup: Lookup,
    ) -> Result<ClusterOf, EngineError> {
        let include = MatchDetails { metadata: false, content: false };
        let lookup = Lookup { offset: 0, include, ..lookup };
        let first = self.similar(Probe::Stored(id.clone()), lookup).await?;
        let (threshold, mode) = (first.threshold, first.mode);
        let mut growing = Growing::new(id.clone(), lookup.limit);
        growing.add(&id, first);
        while let Some(next) = growing.next() {
            match self.similar(Probe::Stored(next.clone()), lookup).await {
                Ok(answer) => growing.add(&next, answer),
                // It was removed after it had been found.
                Err(EngineError::DocumentNotFound { .. }) => growing.remove(&next),
                Err(error) => return Err(error),
            }
        }
        Ok(growing.finish(threshold, mode))
    }
}

/// A cluster whose members are being found.
struct Growing {
    members: Vec<Linked>,
    known: HashSet<DocumentId>,
    /// Members with sets of their own, whose near-duplicates are not known yet.
    to_look_up: VecDeque<DocumentId>,
    limit: usize,
    more: bool,
    truncated: bool,
}

impl Growing {
    fn new(id: DocumentId, limit: usize) -> Self {
        Self {
            known: HashSet::from([id.clone()]),
            members: vec![Linked { id, linked_to: None, resemblance: None }],
            to_look_up: VecDeque::new(),
            limit,
            more: false,
            truncated: false,
        }
    }

    fn next(&mut self) -> Option<DocumentId> {
        if self.more { None } else { self.to_look_up.pop_front() }
    }

    fn add(&mut self, of: &DocumentId, answer: Answer) {
        self.truncated |= answer.truncated;
        self.more |= answer.more;
        for found in answer.matches {
            if !self.known.insert(found.id.clone()) {
                continue;
            }
            if self.members.len() >= self.limit {
                self.more = true;
                return;
            }
            // Documents with equal sets have the same near-duplicates.
            if found.exact != Some(1.0) {
                self.to_look_up.push_back(found.id.clone());
            }
            self.members.push(Linked {
                id: found.id,
                linked_to: Some(of.clone()),
                resemblance: Some(found.resemblance),
            });
        }
    }

    fn remove(&mut self, id: &DocumentId) {
        self.members.retain(|member| member.id != *id);
    }

    fn finish(self, threshold: Threshold, mode: Mode) -> ClusterOf {
        let Self { mut members, more, truncated, .. } = self;
        members.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        let representative = members[0].id.clone();
        ClusterOf {
            cluster: (!more && !truncated).then(|| cluster_name(&representative)),
            representative,
            size: members.len(),
            members,
            more,
            truncated,
            threshold,
            mode,
        }
    }
}
