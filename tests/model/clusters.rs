//! The clusters that a collection keeps, against the components of all pairs.

use std::collections::{BTreeMap, BTreeSet};

use akin::document::Ordinal;
use akin::engine::{Added, ClustersState, Collection};

use crate::plain::id;
use crate::settings::CLUSTERED_FROM;
use crate::world::{World, clusters_of, pairs_of};

fn cursor(next: Option<&String>) -> Option<Ordinal> {
    next.map(|next| Ordinal::try_from(next.parse::<u64>().unwrap()).unwrap())
}

impl World {
    /// Brings the clusters up to date and compares them, if they are kept.
    pub async fn check_stored_clusters(&mut self) {
        let engine = self.engine();
        if engine.clusters_threshold().is_none() {
            return;
        }
        assert_eq!(engine.remove_expired().await.unwrap(), self.model.sweep());
        while engine.update_clusters().await.unwrap() {}
        let limit = 1 + self.numbers.below(5);
        let (mut found, mut after) = (BTreeMap::new(), None);
        loop {
            let page = engine.stored_clusters(after, 2, limit).unwrap();
            assert_eq!(page.state, ClustersState::Current);
            assert!(page.clusters.len() <= limit && !page.truncated);
            for stored in page.clusters {
                assert!(!stored.stale);
                let members = members(&engine, stored.representative.as_str(), limit);
                assert_eq!(members.len(), stored.size);
                found.insert(stored.cluster, members);
            }
            after = cursor(page.next.as_ref());
            if after.is_none() {
                break;
            }
        }
        for (name, members) in &found {
            let of = |member: &String| engine.cluster_name_of(&id(member));
            assert!(members.iter().all(|member| of(member).as_ref() == Some(name)), "{members:?}");
        }
        let expected = clusters_of(&pairs_of(&self.model, CLUSTERED_FROM));
        assert_eq!(found.into_values().collect::<BTreeSet<_>>(), expected);
    }

    /// An added document is in the cluster of its near-duplicates at once.
    pub fn check_cluster_of(&self, added: &Added, near: &[String]) {
        let engine = self.engine();
        let Some(cluster) = &added.cluster else { return };
        for near in near {
            assert_eq!(engine.cluster_name_of(&id(near)).as_ref(), Some(cluster), "{near}");
        }
    }
}

/// In the order of their ids.
fn members(engine: &Collection, of: &str, limit: usize) -> Vec<String> {
    let (mut members, mut after) = (Vec::new(), None);
    loop {
        let page = engine.stored_cluster_of(&id(of), after, limit).unwrap();
        members.extend(page.members.into_iter().map(|member| member.id.to_string()));
        after = cursor(page.next.as_ref());
        if after.is_none() {
            members.sort();
            return members;
        }
    }
}
