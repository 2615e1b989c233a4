//! The clusters that a collection keeps, against the components of all pairs.

use akin::engine::{Added, ClusterPart, ClusterQuery, Collection, Discovery, Linkage};
use futures_util::StreamExt;

use crate::collection::{World, clusters_of, members_of, pairs_of};
use crate::plain::id;
use crate::settings::CLUSTERED_FROM;

impl World {
    /// Brings the clusters up to date and compares them, if they are kept.
    pub async fn check_stored_clusters(&mut self) {
        let engine = self.engine();
        if engine.clusters_threshold().is_none() {
            return;
        }
        assert_eq!(engine.remove_expired().await.unwrap(), self.model.sweep());
        while engine.update_clusters().await.unwrap() {}
        let parts = kept(&engine).await;
        let (mut name, mut first) = (String::new(), None);
        for part in &parts {
            match part {
                ClusterPart::Begin(head) => {
                    name.clone_from(&head.cluster);
                    first = Some(head.representative.clone());
                }
                ClusterPart::Member { id, .. } => {
                    assert_eq!(engine.cluster_name_of(id).as_ref(), Some(&name), "{id}");
                    assert!(first.as_ref().is_some_and(|first| first <= id));
                }
                _ => {}
            }
        }
        let expected = clusters_of(&pairs_of(&self.model, CLUSTERED_FROM));
        assert_eq!(members_of(parts), expected);
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

async fn kept(engine: &Collection) -> Vec<ClusterPart> {
    let query = ClusterQuery { linkage: Linkage::Single, min_size: 2, id: None };
    let kept = engine.kept_clusters(&Discovery::default(), &query).unwrap().unwrap();
    let batches = kept.stream(()).unwrap();
    batches.map(Result::unwrap).collect::<Vec<_>>().await.concat()
}
