//! The details of matches: metadata and contents.
//!
//! Details may be a thousand times as large as scores, so they are read for a block of matches at a
//! time, and dropped before the next block is read.

use crate::backend::{Member, Version};
use crate::background::request::{charge, reserve};
use crate::budget::cost;
use crate::document::{Content, Metadata};
use crate::engine::lookup::conditions::metadata_bytes;
use crate::engine::{Engine, EngineError, Match, MatchDetails};
use akin_core::text::ShingleSet;
use akin_model::similarity::StoredVersion;

/// Bytes of metadata read at once, unless the metadata of one document alone is larger.
const BYTES_AT_ONCE_MAX: usize = 2 << 20;

/// The most matches for which metadata is read at once.
const MATCHES_AT_ONCE_MAX: usize = 128;

/// A detail, and its JSON in a vector that grows by doubling.
const COPIES: usize = 3;

impl Engine {
    /// How many matches a block of [`Self::read_details`] may have. Contents are read one at a
    /// time, because a content may be as long as a document can be.
    #[must_use]
    pub fn details_at_once(&self, include: MatchDetails) -> usize {
        match include {
            MatchDetails { content: true, .. } | MatchDetails { highlights: true, .. } => 1,
            MatchDetails { metadata: true, .. } => self.metadata_at_once(),
            MatchDetails { .. } => usize::MAX,
        }
    }

    /// How many documents' metadata is read at once.
    pub(crate) fn metadata_at_once(&self) -> usize {
        let longest = self.settings.limits.metadata_bytes_max.max(1);
        (BYTES_AT_ONCE_MAX / longest).clamp(1, MATCHES_AT_ONCE_MAX)
    }

    /// Reads the details of a block of matches. The memory of the details and of their JSON is
    /// reserved. A document that was removed in the meantime has no details. `probe`: the set by
    /// which highlights are found, if they are included.
    ///
    /// # Errors
    /// `OverBudget`, `OutOfService`, `Store`.
    pub async fn read_details(
        &self,
        matches: &mut [Match],
        include: MatchDetails,
        probe: Option<&ShingleSet>,
    ) -> Result<(), EngineError> {
        if include.metadata {
            self.read_metadata(matches).await?;
        }
        if include.content || include.highlights {
            self.read_contents(matches).await?;
        }
        for found in matches {
            if let Some(probe) = probe {
                found.highlights = self.highlights(found, probe).await?;
            }
            found.content.take_if(|_| !include.content);
        }
        Ok(())
    }

    async fn read_metadata(&self, matches: &mut [Match]) -> Result<(), EngineError> {
        let has_metadata = |found: &Match| found.stored.is_some_and(|stored| stored.has_metadata);
        let having: Vec<&mut Match> =
            matches.iter_mut().filter(|found| has_metadata(found)).collect();
        let versions: Vec<Version> = having.iter().filter_map(|found| version_of(found)).collect();
        if versions.is_empty() {
            return Ok(());
        }
        let read = self.metadata_of(&versions).await?;
        for (found, metadata) in having.into_iter().zip(read) {
            found.metadata = metadata;
        }
        Ok(())
    }

    /// The metadata of documents, `None` of those that have none or were removed. Its memory and
    /// the memory of its JSON are reserved.
    ///
    /// # Errors
    /// `OverBudget`, `OutOfService`, `Store`.
    pub(crate) async fn metadata_of(
        &self,
        versions: &[Version],
    ) -> Result<Vec<Option<Metadata>>, EngineError> {
        let details = self.backend.details(versions).await?;
        grow(details.iter().flatten().map(metadata_bytes).sum())?;
        Ok(details.into_iter().map(|details| details?.metadata).collect())
    }

    async fn read_contents(&self, matches: &mut [Match]) -> Result<(), EngineError> {
        for found in matches {
            let Some(version) = version_of(found) else { continue };
            found.content = self.backend.contents(&[vec![version]]).await?.pop().flatten();
            grow(found.content.as_ref().map_or(0, Content::weight))?;
        }
        Ok(())
    }
}

/// The work is counted, but does not break off an answer that has begun.
fn grow(bytes: usize) -> Result<(), EngineError> {
    let _ = charge(bytes / cost::DETAIL_BYTES);
    Ok(reserve(bytes.saturating_mul(COPIES))?)
}

pub(super) fn stored(member: &Member) -> StoredVersion {
    StoredVersion { ordinal: member.ordinal, has_metadata: member.has_metadata }
}

/// The stored version of a match; `None` for a document in flight.
pub(super) fn version_of(found: &Match) -> Option<Version> {
    Some(Version { id: found.id.clone(), ordinal: found.stored?.ordinal })
}
