//! Gauges of collections in the text format of Prometheus. They are not kept in the recorder, which
//! never forgets a series: those of removed collections would stay, and clients choose the names.

use std::fmt::Write;
use std::sync::Arc;

use crate::engine::{ClusterFigures, Collection, CollectionName, Recall, Stats};

/// The statistics of each collection that can give them.
pub async fn figures(collections: &[Arc<Collection>]) -> Vec<(CollectionName, Stats)> {
    let mut all = Vec::with_capacity(collections.len());
    for collection in collections {
        let name = collection.name();
        match collection.stats().await {
            Ok(stats) => all.push((name.clone(), stats)),
            Err(error) => {
                tracing::warn!(%name, %error, "a collection's metrics are missing");
            }
        }
    }
    all
}

type Figure = fn(&Stats) -> u64;

const GAUGES: [(&str, Figure); 11] = [
    ("akin_documents", |stats| stats.backend.documents),
    ("akin_distinct_sets", |stats| stats.backend.distinct_sets),
    ("akin_keys", |stats| stats.backend.keys),
    ("akin_postings", |stats| stats.backend.postings),
    ("akin_postings_longest", |stats| stats.backend.postings_longest),
    ("akin_index_bytes", |stats| stats.backend.index_bytes),
    ("akin_ids_bytes", |stats| stats.backend.ids_bytes),
    ("akin_database_bytes", |stats| stats.backend.database_bytes),
    ("akin_wal_bytes", |stats| stats.backend.wal_bytes),
    ("akin_log_rows", |stats| stats.backend.log_rows),
    ("akin_sequence", |stats| stats.backend.sequence),
];

type ClusterFigure = fn(&ClusterFigures) -> u64;

/// Of the last complete run of `GET /clusters`.
const CLUSTER_GAUGES: [(&str, ClusterFigure); 3] = [
    ("akin_clusters", |figures| figures.clusters),
    ("akin_cluster_members_largest", |figures| figures.members_largest),
    ("akin_clusters_over_alarm", |figures| figures.over_alarm),
];

type Share = fn(&Recall) -> Option<f64>;

/// Of a collection whose recall was measured.
const MEASURED: [(&str, Share); 2] = [
    ("akin_recall_measured", |recall| recall.all.recall()),
    ("akin_precision_measured", Recall::precision),
];

/// The number of collections that could not be opened.
pub fn unavailable(collections: usize) -> String {
    const GAUGE: &str = "akin_collections_unavailable";
    format!("# TYPE {GAUGE} gauge\n{GAUGE} {collections}\n\n")
}

/// All gauges of these collections.
pub fn gauges(figures: &[(CollectionName, Stats)], now_ms: i64) -> String {
    let mut text = String::new();
    for (gauge, figure) in GAUGES {
        let values = figures.iter().map(|(name, stats)| (name, figure(stats).to_string()));
        write_gauge(&mut text, gauge, values);
    }
    let ages_s = figures.iter().filter_map(|(name, stats)| {
        let age_ms =
            now_ms.saturating_sub(stats.backend.last_snapshot.as_ref()?.created_at_ms).max(0);
        Some((name, (age_ms as f64 / 1_000.0).to_string()))
    });
    write_gauge(&mut text, "akin_snapshot_age_seconds", ages_s);
    for (gauge, figure) in CLUSTER_GAUGES {
        let values = figures.iter().filter_map(|(name, stats)| {
            Some((name, figure(stats.last_clusters.as_ref()?).to_string()))
        });
        write_gauge(&mut text, gauge, values);
    }
    for (gauge, share) in MEASURED {
        let values = figures.iter().filter_map(|(name, stats)| {
            Some((name, share(stats.last_recall.as_ref()?)?.to_string()))
        });
        write_gauge(&mut text, gauge, values);
    }
    text
}

/// A collection's name needs no escaping: it has only characters that a label may have.
fn write_gauge<'a>(
    text: &mut String,
    gauge: &str,
    values: impl Iterator<Item = (&'a CollectionName, String)>,
) {
    const TAKEN: &str = "a string takes what is written to it";
    writeln!(text, "# TYPE {gauge} gauge").expect(TAKEN);
    for (name, value) in values {
        writeln!(text, "{gauge}{{collection=\"{name}\"}} {value}").expect(TAKEN);
    }
}
