//! The metrics that are not kept in the recorder, in the text format of Prometheus. The recorder
//! never forgets a series: metrics of removed collections would stay, and clients choose the names.

use std::fmt::{Display, Write};
use std::sync::Arc;

use jiff::Timestamp;

use crate::budget::{Budget, Purpose};
use crate::engine::{ClustersState, Collection, CollectionName, Stats};

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

/// The name of a gauge, its description, and its value; `None` if the collection has none.
type Gauge = (&'static str, &'static str, fn(&Stats) -> Option<f64>);

const GAUGES: [Gauge; 23] = [
    ("akin_documents", "Documents.", |of| number(of.backend.size.documents)),
    ("akin_distinct_sets", "Distinct sets in the index.", |of| {
        number(of.backend.size.distinct_sets)
    }),
    ("akin_index_keys", "Keys in the index.", |of| number(of.backend.size.keys)),
    ("akin_postings", "Postings in the index.", |of| number(of.backend.size.postings)),
    ("akin_postings_longest", "Postings of the key with the most postings.", |of| {
        number(of.backend.size.postings_longest)
    }),
    ("akin_index_bytes", "Memory of the index and the ids.", |of| {
        number(of.backend.size.index_bytes)
    }),
    ("akin_ids_bytes", "Memory of the ids.", |of| number(of.backend.ids_bytes)),
    ("akin_database_bytes", "Size of the database.", |of| number(of.backend.size.database_bytes)),
    ("akin_wal_bytes", "Size of the write-ahead log.", |of| number(of.backend.wal_bytes)),
    ("akin_log_rows", "Operations since the newest snapshot, which a start would replay.", |of| {
        number(of.backend.log_rows)
    }),
    ("akin_sequence", "Operations ever applied.", |of| number(of.backend.sequence)),
    ("akin_snapshot_age_seconds", "Age of the newest snapshot.", |of| {
        let created_at_ms = of.backend.last_snapshot.as_ref()?.created_at.0;
        let age_ms = Timestamp::now().as_millisecond().saturating_sub(created_at_ms);
        Some(age_ms.max(0) as f64 / 1_000.0)
    }),
    ("akin_clusters", "Clusters of the last complete GET /clusters.", |of| {
        number(of.last_clusters?.clusters)
    }),
    ("akin_cluster_members_largest", "Documents of the largest of these clusters.", |of| {
        number(of.last_clusters?.members_largest)
    }),
    (
        "akin_clusters_over_alarm",
        "Of these clusters, the clusters over cluster_members_alarm.",
        |of| number(of.last_clusters?.over_alarm),
    ),
    ("akin_stored_clusters", "Kept clusters of the collection.", |of| {
        number(of.clusters?.clusters)
    }),
    ("akin_stored_cluster_documents", "Documents in the kept clusters.", |of| {
        number(of.clusters?.documents)
    }),
    ("akin_stored_cluster_bytes", "Memory of the kept clusters.", |of| number(of.clusters?.bytes)),
    ("akin_stored_clusters_current", "1 if the kept clusters are up to date, else 0.", |of| {
        number(u64::from(of.clusters?.state == ClustersState::Current))
    }),
    ("akin_passage_index_bytes", "Memory of the index of passages.", |of| {
        number(of.backend.passages.as_ref()?.bytes)
    }),
    ("akin_passage_postings", "Postings in the index of passages.", |of| {
        number(of.backend.passages.as_ref()?.postings)
    }),
    ("akin_recall_measured", "Recall of the last measurement.", |of| {
        of.last_recall.as_ref()?.recall
    }),
    ("akin_precision_measured", "Precision of the last measurement.", |of| {
        of.last_recall.as_ref()?.precision
    }),
];

fn number(figure: impl Into<Option<u64>>) -> Option<f64> {
    figure.into().map(|figure| figure as f64)
}

/// The free part of the disk, and its reserve.
pub fn disk((free, reserve): (u64, u64)) -> String {
    let mut text = String::new();
    let help = "Free bytes of the disk of the data directory.";
    write_single(&mut text, "akin_disk_free_bytes", help, number(free));
    let help = "Free bytes that additions leave on the disk.";
    write_single(&mut text, "akin_disk_reserve_bytes", help, number(reserve));
    text
}

/// The memory of the process, if it is known, the budget of requests and its reserved part.
pub fn memory(limit: Option<usize>, budget: &Budget) -> String {
    let mut text = String::new();
    let limit = limit.map(|bytes| bytes as f64);
    write_single(&mut text, "akin_memory_limit_bytes", "Memory that the process may take.", limit);
    let help = "Memory that requests and caches may take together.";
    write_single(&mut text, "akin_memory_budget_bytes", help, Some(budget.max() as f64));
    let help = "Memory reserved by requests and caches.";
    let reserved = Purpose::ALL.map(|purpose| {
        (format!("{{what=\"{}\"}}", purpose.name()), budget.reserved(purpose) as f64)
    });
    write_sample(&mut text, ("akin_memory_reserved_bytes", "gauge", help), reserved);
    text
}

/// The number of collections that could not be opened.
pub fn unavailable(collections: usize) -> String {
    let mut text = String::new();
    let help = "Collections that could not be opened.";
    write_single(&mut text, "akin_collections_unavailable", help, Some(collections as f64));
    text
}

/// All gauges of these collections.
pub fn gauges(figures: &[(CollectionName, Stats)]) -> String {
    let mut text = String::new();
    for (gauge, help, value) in GAUGES {
        // A collection's name needs no escaping: it has only characters that a label may have.
        let series = figures.iter().filter_map(|(name, stats)| {
            Some((format!("{{collection=\"{name}\"}}"), value(stats)?))
        });
        write_sample(&mut text, (gauge, "gauge", help), series);
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

/// Writes a gauge without labels; `None`: only its description.
fn write_single(text: &mut String, name: &str, help: &str, value: Option<f64>) {
    write_sample(text, (name, "gauge", help), value.map(|value| ("", value)));
}

/// Writes a metric: its name, type and description, then the labels and value of each series.
fn write_sample(
    text: &mut String,
    (name, kind, help): (&str, &str, &str),
    series: impl IntoIterator<Item = (impl Display, f64)>,
) {
    const TAKEN: &str = "a string takes what is written to it";
    writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}").expect(TAKEN);
    for (labels, value) in series {
        writeln!(text, "{name}{labels} {value}").expect(TAKEN);
    }
}

/// The version and, if the build knows it, the revision.
const BUILD: &str = env!("CARGO_PKG_VERSION");
const REVISION: Option<&str> = option_env!("AKIN_REVISION");

/// All metrics of the process, under the names that Prometheus's own clients use. A figure that
/// cannot be read is left out. Reads files, so it must not run on a runtime thread.
pub fn process() -> String {
    let mut text = String::new();
    let build = match REVISION {
        Some(revision) => format!("{{version=\"{BUILD}\",revision=\"{revision}\"}}"),
        None => format!("{{version=\"{BUILD}\"}}"),
    };
    let help = "1, with the version as a label.";
    write_sample(&mut text, ("akin_build_info", "gauge", help), [(build, 1.0)]);
    let process = metrics_process::collector::collect();
    let [resident, open_fds, max_fds, started_s] = [
        process.resident_memory_bytes,
        process.open_fds,
        process.max_fds,
        process.start_time_seconds,
    ]
    .map(number);
    let cpu_s = process.cpu_seconds_total;
    for (name, kind, help, value) in [
        ("process_cpu_seconds_total", "counter", "Processor time of the process.", cpu_s),
        ("process_resident_memory_bytes", "gauge", "Resident memory of the process.", resident),
        ("process_open_fds", "gauge", "Open file descriptors.", open_fds),
        ("process_max_fds", "gauge", "Limit of open file descriptors.", max_fds),
        ("process_start_time_seconds", "gauge", "When the process started.", started_s),
    ] {
        write_sample(&mut text, (name, kind, help), value.map(|value| ("", value)));
    }
    text
}
