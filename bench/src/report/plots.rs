//! Which plots there are. One of which there are no figures is left out.

mod draw;

use std::path::Path;

pub use self::draw::{Axis, Draws, Series, lines};
use self::draw::{Bar, bars};
use super::growth::name;
use super::numbers::short;
use crate::outcome::{Outcome, Results};

pub fn draw(results: &Results, folder: &Path) {
    let file = |name: &str| folder.join(name);
    bars(&file("throughput.svg"), "text → sketch, MB/s, one thread", &throughput(results));
    bars(&file("memory.svg"), "index, bytes a document", &memory(results));
    let s_curve = s_curve(results);
    let axes = [Axis::plain("resemblance of a pair"), Axis::plain("share of such pairs found")];
    lines(&file("s_curve.svg"), "What is found at a threshold of 0.8", &axes, &s_curve);
    let axes = [Axis::plain("recall of pairs that are not equal"), Axis::log("lookups a second")];
    lines(&file("tradeoff.svg"), "Speed and recall", &axes, &tradeoff(results));
    for (what, title) in [("post", "POST /documents"), ("get", "GET /similar")] {
        let axes = [Axis::plain("percentile"), Axis::log("µs")];
        let series = latency(results, &format!("{what}_percentiles_us"));
        lines(&file(&format!("latency_{what}.svg")), title, &axes, &series);
    }
    let axes = [Axis::log("documents"), Axis::log("seconds")];
    let title = "All pairs at 0.8, one thread";
    lines(&file("growth.svg"), title, &axes, &growth(results, "join"));
    lines(&file("growth_further.svg"), title, &axes, &growth(results, "growth"));
    let axes = [Axis::log("documents"), Axis::log("µs")];
    lines(
        &file("filing.svg"),
        "One insert, one lookup, as an index grows",
        &axes,
        &filing(results),
    );
}

fn throughput(results: &Results) -> Vec<Bar> {
    let bar = |outcome: &Outcome| {
        let figure = outcome.get("text_mb_per_s")?;
        let limited = outcome.setting.ends_with("only");
        let who = if limited { name(outcome) } else { outcome.participant.clone() };
        Some(Bar { label: format!("{who} {}", short(figure)), figure })
    };
    results.of("text").filter_map(bar).collect()
}

/// Of the outcomes of as many documents as all took.
fn common(results: &Results) -> impl Iterator<Item = &Outcome> {
    let least = results.of("index").map(|outcome| outcome.documents).min();
    results.of("index").filter(move |outcome| Some(outcome.documents) == least)
}

fn memory(results: &Results) -> Vec<Bar> {
    let bar = |outcome: &Outcome| {
        let figure = outcome.get("index_bytes")?;
        let label = format!("{}: {}", name(outcome), short(figure));
        Some(Bar { label, figure })
    };
    common(results).filter_map(bar).collect()
}

fn s_curve(results: &Results) -> Vec<Series> {
    let line = |outcome: &Outcome, line: &str, name: String| {
        let points = outcome.lines.get(line).filter(|points| !points.is_empty())?;
        Some(Series { name, points: points.clone(), draws: Draws::Both })
    };
    let promised =
        common(results).find_map(|outcome| line(outcome, "promised", "akin's promise".to_owned()));
    // An exact check makes a step at the threshold of every curve.
    let as_it_comes = common(results).filter(|outcome| !outcome.setting.contains("checked"));
    let measured = as_it_comes.filter_map(|outcome| line(outcome, "s_curve", name(outcome)));
    promised.into_iter().chain(measured).collect()
}

/// A point for each.
fn tradeoff(results: &Results) -> Vec<Series> {
    let point = |outcome: &Outcome| {
        let points = vec![[outcome.get("recall_unequal")?, outcome.get("lookups_per_s")?]];
        Some(Series { name: name(outcome), points, draws: Draws::Both })
    };
    common(results).filter_map(point).collect()
}

fn latency(results: &Results, line: &str) -> Vec<Series> {
    let series = |outcome: &Outcome| {
        let points = outcome.lines.get(line)?.clone();
        Some(Series { name: name(outcome), points, draws: Draws::Both })
    };
    results.of("http").filter_map(series).collect()
}

fn growth(results: &Results, task: &str) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for outcome in results.of(task) {
        let Some(seconds) = outcome.get("seconds") else { continue };
        let (name, point) = (name(outcome), [outcome.documents as f64, seconds]);
        match series.iter_mut().find(|series| series.name == name) {
            Some(known) => known.points.push(point),
            None => series.push(Series { name, points: vec![point], draws: Draws::Both }),
        }
    }
    series
}

fn filing(results: &Results) -> Vec<Series> {
    let line = |(name, figure): (&str, &str)| {
        let point = |outcome: &Outcome| Some([outcome.documents as f64, outcome.get(figure)?]);
        let points = results.of("filing").filter_map(point).collect();
        Series { name: name.to_owned(), points, draws: Draws::Both }
    };
    let wanted = [
        ("insert, p50", "insert_p50_us"),
        ("insert, p99.9", "insert_p99.9_us"),
        ("lookup, p50", "lookup_p50_us"),
        ("lookup, p99", "lookup_p99_us"),
        ("as many lines written at random", "written_us"),
    ];
    wanted.map(line).into()
}
