//! Tables, plot and extrapolation of what was measured so far.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::machine::Machine;
use crate::outcome::Outcome;
use crate::report::{Axis, Draws, Series, lines, replace_section, short, thousands};

/// Documents to which the figures are extrapolated.
const FURTHER: [usize; 2] = [100_000_000, 1_000_000_000];

pub fn read(folder: &Path) -> Vec<Outcome> {
    let text = fs::read_to_string(folder.join("outcomes.json")).unwrap_or_else(|_| "[]".to_owned());
    serde_json::from_str(&text).expect("outcomes.json is as it was written")
}

pub fn write(folder: &Path, page: &Path, machine: &Machine, outcomes: &mut [Outcome]) {
    outcomes.sort_by(|a, b| order(a).partial_cmp(&order(b)).expect("figures are finite"));
    fs::create_dir_all(folder).expect("the folder of the report can be made");
    let text = serde_json::to_string_pretty(outcomes).expect("outcomes are plain");
    fs::write(folder.join("outcomes.json"), text + "\n").expect("the report is written");
    let axes = [Axis::log("documents"), Axis::log("CPU seconds")];
    lines(&folder.join("dedup.svg"), "akin dedup of a made-up crawl", &axes, &series(outcomes));
    let head = format!("{}, {} cores:\n\n", machine.processor, machine.cores);
    replace_section(page, "dedup", &(head.clone() + &dedup(outcomes)));
    replace_section(page, "server", &(head + &server(outcomes)));
}

fn order(outcome: &Outcome) -> (String, f64, usize) {
    (outcome.task.clone(), outcome.get("words").unwrap_or_default(), outcome.documents)
}

fn of<'a>(outcomes: &'a [Outcome], task: &'a str) -> impl Iterator<Item = &'a Outcome> {
    outcomes.iter().filter(move |outcome| outcome.task == task)
}

/// By the words of a document.
fn by_words(outcomes: &[Outcome]) -> BTreeMap<usize, Vec<&Outcome>> {
    let mut all: BTreeMap<usize, Vec<&Outcome>> = BTreeMap::new();
    for outcome in of(outcomes, "dedup") {
        all.entry(figure(outcome, "words") as usize).or_default().push(outcome);
    }
    all
}

fn figure(outcome: &Outcome, name: &str) -> f64 {
    outcome.get(name).unwrap_or_else(|| panic!("{} has no {name}", outcome.task))
}

fn series(outcomes: &[Outcome]) -> Vec<Series> {
    let mut all = Vec::new();
    for (number, (words, outcomes)) in by_words(outcomes).into_iter().enumerate() {
        let point = |it: &&Outcome| [it.documents as f64, figure(it, "processor_s")];
        let points: Vec<[f64; 2]> = outcomes.iter().map(point).collect();
        let further = FURTHER.map(|documents| {
            [documents as f64, Growth::of(&outcomes, "processor_s").at(documents)]
        });
        let last = points.last().copied();
        all.push(Series {
            name: format!("{words} words, measured"),
            points,
            draws: Draws::Points(number),
        });
        all.push(Series {
            name: format!("{words} words, extrapolated"),
            points: last.into_iter().chain(further).collect(),
            draws: Draws::Line(number),
        });
    }
    all
}

/// A figure as the number of documents to a power of at least one, by the least and the most that
/// were measured. Small corpora keep more for each document than large ones, whose growth is not less
/// than linear for that.
struct Growth {
    documents: f64,
    figure: f64,
    exponent: f64,
}

impl Growth {
    fn of(outcomes: &[&Outcome], name: &str) -> Self {
        let point = |it: &Outcome| (it.documents as f64, figure(it, name));
        let (first, last) = (point(outcomes[0]), point(outcomes[outcomes.len() - 1]));
        let exponent = (last.1 / first.1).ln() / (last.0 / first.0).ln();
        let exponent = if exponent.is_finite() { exponent.max(1.0) } else { 1.0 };
        Self { documents: last.0, figure: last.1, exponent }
    }

    fn at(&self, documents: usize) -> f64 {
        self.figure * (documents as f64 / self.documents).powf(self.exponent)
    }
}

fn dedup(outcomes: &[Outcome]) -> String {
    let mut table =
        "| documents | words | GB | input | CPU seconds | seconds | peak MB | temporary GB | \
         CPU µs a document | temporary B a document | measured |\n\
         |--:|--:|--:|---|--:|--:|--:|--:|--:|--:|---|\n"
            .to_owned();
    for it in of(outcomes, "dedup") {
        let is_compressed = it.get("compressed").is_some_and(|flag| flag > 0.0);
        let (cpu, disk) = (figure(it, "processor_s"), figure(it, "temporary_bytes"));
        let each = |figure: f64| short(figure / it.documents as f64);
        table += &format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            thousands(it.documents as u64),
            figure(it, "words"),
            short(figure(it, "file_bytes") / 1e9),
            if is_compressed { "zstd" } else { "lines" },
            short(cpu),
            short(figure(it, "seconds")),
            short(figure(it, "peak_bytes") / 1e6),
            short(disk / 1e9),
            each(cpu * 1e6),
            each(disk),
            it.date.get(..10).unwrap_or_default(),
        );
    }
    table + "\nExtrapolated:\n\n" + &further(outcomes)
}

fn further(outcomes: &[Outcome]) -> String {
    let mut table =
        "| documents | words | CPU hours | temporary TB | from |\n|--:|--:|--:|--:|---|\n"
            .to_owned();
    for (words, outcomes) in by_words(outcomes) {
        let [cpu, disk] = ["processor_s", "temporary_bytes"].map(|it| Growth::of(&outcomes, it));
        for documents in FURTHER {
            table += &format!(
                "| {} | {words} | {} | {} | {} documents; CPU as their number to the power of {:.2} |\n",
                thousands(documents as u64),
                short(cpu.at(documents) / 3600.0),
                short(disk.at(documents) / 1e12),
                thousands(cpu.documents as u64),
                cpu.exponent,
            );
        }
    }
    table
}

fn server(outcomes: &[Outcome]) -> String {
    let mut table =
        "| documents | words | imports/s | CPU µs an import | resident B a document | disk \
         B a document | start after `kill -9`, s | lookup p50 µs | p99 µs | measured |\n\
         |--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n"
            .to_owned();
    for it in of(outcomes, "server") {
        let shown = |name| short(figure(it, name));
        table += &format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            thousands(it.documents as u64),
            figure(it, "words"),
            shown("imports_per_s"),
            short(1e6 / figure(it, "imports_per_core_s")),
            shown("resident_bytes"),
            shown("database_bytes"),
            shown("restart_s"),
            shown("lookup_p50_us"),
            shown("lookup_p99_us"),
            it.date.get(..10).unwrap_or_default(),
        );
    }
    table
}
