//! Clusters of near-duplicates, and the documents that may be missing in them.

use akin_core::join::LeftOut;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::document::DocumentId;

/// A cluster of near-duplicates. It is written piece by piece, as it may be as large as the
/// collection.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Cluster)]
pub struct ClusterReply {
    #[serde(flatten)]
    #[schema(inline)]
    pub head: ClusterHead,
    /// In byte order of their ids, so the representative is first.
    pub members: Vec<ClusterMemberReply>,
}

/// A cluster without its members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClusterHead {
    /// The cluster's name, which depends on its representative only.
    #[schema(example = "e6c632b61e964e1f")]
    pub cluster: String,
    /// The lowest id of the cluster in byte order.
    pub representative: DocumentId,
    /// The number of members.
    pub size: usize,
}

#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = ClusterMember)]
pub struct ClusterMemberReply {
    pub id: DocumentId,
    /// The Jaccard similarity to the representative: the exact value, or the estimate in mode
    /// `estimated`. It may be below the threshold with `linkage=single`, where a chain of
    /// near-duplicates connects the two.
    #[schema(example = 0.91)]
    pub resemblance: f64,
}

/// A line of all clusters. The last line may say which documents may be missing in their clusters.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum ClusterLine {
    Cluster(ClusterReply),
    Incomplete(IncompleteReply),
}

/// The last line of an answer for which not all candidates were compared.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = IncompleteLine)]
pub struct IncompleteReply {
    pub incomplete: Incomplete,
}

/// Documents that were not compared with all their candidates: so some of their pairs may be
/// missing. In a discovery, too many comparisons were in vain; `mode=exact` compares them all,
/// however long it takes. In kept clusters, a limit was reached, the documents are not linked yet,
/// or a removal may have divided their cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Incomplete {
    /// The number of these documents; documents with equal sets are counted once.
    pub documents: u64,
    /// The ids of these documents: at most [`Incomplete::IDS_MAX`].
    pub ids: Vec<DocumentId>,
    /// One of these documents, and a document that it was not compared with. The shingles that
    /// these two share are the template of all these documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<DocumentId>>)]
    pub example: Option<[DocumentId; 2]>,
    /// The number of shingles that the two documents of the example share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<usize>,
}

impl Incomplete {
    pub const IDS_MAX: usize = LeftOut::NAMED_MAX;
}
