//! Lists and counts the documents that meet conditions.

use crate::document::DocumentId;
use crate::engine::{Conditions, Engine, EngineError};

/// Ids that are read at a time, with their documents.
const IDS_AT_ONCE: usize = 1_024;

/// A page of ids in byte order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedIds {
    pub ids: Vec<DocumentId>,
    /// After which id the next page begins; `None` on the last.
    pub next: Option<DocumentId>,
}

impl Engine {
    /// The first `limit` ids after `after`, in byte order.
    ///
    /// # Errors
    /// `Store`.
    pub async fn list(
        &self,
        after: Option<DocumentId>,
        limit: usize,
    ) -> Result<Vec<DocumentId>, EngineError> {
        Ok(self.backend.list(after, limit).await?)
    }

    /// The first `limit` ids after `after`, in byte order, of documents that meet the conditions.
    /// With conditions a page ends early once as many documents were examined as a lookup may
    /// (`limits.filtered_max`), so it may be short or empty and yet not the last. Successive pages
    /// have every document that exists throughout.
    ///
    /// # Errors
    /// `OverBudget`, `Store`.
    pub async fn list_where(
        &self,
        after: Option<DocumentId>,
        limit: usize,
        conditions: &Conditions,
    ) -> Result<ListedIds, EngineError> {
        if conditions.is_empty() {
            let mut ids = self.list(after, limit + 1).await?;
            let more = ids.len() > limit;
            ids.truncate(limit);
            let next = if more { ids.last().cloned() } else { None };
            return Ok(ListedIds { ids, next });
        }
        let mut page = ListedIds { ids: Vec::new(), next: after };
        let mut examined = 0;
        while page.ids.len() < limit && examined < self.settings.limits.filtered_max {
            let ids = self.backend.list(page.next.take(), IDS_AT_ONCE).await?;
            let is_last = ids.len() < IDS_AT_ONCE;
            examined += ids.len();
            page.next = if is_last { None } else { ids.last().cloned() };
            for id in self.ids_matching(conditions, ids).await? {
                if page.ids.len() == limit {
                    page.next = page.ids.last().cloned();
                    return Ok(page);
                }
                page.ids.push(id);
            }
            if is_last {
                break;
            }
        }
        Ok(page)
    }

    /// The number of documents. Cheap.
    ///
    /// # Errors
    /// `Store`.
    pub async fn documents(&self) -> Result<u64, EngineError> {
        Ok(self.backend.documents().await?)
    }

    /// How many documents meet the conditions. Examines all of them, if there are conditions.
    ///
    /// # Errors
    /// `OverBudget`, `Store`.
    pub async fn count(&self, conditions: &Conditions) -> Result<u64, EngineError> {
        if conditions.is_empty() {
            return Ok(self.backend.documents().await?);
        }
        self.charge_documents().await?;
        let (mut count, mut after) = (0, None);
        loop {
            let ids = self.backend.list(after, IDS_AT_ONCE).await?;
            let is_last = ids.len() < IDS_AT_ONCE;
            after = ids.last().cloned();
            count += self.ids_matching(conditions, ids).await?.len() as u64;
            if is_last {
                return Ok(count);
            }
        }
    }
}
