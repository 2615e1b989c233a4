//! Pages of ids.

use std::collections::BTreeSet;
use std::convert::Infallible;

use super::{Catalog, document_id};
use crate::document::DocumentId;

impl Catalog {
    /// The `limit` least ids above `after`, in the order of their bytes, of the documents alive at
    /// `now_ms`. Goes through all ids, which takes some tens of nanoseconds each.
    pub fn ids_after(
        &self,
        after: Option<&DocumentId>,
        limit: usize,
        now_ms: i64,
    ) -> Vec<DocumentId> {
        let after = after.map_or("", DocumentId::as_str);
        // A document that is replaced meanwhile may be seen twice.
        let mut least = BTreeSet::new();
        let visited = self.visit(|ordinal, listed| {
            let greatest = least.last().filter(|_| least.len() >= limit);
            let is_low = greatest.is_none_or(|greatest: &DocumentId| listed.id < greatest.as_str());
            if is_low && listed.id > after && !self.expiries.has_expired(ordinal, now_ms) {
                least.insert(document_id(listed.id));
            }
            if least.len() > limit {
                least.pop_last();
            }
            Ok::<_, Infallible>(())
        });
        let Ok(()) = visited;
        least.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Listing;
    use super::*;
    use crate::document::Ordinal;

    fn id(text: &str) -> DocumentId {
        DocumentId::new(text).unwrap()
    }

    fn insert(catalog: &Catalog, ordinal: u32, text: &str) {
        let listing = Listing { id: id(text), fingerprint: 7, has_metadata: false };
        catalog.insert(Ordinal(ordinal), &listing.listed());
    }

    #[test]
    fn ids_are_paged_in_the_order_of_their_bytes() {
        let catalog = Catalog::default();
        for (number, text) in (0..).zip(["é", "b", "B", "a", "aa", "z"]) {
            insert(&catalog, number * 1_000, text);
        }
        catalog.expiries.insert(Ordinal(3_000), 10);
        assert_eq!(catalog.ids_after(None, 4, 9), ["B", "a", "aa", "b"].map(id));
        assert_eq!(catalog.ids_after(None, 4, 10), ["B", "aa", "b", "z"].map(id));
        assert_eq!(catalog.ids_after(Some(&id("b")), 4, 9), ["z", "é"].map(id));
        assert_eq!(catalog.ids_after(Some(&id("é")), 4, 9), []);
        assert_eq!(catalog.ids_after(None, 0, 9), []);
    }

    #[test]
    fn a_page_has_every_id_that_is_replaced_meanwhile_and_once() {
        let catalog = Catalog::default();
        let texts: Vec<_> = (0..3_000).map(|number| format!("{number:04}")).collect();
        for (ordinal, text) in (0..).zip(&texts) {
            insert(&catalog, ordinal, text);
        }
        std::thread::scope(|scope| {
            let replacing = scope.spawn(|| {
                for (ordinal, text) in (3_000..60_000).zip(texts.iter().cycle()) {
                    insert(&catalog, ordinal, text);
                }
            });
            while !replacing.is_finished() {
                let page = catalog.ids_after(None, 3_000, 0);
                assert!(page.iter().map(DocumentId::as_str).eq(texts.iter()));
            }
        });
    }
}
