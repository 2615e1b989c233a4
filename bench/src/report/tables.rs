//! Which figures are told of each task.

use super::table::As::{Megabytes, Share, Short, Whole};
use super::table::Column;

pub const TEXT: [Column; 5] = [
    ("text → sketch, MB/s", "text_mb_per_s", Short),
    ("text → set and sketch, MB/s", "analysing_mb_per_s", Short),
    ("text → shingles, MB/s", "shingling_mb_per_s", Short),
    ("hashed shingles → sketch, M/s", "sketching_m_per_s", Short),
    ("of long documents, M/s", "sketching_long_m_per_s", Short),
];

pub const DEDUP: [Column; 9] = [
    ("CPU seconds", "processor_s", Short),
    ("seconds", "seconds", Short),
    ("peak MB", "peak_bytes", Megabytes),
    ("removed", "removed", Whole),
    ("runs of 3 words lost", "lost", Whole),
    ("recall of unequal pairs by `\\w+`", "words_recall_unequal", Share),
    ("orphans by `\\w+`", "words_orphans", Whole),
    ("recall by akin's words", "recall_unequal", Share),
    ("orphans by akin's words", "orphans", Whole),
];

pub const INDEX: [Column; 8] = [
    ("inserts/s", "inserts_per_s", Short),
    ("lookups/s", "lookups_per_s", Short),
    ("p50 µs", "lookup_p50_us", Short),
    ("p99 µs", "lookup_p99_us", Short),
    ("memory, B a document", "index_bytes", Short),
    ("recall", "recall", Share),
    ("of pairs not equal", "recall_unequal", Share),
    ("precision", "precision", Share),
];

pub const JOIN: [Column; 5] = [
    ("seconds", "seconds", Short),
    ("of these joining", "joining_s", Short),
    ("peak MB", "peak_bytes", Megabytes),
    ("recall", "recall", Share),
    ("precision", "precision", Share),
];

pub const HTTP: [Column; 12] = [
    ("posts/s", "posts_per_s", Short),
    ("p50 µs", "post_p50_us", Short),
    ("p99 µs", "post_p99_us", Short),
    ("a core-second", "posts_per_core_s", Short),
    ("gets/s", "gets_per_s", Short),
    ("p50 µs", "get_p50_us", Short),
    ("p99 µs", "get_p99_us", Short),
    ("a core-second", "gets_per_core_s", Short),
    ("one client, p50 µs", "get_alone_p50_us", Short),
    ("peak MB", "peak_bytes", Megabytes),
    ("recall", "recall", Share),
    ("precision", "precision", Share),
];

/// As a corpus grows.
pub const GROWTH: [Column; 4] = [
    ("seconds", "seconds", Short),
    ("of these joining", "joining_s", Short),
    ("pairs", "pairs", Short),
    ("peak MB", "peak_bytes", Megabytes),
];

/// As an index grows.
pub const FILING: [Column; 11] = [
    ("inserts/s", "inserts_per_s", Short),
    ("p50 µs", "insert_p50_us", Short),
    ("p99 µs", "insert_p99_us", Short),
    ("p99.9 µs", "insert_p99.9_us", Short),
    ("longest µs", "insert_p100_us", Short),
    ("as many lines at random, µs", "written_us", Short),
    ("lookups/s", "lookups_per_s", Short),
    ("p50 µs", "lookup_p50_us", Short),
    ("p99 µs", "lookup_p99_us", Short),
    ("counted, B a document", "counted_bytes", Short),
    ("resident, B a document", "index_bytes", Short),
];

pub const SERVER: [Column; 13] = [
    ("bulk, documents/s", "bulk_per_s", Short),
    ("unchecked", "bulk_unchecked_per_s", Short),
    ("bulk, MB/s", "bulk_mb_per_s", Short),
    ("a core-second", "bulk_per_core_s", Short),
    ("index, B a document", "index_bytes", Short),
    ("ids, B a document", "ids_bytes", Short),
    ("resident, B a document", "resident_bytes", Short),
    ("the same after a restart", "resident_after_restart_bytes", Short),
    ("restart after kill -9, s", "restart_s", Short),
    ("without a snapshot, s", "restart_without_snapshot_s", Short),
    ("removed/s", "removed_per_s", Short),
    ("of all", "removed_share", Share),
    ("resident then, B a document", "resident_after_removal_bytes", Short),
];

/// What the machine can do at best.
pub const LIMITS: [(&str, &str); 8] = [
    ("copying memory, GB/s", "memcpy_gb_per_s"),
    ("xxh3 of 256 KiB, GB/s", "xxh3_gb_per_s"),
    ("sixteen cells at random of a 1 GB table, huge pages, ns", "sixteen_probes_ns"),
    ("4 KiB appended and synced, µs", "sync_us"),
    ("256 MiB written and synced, MB/s", "write_mb_per_s"),
    ("SQLite alone: rows of 2.3 kB, synced a thousand at a time, rows/s", "sqlite_rows_per_s"),
    ("the same, a core-second", "sqlite_rows_per_core_s"),
    ("peak of this measurement, bytes", "peak_bytes"),
];
