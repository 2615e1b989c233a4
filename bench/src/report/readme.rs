//! The tables in the project's pages, each between two marks.

use std::fs;
use std::path::Path;

use super::numbers::{share, short, thousands};
use crate::outcome::{Outcome, Results};

/// Of the largest corpus that somebody wrote: tables for README.md and docs/benchmarks.md in the
/// project's folder. Changes nothing where there is no such page, no marks in it or no results.
pub fn write(project: &Path, all: &[Results]) {
    let size = |results: &&Results| (!results.corpus.is_made_up(), results.corpus.documents);
    let Some(results) = all.iter().max_by_key(size) else { return };
    let [readme, benchmarks] = ["README.md", "docs/benchmarks.md"].map(|page| project.join(page));
    replace_section(&readme, "batch", &(head(results, "dedup") + &batch(results)));
    replace_section(&readme, "service", &(head(results, "http") + &service(results)));
    replace_section(&benchmarks, "library", &(head(results, "index") + &library(results)));
}

/// Writes a section of a page anew: what is between `<!-- NAME: … -->` and `<!-- /NAME -->`.
/// Changes nothing if the page or the marks do not exist.
pub fn replace_section(page: &Path, name: &str, section: &str) {
    let Ok(text) = fs::read_to_string(page) else { return };
    let (begin, end) = (format!("<!-- {name}: "), format!("<!-- /{name} -->\n"));
    let Some(start) = text.find(&begin) else { return };
    let Some(line) = text[start..].find('\n') else { return };
    let (before, rest) = text.split_at(start + line + 1);
    let Some((_, after)) = rest.split_once(&end) else { return };
    fs::write(page, [before, section, &end, after].concat()).expect("the page can be written");
}

/// What was measured on which machine, and when.
fn head(results: &Results, task: &str) -> String {
    let (corpus, machine) = (&results.corpus, &results.machine);
    let date = results.of(task).map(|outcome| outcome.date.as_str()).max().unwrap_or_default();
    format!(
        "{documents} documents of {bytes} B (`{name}`), {processor}, {cores} cores, {date}:\n\n",
        documents = thousands(corpus.documents as u64),
        bytes = short(corpus.text_bytes as f64 / corpus.documents as f64),
        name = corpus.name,
        processor = machine.processor,
        cores = machine.cores,
        date = date.get(..10).unwrap_or_default(),
    )
}

/// From a file to a file without near-duplicates, by the words of either side.
fn batch(results: &Results) -> String {
    let mut table =
        "| file → file | CPU seconds | peak MB | removed | runs lost | recall\\*, `\\w+` | \
         orphans | recall\\*, Unicode | orphans |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|\n"
            .to_owned();
    let least = results.of("dedup").map(|outcome| outcome.documents).min();
    for outcome in results.of("dedup").filter(|outcome| Some(outcome.documents) == least) {
        let title = format!("{}, {}", outcome.participant, outcome.setting);
        if let Some(why) = &outcome.error {
            table += &format!("| {title} | {why} | | | | | | | |\n");
            continue;
        }
        let count = |name: &str| outcome.get(name).map(|it| thousands(it as u64));
        let recall = |name: &str| outcome.get(name).map(share);
        let cells = vec![
            shown(outcome, "processor_s"),
            outcome.get("peak_bytes").map(|bytes| short(bytes / 1e6)),
            count("removed"),
            count("lost"),
            recall("words_recall_unequal"),
            count("words_orphans"),
            recall("recall_unequal"),
            count("orphans"),
        ];
        table += &row(&title, cells);
    }
    table
}

/// One thread, as a library.
fn library(results: &Results) -> String {
    let mut table =
        "| one thread | text, MB/s | inserts/s | lookups/s | B a document | recall\\* | \
         precision |\n|---|--:|--:|--:|--:|--:|--:|\n"
            .to_owned();
    let least = results.of("index").map(|outcome| outcome.documents).min();
    for outcome in results.of("index").filter(|outcome| Some(outcome.documents) == least) {
        let of_text = results.of("text").find(|text| text.participant == outcome.participant);
        let text = of_text.and_then(|text| text.get("text_mb_per_s")).map(short);
        let figures =
            ["inserts_per_s", "lookups_per_s", "index_bytes"].map(|name| shown(outcome, name));
        let shares = ["recall_unequal", "precision"].map(|name| outcome.get(name).map(share));
        let cells = [vec![text], figures.to_vec(), shares.to_vec()].concat();
        table += &row(&format!("{}, {}", outcome.participant, outcome.setting), cells);
    }
    table
}

/// The same load on each.
fn service(results: &Results) -> String {
    let mut table = "| over HTTP | posts/s | p99 µs | gets/s | p99 µs | recall\\* | precision |\n\
         |---|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for outcome in results.of("http") {
        let figures = ["posts_per_s", "post_p99_us", "gets_per_s", "get_p99_us"];
        let figures = figures.map(|name| shown(outcome, name));
        let shares = ["recall_unequal", "precision"].map(|name| outcome.get(name).map(share));
        let cells = [figures.to_vec(), shares.to_vec()].concat();
        table += &row(&format!("{}, {}", outcome.participant, outcome.setting), cells);
    }
    table
}

fn shown(outcome: &Outcome, name: &str) -> Option<String> {
    outcome.get(name).map(short)
}

fn row(title: &str, cells: Vec<Option<String>>) -> String {
    let cells = cells.into_iter().map(|cell| format!(" {} |", cell.unwrap_or_default()));
    format!("| {title} |{}\n", cells.collect::<String>())
}
