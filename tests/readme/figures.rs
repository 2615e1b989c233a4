//! The passages of docs/ with figures of the comparison with peers, between `<!-- figures: NAME
//! -->` and `<!-- /figures -->`: written from the results in bench/report with `UPDATE=1`, else
//! compared. `bench/run.sh`, which makes the results, writes the tables of README.md and
//! docs/benchmarks.md from the same.

use std::fs;
use std::sync::LazyLock;

use serde_json::Value;

/// Keys of a document in a collection with the settings of the bench, which are the defaults.
const AKIN_BANDS: f64 = 32.0;

const END: &str = "<!-- /figures -->";

static RESULTS: LazyLock<Value> = LazyLock::new(|| {
    let json = include_str!("../../bench/report/debian_manuals/results.json");
    serde_json::from_str(json).unwrap()
});

/// The outcome over most documents.
fn outcome(task: &str, participant: &str, setting: &str) -> &'static Value {
    let outcomes = RESULTS["outcomes"].as_array().unwrap().iter();
    let of = |outcome: &&Value| {
        outcome["task"] == task
            && outcome["participant"] == participant
            && outcome["setting"] == setting
    };
    let outcome = outcomes.filter(of).max_by_key(|outcome| outcome["documents"].as_u64());
    outcome.unwrap_or_else(|| panic!("no {task} of {participant}, {setting}"))
}

fn figure(task: &str, participant: &str, setting: &str, name: &str) -> f64 {
    let outcome = outcome(task, participant, setting);
    outcome["figures"][name].as_f64().unwrap_or_else(|| panic!("{task} has no {name}"))
}

/// Three significant digits, as the tables have, with commas between thousands.
fn three(value: f64) -> String {
    let digits = value.abs().log10().floor() as i32;
    if digits < 2 {
        return format!("{value:.*}", (2 - digits) as usize);
    }
    let unit = 10_f64.powi(digits - 2);
    let whole = ((value / unit).round() * unit).to_string();
    let from_end = |at: usize| at > 0 && (whole.len() - at).is_multiple_of(3);
    let digit = |(at, c)| if from_end(at) { format!(",{c}") } else { format!("{c}") };
    whole.chars().enumerate().map(digit).collect()
}

/// Where, and on which day the task was measured.
fn machine(task: &str) -> String {
    let Value::Object(machine) = &RESULTS["machine"] else { panic!("no machine") };
    let day = day(task);
    format!("{} cores of an {}, {day}", machine["cores"], machine["processor"].as_str().unwrap())
}

fn day(task: &str) -> &'static str {
    let of = |outcome: &&Value| outcome["task"] == task;
    let outcome = RESULTS["outcomes"].as_array().unwrap().iter().find(of).unwrap();
    outcome["date"].as_str().unwrap().split(' ').next().unwrap()
}

fn peers() -> String {
    let index = |name| figure("index", "akin", "sketches compared", name);
    let exact = |name| figure("index", "akin", "checked exactly", name);
    let rensa = |name| figure("index", "rensa", "own: 8 bands", name);
    let checked = |name| figure("index", "rensa", "checked exactly", name);
    let gaoya = |name| figure("index", "gaoya", "own: estimated", name);
    let text = |of, setting| figure("text", of, setting, "text_mb_per_s");
    let whole = text("akin", "3 words, 128 slots");
    let peer = text("gaoya", "3 words, 128 slots");
    format!(
        "- akin's index takes {:.0} bytes a document, {:.2} of the memory of the smallest peer (gaoya),\n  \
         and finds {:.4} of the pairs that are not equal.\n\
         - rensa with its own settings inserts faster ({} a second; akin {}) and answers {}\n  \
         lookups a second, akin {} by sketches and {} checked exactly; but it finds {:.2} of\n  \
         the unequal pairs. It files {} keys of a document, akin {AKIN_BANDS}, which serve lookups at any\n  \
         threshold: a key takes rensa {:.0} ns and akin {:.0}. With {} keys and an exact check rensa\n  \
         finds {:.4}, inserts {} documents a second and answers {} lookups.\n\
         - Cutting text into shingles and sketching it is {:.0} times as fast as the fastest peer\n  \
         (gaoya). With AVX2 but without AVX-512 it is {} MB/s, without any vector instructions {}.\n",
        index("index_bytes"),
        index("index_bytes") / gaoya("index_bytes"),
        index("recall_unequal"),
        three(rensa("inserts_per_s")),
        three(exact("inserts_per_s")),
        three(rensa("lookups_per_s")),
        three(index("lookups_per_s")),
        three(exact("lookups_per_s")),
        rensa("recall_unequal"),
        rensa("bands"),
        1e9 / rensa("inserts_per_s") / rensa("bands"),
        1e9 / exact("inserts_per_s") / AKIN_BANDS,
        checked("bands"),
        checked("recall_unequal"),
        three(checked("inserts_per_s")),
        three(checked("lookups_per_s")),
        whole / peer,
        three(text("akin", "Avx2 only")),
        three(text("akin", "Portable only")),
    )
}

fn rates() -> String {
    let http = |name| figure("http", "akin", "durable: every answer synced", name);
    let server = |name| figure("server", "akin", "bulk, crash, restart", name);
    format!(
        "On {}, with {} manual pages of 6 kB\n\
         ([the table](../README.md#compared-with-its-peers)): {} synced additions a second one by one\n\
         over HTTP, {} a second in one NDJSON request, and {} lookups. After `kill -9` the server\n\
         was back in {:.2} seconds from a snapshot and the log behind it, and in {:.2} without a\n\
         snapshot.\n",
        machine("http"),
        three(RESULTS["corpus"]["documents"].as_f64().unwrap()),
        three(http("posts_per_s")),
        three(server("bulk_per_s")),
        three(http("gets_per_s")),
        server("restart_s"),
        server("restart_without_snapshot_s"),
    )
}

/// The passages that differ, as they should be. With `UPDATE` they are written.
pub fn differences() -> Vec<String> {
    let mut differences = Vec::new();
    for (name, page, made) in
        [("peers", "docs/benchmarks.md", peers()), ("rates", "docs/scaling.md", rates())]
    {
        let path = super::root().join(page);
        let text = fs::read_to_string(&path).unwrap();
        let (before, rest) = text.split_once(&format!("<!-- figures: {name} -->\n")).unwrap();
        let (shown, after) = rest.split_once(END).unwrap();
        if shown == made {
            continue;
        }
        if super::is_update() {
            let written = format!("{before}<!-- figures: {name} -->\n{made}{END}{after}");
            fs::write(&path, written).unwrap();
        }
        differences.push(format!("{page} should have:\n{made}"));
    }
    differences
}

/// The tables of README.md and docs/benchmarks.md have the figures of the report.
#[test]
fn the_pages_have_the_tables_of_the_report() {
    let report = include_str!("../../bench/report/debian_manuals/report.md");
    let mut compared = 0;
    for (page, name, task) in [
        ("README.md", "batch", "dedup"),
        ("README.md", "service", "http"),
        ("docs/benchmarks.md", "library", "index"),
    ] {
        let page = fs::read_to_string(super::root().join(page)).unwrap();
        let begin = format!("<!-- {name}: written by bench/run.sh -->");
        let (_, table) = page.split_once(&begin).unwrap();
        let (table, _) = table.split_once(&format!("<!-- /{name} -->")).unwrap();
        assert!(table.contains(day(task)), "{name} is not of {}", day(task));
        compared += table.lines().map(|row| cells_of_the_report(row, report)).sum::<usize>();
    }
    assert!(compared > 40, "{compared} cells compared");
}

/// The number of cells of a row with a large figure, each of which the report has.
fn cells_of_the_report(row: &str, report: &str) -> usize {
    let Some((title, cells)) = row.trim_matches(&['|', ' '][..]).split_once(" | ") else {
        return 0;
    };
    let Some((participant, setting)) = title.split_once(", ") else { return 0 };
    let begin = format!("| {participant} | {setting} |");
    let rows: Vec<&str> = report.lines().filter(|line| line.starts_with(&begin)).collect();
    let mut compared = 0;
    for cell in cells.split('|').map(str::trim).filter(|cell| cell.contains(',')) {
        let is_there = rows.iter().any(|row| row.contains(&format!("| {cell} |")));
        // The throughput from text is that of the participant's pipeline.
        let of_text = report.contains(&format!("| {cell} |"));
        assert!(is_there || of_text, "{title}: {cell} is not in the report");
        compared += 1;
    }
    compared
}
