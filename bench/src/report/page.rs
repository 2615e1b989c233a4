//! The report of one corpus.

use std::path::Path;

use super::growth::exponents;
use super::numbers::{short, thousands};
use super::table::{self, Column};
use super::tables::{DEDUP, FILING, GROWTH, HTTP, INDEX, JOIN, LIMITS, SERVER, TEXT};
use crate::outcome::{Outcome, Results};

/// A task's part of the report.
struct Part {
    task: &'static str,
    title: &'static str,
    columns: &'static [Column],
    plots: &'static [&'static str],
    says: &'static str,
}

const PARTS: [Part; 8] = [
    Part {
        task: "text",
        title: "From text to sketch",
        columns: &TEXT,
        plots: &["throughput.svg"],
        says: "One thread. Each with the pipeline that its users write: akin's is text → shingles \
               → sketch, and beside it what a document that is stored takes: its set, the set's \
               fingerprint, its sketch; gaoya's is its own tokeniser and `shingle_tokens`; in \
               Python it is `re.findall(r\"\\w+\")` and three words joined. 128 slots everywhere. \
               The last columns have the sets that all share, hashed already, as they are and put \
               together to documents of 8,192 shingles; datasketch and gaoya hash once more. `only`: \
               akin without the instructions above that level.",
    },
    Part {
        task: "dedup",
        title: "A file without its near-duplicates",
        columns: &DEDUP,
        plots: &[],
        says: "JSON lines in, JSON lines of the kept documents out, at a threshold of 0.8 and with \
               shingles of three words. A pair is found if not both of it are kept; an orphan was \
               removed although no kept document is near it. Both are counted by the exact sets of \
               words as Python's `\\w+` has them, and by those of akin, since a pair near the \
               threshold may be above it by one of them only. datasketch, rensa and datatrove are \
               given `\\w+`; text-dedup cuts at each `\\W`, akin by Unicode's rules. `own bands`: \
               what each chooses or recommends (datasketch, text-dedup by the threshold; datatrove \
               14 of 8; rensa its deduplicator, which compares estimates). text-dedup and datatrove \
               compare no sets. Processor time and memory are of all processes of a participant; \
               datasketch and rensa have one, the others as many as there are cores.",
    },
    Part {
        task: "index",
        title: "Insert everything, look everything up",
        columns: &INDEX,
        plots: &["memory.svg", "s_curve.svg", "tradeoff.svg"],
        says: "One thread, the same sets for all, threshold 0.8, sketches made beforehand. \
               `own`: what the library chooses by itself (gaoya, datasketch) or what its own \
               benchmark uses (rensa), and what it returns as it comes. `checked exactly`: 21 \
               keys of 6 slots (gaoya's own choice), so that 99.8 % of the pairs at just the \
               threshold share one, and an exact check behind it. akin: `sketches compared` is \
               what its index returns; `keys for 0.8 only` is an index with the keys that lookups at \
               this threshold use, without those for other thresholds. Memory is what the process grows by, with its sketches \
               where the index keeps them; those of datasketch and rensa do not, which a service \
               has to do in addition. Texts and sets are apart.",
    },
    Part {
        task: "join",
        title: "All pairs",
        columns: &JOIN,
        plots: &["growth.svg"],
        says: "One thread. akin begins with texts; the others are given ready-made sets. Memory \
               is what is needed beyond these. SetSimilaritySearch is exact and no code of \
               anybody's here, so its recall and precision also say that the truth is true.",
    },
    Part {
        task: "growth",
        title: "All pairs, as a corpus grows",
        columns: &GROWTH,
        plots: &["growth_further.svg"],
        says: "akin alone, on one thread, from texts that are made up on the way (which is not \
               counted), to ten times as many documents as this corpus has.",
    },
    Part {
        task: "filing",
        title: "One insert, one lookup, as an index grows",
        columns: &FILING,
        plots: &["filing.svg"],
        says: "akin's index alone, on one thread: it begins empty, so that its growing is in the \
               figures, and every insert is timed by itself. Lookups are from a sketch to the \
               candidates pruned by sketch. The sketches are made up: families of five. Beside it \
               what writing to as many lines of plain memory of that size takes, at random places \
               that do not depend on each other.",
    },
    Part {
        task: "http",
        title: "Over HTTP",
        columns: &HTTP,
        plots: &["latency_post.svg", "latency_get.svg"],
        says: "Documents of this corpus posted one at a time over 32 connections, each checked \
               against those before it; then looked up by id. Clients and server share the \
               machine's cores, so a core-second is of the server's processor time alone. Only \
               akin has what it answered on disk; the others lose everything with the process. \
               FastAPI has one worker, because the index is in the process. The bare axum gives \
               bodies back and says hello: it finds nothing. akin checks exactly; FastAPI tells \
               what the sketches say. No server logs requests here, which akin else does.",
    },
    Part {
        task: "server",
        title: "In bulk, and after a crash",
        columns: &SERVER,
        plots: &[],
        says: "The whole corpus in one NDJSON request, every document checked, stored and \
               synced; then kill -9 and a start, once as it was left, with a snapshot from on the \
               way and the log since, once without any snapshot. Peers begin empty after a crash. \
               Then about nine documents of ten are removed in one call; memory is told for each \
               of all that there were.",
    },
];

pub fn of(results: &Results, folder: &Path) -> String {
    let mut page = head(results);
    for part in PARTS {
        let outcomes = results.of(part.task);
        if results.of(part.task).next().is_none() {
            continue;
        }
        let measured = results.of(part.task).next().map_or(String::new(), when);
        page += &format!("\n## {}\n\n{} {measured}\n\n", part.title, part.says);
        page += &table::of(outcomes, part.columns);
        if part.task == "growth" {
            page += &format!("\n{}", exponents(results));
        }
        for plot in part.plots.iter().filter(|plot| folder.join(plot).exists()) {
            page += &format!("\n![{}: {plot}]({plot})\n", part.title);
        }
    }
    page + &limits(results) + &profiles(folder)
}

/// Parts may be measured on different days.
fn when(outcome: &Outcome) -> String {
    format!("Measured on {} at commit {}.", outcome.date, outcome.commit)
}

fn head(results: &Results) -> String {
    let (corpus, machine) = (&results.corpus, &results.machine);
    let (documents, pairs) = (thousands(corpus.documents as u64), thousands(corpus.pairs));
    let bytes = corpus.text_bytes as f64;
    let each = short(bytes / corpus.documents as f64);
    let shingles = short(corpus.shingles as f64 / corpus.documents as f64);
    let equal = thousands(corpus.pairs_equal);
    format!(
        "# {name}\n\n{documents} documents of {each} B and {shingles} distinct shingles (three \
         words) on average, {total} MB of text. {pairs} pairs resemble each other at 0.8 or more, \
         {equal} of them equal; an exact join that has no code of akin's found them in {truth} \
         s.\n\n\
         | | |\n|---|---|\n\
         | processor | {processor}, {cores} cores, {mhz} MHz; {flags} |\n\
         | memory | {memory} GiB |\n\
         | kernel | {kernel} |\n\
         | compiler | {compiler}, profile {profile} |\n\
         | Python | {python} |\n{versions}",
        name = corpus.name,
        total = short(bytes / 1e6),
        truth = short(corpus.truth_s),
        processor = machine.processor,
        cores = machine.cores,
        mhz = machine.mhz,
        flags = machine.flags,
        memory = machine.memory_gib,
        kernel = machine.kernel,
        compiler = machine.compiler,
        profile = machine.profile,
        python = machine.python,
        versions = versions(results),
    )
}

/// A row for each participant whose version is known.
fn versions(results: &Results) -> String {
    let mut rows: Vec<String> = results
        .outcomes
        .iter()
        .filter(|outcome| !outcome.version.is_empty() && outcome.task != "limits")
        .map(|outcome| format!("| {} | {} |\n", outcome.participant, outcome.version))
        .collect();
    rows.sort();
    rows.dedup();
    rows.concat()
}

fn limits(results: &Results) -> String {
    let Some(outcome) = results.of("limits").next() else { return String::new() };
    let mut part = "\n## The limits of this machine\n\n| | |\n|---|--:|\n".to_owned();
    for (title, name) in LIMITS {
        let figure = outcome.get(name).map(short).unwrap_or_default();
        part += &format!("| {title} | {figure} |\n");
    }
    part
}

/// What `--profile` left.
fn profiles(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("profile_")).collect();
    names.sort();
    if names.is_empty() {
        return String::new();
    }
    let mut part =
        "\n## Where akin's time goes\n\nThe functions that have most of it themselves, by \
                    `perf`; preparations of the measurement included.\n"
            .to_owned();
    for name in names {
        let profile = std::fs::read_to_string(folder.join(&name)).unwrap_or_default();
        part += &format!("\n{name}\n\n```text\n{profile}```\n");
    }
    part
}
