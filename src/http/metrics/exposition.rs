//! Gauges of collections in the text format of Prometheus. They are not kept in the recorder, which
//! never forgets a series: metrics of removed collections would stay, and clients choose the names.

use std::fmt::Write;
use std::sync::Arc;

use crate::budget::{Budget, Purpose};
use crate::engine::ClustersState;
use crate::engine::{ClusterCounts, ClusterFigures, Collection, CollectionName, Recall, Stats};
use akin_core::passages::BlockIndexStats;

/// The statistics of each collection that can give them.
pub async fn figures(collections: &[Arc<Collection>]) -> Vec<(CollectionName, Stats)> {
    let mut all = Vec::with_capacity(collections.len());
    for collection in collections {
        let name = collection.name();
        match collection.stats().await {
            Ok(stats) => all.push((name.clone(), stats)),
            Err(error) => {
                tracing::warn!(%name, %error, "cannot read the metrics of a collection");
            }
        }
    }
    all
}

/// `None` if the backend does not know it.
type Figure = fn(&Stats) -> Option<u64>;

const GAUGES: [(&str, &str, Figure); 11] = [
    ("akin_documents", "Documents.", |stats| Some(stats.backend.documents)),
    ("akin_distinct_sets", "Distinct sets in the index.", |stats| stats.backend.distinct_sets),
    ("akin_index_keys", "Keys in the index.", |stats| stats.backend.keys),
    ("akin_postings", "Postings in the index.", |stats| stats.backend.postings),
    ("akin_postings_longest", "Postings of the key with the most postings.", |stats| {
        stats.backend.postings_longest
    }),
    ("akin_index_bytes", "Memory of the index and the ids.", |stats| stats.backend.index_bytes),
    ("akin_ids_bytes", "Memory of the ids.", |stats| stats.backend.ids_bytes),
    ("akin_database_bytes", "Size of the database.", |stats| stats.backend.database_bytes),
    ("akin_wal_bytes", "Size of the write-ahead log.", |stats| stats.backend.wal_bytes),
    (
        "akin_log_rows",
        "Operations since the newest snapshot, which a start would replay.",
        |stats| stats.backend.log_rows,
    ),
    ("akin_sequence", "Operations ever applied.", |stats| stats.backend.sequence),
];

type ClusterFigure = fn(&ClusterFigures) -> u64;

/// Of the last complete run of `GET /clusters`.
const CLUSTER_GAUGES: [(&str, &str, ClusterFigure); 3] = [
    ("akin_clusters", "Clusters of the last complete GET /clusters.", |figures| figures.clusters),
    ("akin_cluster_members_largest", "Documents of the largest of these clusters.", |figures| {
        figures.members_largest
    }),
    (
        "akin_clusters_over_alarm",
        "Of these clusters, the clusters over cluster_members_alarm.",
        |figures| figures.over_alarm,
    ),
];

type ClusterCount = fn(&ClusterCounts) -> u64;

/// Of a collection that keeps clusters.
const STORED_CLUSTER_GAUGES: [(&str, &str, ClusterCount); 4] = [
    ("akin_stored_clusters", "Kept clusters of the collection.", |counts| counts.clusters),
    ("akin_stored_cluster_documents", "Documents in the kept clusters.", |counts| counts.documents),
    ("akin_stored_cluster_bytes", "Memory of the kept clusters.", |counts| counts.bytes),
    ("akin_stored_clusters_current", "1 if the kept clusters are up to date, else 0.", |counts| {
        u64::from(counts.state == ClustersState::Current)
    }),
];

type PassageFigure = fn(&BlockIndexStats) -> u64;

/// Of a collection with an index of passages.
const PASSAGE_GAUGES: [(&str, &str, PassageFigure); 2] = [
    ("akin_passage_index_bytes", "Memory of the index of passages.", |stats| stats.bytes),
    ("akin_passage_postings", "Postings in the index of passages.", |stats| stats.postings),
];

type Share = fn(&Recall) -> Option<f64>;

/// Of a collection with a measurement of recall.
const MEASURED: [(&str, &str, Share); 2] = [
    ("akin_recall_measured", "Recall of the last measurement.", |recall| recall.all.recall()),
    ("akin_precision_measured", "Precision of the last measurement.", Recall::precision),
];

/// The free part of the disk, and its reserve.
pub fn disk((free, reserve): (u64, u64)) -> String {
    let mut text = String::new();
    let help = "Free bytes of the disk of the data directory.";
    write_sample(&mut text, ("akin_disk_free_bytes", "gauge", help), [("", free as f64)]);
    let help = "Free bytes that additions leave on the disk.";
    write_sample(&mut text, ("akin_disk_reserve_bytes", "gauge", help), [("", reserve as f64)]);
    text
}

/// The memory of the process, if it is known, the budget of requests and its reserved part.
pub fn memory(limit: Option<usize>, budget: &Budget) -> String {
    let mut text = String::new();
    let help = "Memory that the process may take.";
    let series = limit.map(|bytes| ("", bytes as f64));
    write_sample(&mut text, ("akin_memory_limit_bytes", "gauge", help), series);
    let help = "Memory that requests and caches may take together.";
    let series = [("", budget.max() as f64)];
    write_sample(&mut text, ("akin_memory_budget_bytes", "gauge", help), series);
    let reserved = Purpose::ALL.map(|purpose| {
        (format!("{{what=\"{}\"}}", purpose.name()), budget.reserved(purpose) as f64)
    });
    let series = reserved.iter().map(|(labels, bytes)| (labels.as_str(), *bytes));
    let help = "Memory reserved by requests and caches.";
    write_sample(&mut text, ("akin_memory_reserved_bytes", "gauge", help), series);
    text
}

/// The number of collections that could not be opened.
pub fn unavailable(collections: usize) -> String {
    let mut text = String::new();
    let help = "Collections that could not be opened.";
    let series = [("", collections as f64)];
    write_sample(&mut text, ("akin_collections_unavailable", "gauge", help), series);
    text
}

/// All gauges of these collections.
pub fn gauges(figures: &[(CollectionName, Stats)], now_ms: i64) -> String {
    let mut text = String::new();
    for (gauge, help, figure) in GAUGES {
        let values = figures.iter().filter_map(|(name, stats)| Some((name, figure(stats)? as f64)));
        write_gauge(&mut text, (gauge, help), values);
    }
    let ages_s = figures.iter().filter_map(|(name, stats)| {
        let age_ms =
            now_ms.saturating_sub(stats.backend.last_snapshot.as_ref()?.created_at_ms).max(0);
        Some((name, age_ms as f64 / 1_000.0))
    });
    write_gauge(&mut text, ("akin_snapshot_age_seconds", "Age of the newest snapshot."), ages_s);
    for (gauge, help, figure) in CLUSTER_GAUGES {
        let values = figures
            .iter()
            .filter_map(|(name, stats)| Some((name, figure(stats.last_clusters.as_ref()?) as f64)));
        write_gauge(&mut text, (gauge, help), values);
    }
    for (gauge, help, count) in STORED_CLUSTER_GAUGES {
        let values = figures
            .iter()
            .filter_map(|(name, stats)| Some((name, count(stats.clusters.as_ref()?) as f64)));
        write_gauge(&mut text, (gauge, help), values);
    }
    for (gauge, help, figure) in PASSAGE_GAUGES {
        let values = figures.iter().filter_map(|(name, stats)| {
            Some((name, figure(stats.backend.passages.as_ref()?) as f64))
        });
        write_gauge(&mut text, (gauge, help), values);
    }
    for (gauge, help, share) in MEASURED {
        let values = figures
            .iter()
            .filter_map(|(name, stats)| Some((name, share(stats.last_recall.as_ref()?)?)));
        write_gauge(&mut text, (gauge, help), values);
    }
    text
}

/// The exposition without the series of collections that are not `covered`.
pub fn of_collections(text: &str, covered: impl Fn(&str) -> bool) -> String {
    let is_kept = |line: &&str| {
        let label = line.split_once("collection=\"").and_then(|(_, rest)| rest.split_once('"'));
        line.starts_with('#') || label.is_none_or(|(name, _)| covered(name))
    };
    text.split_inclusive('\n').filter(is_kept).collect()
}

/// A collection's name needs no escaping: it has only characters that a label may have.
fn write_gauge<'a>(
    text: &mut String,
    (gauge, help): (&str, &str),
    values: impl Iterator<Item = (&'a CollectionName, f64)>,
) {
    let values: Vec<_> =
        values.map(|(name, value)| (format!("{{collection=\"{name}\"}}"), value)).collect();
    let values = values.iter().map(|(labels, value)| (labels.as_str(), *value));
    write_sample(text, (gauge, "gauge", help), values);
}

/// Writes a metric: its name, type and description, then the labels and value of each series.
pub(super) fn write_sample<'a>(
    text: &mut String,
    (name, kind, help): (&str, &str, &str),
    series: impl IntoIterator<Item = (&'a str, f64)>,
) {
    const TAKEN: &str = "a string takes what is written to it";
    writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}").expect(TAKEN);
    for (labels, value) in series {
        writeln!(text, "{name}{labels} {value}").expect(TAKEN);
    }
}
