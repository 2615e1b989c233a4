//! What akin is to reach, each line with what was measured and the best peer of the same run.

use std::fmt::Write as _;

use super::numbers::{short, thousands};
use crate::outcome::{Outcome, Results};

/// Which corpus a line is about.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    /// Documents that somebody wrote.
    Real,
    /// A million made-up ones of 1 kB.
    MadeUp,
}

/// Documents of [`Of::MadeUp`].
const MADE_UP: usize = 1_000_000;

/// At least, or at most.
enum Bound {
    Least(f64),
    Most(f64),
    /// At least this share of the bare axum's figure.
    ShareOfBare(f64),
}

struct Line {
    what: &'static str,
    of: Of,
    task: &'static str,
    setting: &'static str,
    figure: &'static str,
    unit: &'static str,
    bound: Bound,
}

const fn line(
    what: &'static str,
    of: Of,
    [task, setting, figure, unit]: [&'static str; 4],
    bound: Bound,
) -> Line {
    Line { what, of, task, setting, figure, unit, bound }
}

const TEXT_LEAST: f64 = 1_000.0;
const TEXT_LEAST_WITHOUT_AVX512: f64 = 400.0;

const LINES: [Line; 21] = [
    line(
        "text → sketch, one core",
        Of::Real,
        ["text", "3 words", "text_mb_per_s", "MB/s"],
        Bound::Least(TEXT_LEAST),
    ),
    line(
        "hashed shingles → sketch, long documents",
        Of::Real,
        ["text", "3 words", "sketching_long_m_per_s", "M/s"],
        Bound::Least(1_000.0),
    ),
    line(
        "insert, sketch given, 32 bands",
        Of::MadeUp,
        ["index", "sketches", "inserts_per_s", "/s"],
        Bound::Least(2e6),
    ),
    line(
        "lookup, sketch given",
        Of::MadeUp,
        ["index", "sketches", "lookups_per_s", "/s"],
        Bound::Least(5e5),
    ),
    line(
        "insert, ten times as many",
        Of::MadeUp,
        ["filing", "", "inserts_per_s", "/s"],
        Bound::Least(2e6),
    ),
    line(
        "lookup, ten times as many",
        Of::MadeUp,
        ["filing", "", "lookups_per_s", "/s"],
        Bound::Least(5e5),
    ),
    line(
        "lookup from text, p50",
        Of::MadeUp,
        ["index", "sketches", "text_lookup_p50_us", "µs"],
        Bound::Most(4.0),
    ),
    line(
        "lookup from text, p99",
        Of::MadeUp,
        ["index", "sketches", "text_lookup_p99_us", "µs"],
        Bound::Most(30.0),
    ),
    line(
        "memory of the index a document",
        Of::MadeUp,
        ["index", "sketches", "index_bytes", "B"],
        Bound::Most(420.0),
    ),
    line(
        "all pairs of 1 M by keys",
        Of::MadeUp,
        ["join", "verified", "seconds", "s"],
        Bound::Most(7.0),
    ),
    line(
        "all pairs of 1 M, exact",
        Of::MadeUp,
        ["join", "exact", "seconds", "s"],
        Bound::Most(17.0),
    ),
    line("recall at 0.8", Of::Real, ["index", "checked", "recall", ""], Bound::Least(0.995)),
    line(
        "recall of pairs not equal",
        Of::Real,
        ["index", "checked", "recall_unequal", ""],
        Bound::Least(0.995),
    ),
    line("precision", Of::Real, ["index", "checked", "precision", ""], Bound::Least(1.0)),
    line(
        "POST /documents, a core-second",
        Of::Real,
        ["http", "durable", "posts_per_core_s", "/s"],
        Bound::Least(24_000.0),
    ),
    line(
        "POST /documents, of a bare axum",
        Of::Real,
        ["http", "durable", "posts_per_s", "/s"],
        Bound::ShareOfBare(0.5),
    ),
    line(
        "GET /similar, a core-second",
        Of::Real,
        ["http", "durable", "gets_per_core_s", "/s"],
        Bound::Least(70_000.0),
    ),
    line(
        "GET /similar, of a bare axum",
        Of::Real,
        ["http", "durable", "gets_per_s", "/s"],
        Bound::ShareOfBare(0.7),
    ),
    line(
        "NDJSON of 1 kB, two cores",
        Of::MadeUp,
        ["server", "bulk", "bulk_per_s", "/s"],
        Bound::Least(100_000.0),
    ),
    line(
        "restart after kill -9, a million",
        Of::MadeUp,
        ["server", "bulk", "restart_s_per_million", "s"],
        Bound::Most(1.0),
    ),
    line(
        "the same without a snapshot",
        Of::MadeUp,
        ["server", "bulk", "restart_without_snapshot_s_per_million", "s"],
        Bound::Most(1.0),
    ),
];

pub fn page(all: &[Results]) -> String {
    let mut page =
        "# The budget\n\nWhat akin is to reach, and what it reached on this machine. Beside it the \
         best peer of the same run. For what is missed see the profiles at the end of each \
         corpus's report.\n\n\
         | | to reach | measured | | best peer | corpus |\n|---|--:|--:|---|--:|---|\n"
            .to_owned();
    for line in &LINES {
        line.write(all, &mut page);
    }
    page + &limits(all)
}

/// A limit's name, what it was where the budget was set, and the figure here.
const LIMITS: [(&str, &str, &str); 4] = [
    ("xxh3, GB/s", "17 to 26", "xxh3_gb_per_s"),
    ("copying memory, GB/s", "11 to 13", "memcpy_gb_per_s"),
    ("sixteen cells at random of a large table, ns", "165", "sixteen_probes_ns"),
    ("4 KiB appended and synced, µs", "130 to 180", "sync_us"),
];

fn limits(all: &[Results]) -> String {
    let Some(limits) = all.iter().find_map(|results| results.of("limits").next()) else {
        return String::new();
    };
    let mut part = "\nThe budget was set on another machine. What either can do at best:\n\n\
                    | | there | here |\n|---|--:|--:|\n"
        .to_owned();
    for (title, there, figure) in LIMITS {
        let here = limits.get(figure).map(short).unwrap_or_default();
        writeln!(part, "| {title} | {there} | {here} |").expect("a string takes any text");
    }
    part
}

impl Line {
    fn write(&self, all: &[Results], page: &mut String) {
        let Line { what, unit, .. } = self;
        let Some((results, outcome)) = self.outcome(all) else {
            let bound = self.bound(None).0;
            writeln!(page, "| {what} | {bound} {unit} | not measured | | | |")
                .expect("a string takes any text");
            return;
        };
        let figure = outcome.get(self.figure).expect("it was chosen by this");
        let (bound, is_met) = self.bound(Some((results, figure)));
        let verdict = match is_met {
            // Fewer documents than the line is about may miss it, but say nothing if they don't.
            true if self.of == Of::MadeUp && outcome.documents < MADE_UP => "of too few documents",
            true => "met",
            false => "**missed**",
        };
        let (documents, name) = (thousands(outcome.documents as u64), &results.corpus.name);
        let shown = if unit.is_empty() { super::numbers::share(figure) } else { short(figure) };
        let corpus = format!("{name}, {documents}");
        let peer = self.best_peer(results, outcome.documents);
        writeln!(
            page,
            "| {what} | {bound} {unit} | {shown} {unit} | {verdict} | {peer} | {corpus} |"
        )
        .expect("a string takes any text");
    }

    /// That of the most documents, of the kind of corpus that the line is about or else of any.
    fn outcome<'a>(&self, all: &'a [Results]) -> Option<(&'a Results, &'a Outcome)> {
        let own = |results: &&Results| results.corpus.is_made_up() == (self.of == Of::MadeUp);
        let measured = |results: &'a Results| {
            let outcomes = results.of(self.task).filter(|outcome| self.is_about(outcome));
            outcomes.map(move |outcome| (results, outcome))
        };
        let most = |outcomes: Vec<(&'a Results, &'a Outcome)>| {
            outcomes.into_iter().max_by_key(|(_, outcome)| outcome.documents)
        };
        most(all.iter().filter(own).flat_map(measured).collect())
            .or_else(|| most(all.iter().flat_map(measured).collect()))
    }

    fn is_about(&self, outcome: &Outcome) -> bool {
        outcome.participant == "akin"
            && outcome.setting.starts_with(self.setting)
            && outcome.get(self.figure).is_some()
    }

    /// The bound in words, and whether it is met.
    fn bound(&self, measured: Option<(&Results, f64)>) -> (String, bool) {
        let figure = measured.map_or(f64::NAN, |(_, figure)| figure);
        match self.bound {
            Bound::Least(least) => {
                let without = measured.is_some_and(|(it, _)| !it.machine.flags.contains("avx512f"));
                let of_text = self.figure == "text_mb_per_s";
                let least = if of_text && without { TEXT_LEAST_WITHOUT_AVX512 } else { least };
                let shown = if least <= 1.0 { least.to_string() } else { short(least) };
                (format!("≥ {shown}"), figure >= least)
            }
            Bound::Most(most) => (format!("≤ {}", short(most)), figure <= most),
            Bound::ShareOfBare(share) => {
                let bare = measured.and_then(|(results, _)| self.bare(results));
                let least = bare.map_or(f64::NAN, |bare| bare * share);
                let shown = if least.is_nan() { String::new() } else { short(least) };
                (format!("{share} of it: ≥ {shown}"), figure >= least)
            }
        }
    }

    fn bare(&self, results: &Results) -> Option<f64> {
        results.of(self.task).find(|outcome| outcome.participant == "axum")?.get(self.figure)
    }

    /// Among as many documents as it took, and of any recall.
    fn best_peer(&self, results: &Results, documents: usize) -> String {
        let peers = results.of(self.task).filter(|it| {
            it.documents == documents && !["akin", "axum"].contains(&&*it.participant)
        });
        let figures = peers.filter_map(|it| Some((it, it.get(self.figure)?)));
        let best = match self.bound {
            Bound::Most(_) => figures.min_by(|a, b| a.1.total_cmp(&b.1)),
            _ => figures.max_by(|a, b| a.1.total_cmp(&b.1)),
        };
        best.map_or(String::new(), |(outcome, figure)| {
            let figure = if figure <= 1.0 { super::numbers::share(figure) } else { short(figure) };
            format!("{} ({}) {figure}", outcome.participant, outcome.setting)
        })
    }
}
