//! The passages of docs/ with figures of the comparison with peers, between `<!-- figures: NAME -->`
//! and `<!-- /figures -->`: written from the results in bench/report with `UPDATE=1`, else compared.
//! `bench/run.sh`, which makes the results, writes the tables of README.md from the same.

use std::fs;
use std::sync::LazyLock;

use serde_json::Value;

const END: &str = "<!-- /figures -->";

static RESULTS: LazyLock<Value> = LazyLock::new(|| {
    let json = include_str!("../../bench/report/debian_manuals/results.json");
    serde_json::from_str(json).unwrap()
});

/// A figure of the outcome over most documents.
fn figure(task: &str, participant: &str, setting: &str, name: &str) -> f64 {
    let outcomes = RESULTS["outcomes"].as_array().unwrap().iter();
    let of = |outcome: &&Value| {
        outcome["task"] == task
            && outcome["participant"] == participant
            && outcome["setting"] == setting
    };
    let outcome = outcomes.filter(of).max_by_key(|outcome| outcome["documents"].as_u64());
    let outcome = outcome.unwrap_or_else(|| panic!("no {task} of {participant}, {setting}"));
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

fn machine() -> String {
    let Value::Object(machine) = &RESULTS["machine"] else { panic!("no machine") };
    let day = machine["date"].as_str().unwrap().split(' ').next().unwrap();
    format!("{} cores of an {}, {day}", machine["cores"], machine["processor"].as_str().unwrap())
}

fn peers() -> String {
    let index = |name| figure("index", "akin", "sketches compared", name);
    let exact = |name| figure("index", "akin", "checked exactly", name);
    let rensa = |name| figure("index", "rensa", "own: 8 bands", name);
    let gaoya = |name| figure("index", "gaoya", "own: estimated", name);
    let text = |of, setting| figure("text", of, setting, "text_mb_per_s");
    let whole = text("akin", "3 words, 128 slots");
    let peer = text("gaoya", "3 words, 128 slots");
    format!(
        "- akin's index takes {:.0} bytes a document, {:.2} of what the smallest peer (gaoya) takes,\n  \
         and finds {:.4} of the pairs that are not equal.\n\
         - rensa with its own settings inserts faster ({} a second; akin {}) and answers {}\n  \
         lookups a second, akin {} by sketches and {} checked exactly; but it finds {:.2} of\n  \
         the unequal pairs.\n\
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
        machine(),
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

/// The tables of README.md are of the same run.
#[test]
fn the_readme_has_the_tables_of_the_report() {
    let readme = fs::read_to_string(super::root().join("README.md")).unwrap();
    let report = include_str!("../../bench/report/debian_manuals/report.md");
    let date = RESULTS["machine"]["date"].as_str().unwrap().split(' ').next().unwrap();
    let (_, table) = readme.split_once("<!-- peers: written by bench/run.sh -->").unwrap();
    let (table, _) = table.split_once("<!-- /peers -->").unwrap();
    assert!(table.contains(date), "the tables are not of {date}");
    let mut compared = 0;
    for row in table.lines().filter(|line| line.starts_with("| ") && line.contains(',')) {
        let (title, cells) = row.trim_matches(&['|', ' '][..]).split_once(" | ").unwrap();
        let Some((participant, setting)) = title.split_once(", ") else { continue };
        let begin = format!("| {participant} | {setting} |");
        let rows: Vec<&str> = report.lines().filter(|line| line.starts_with(&begin)).collect();
        for cell in cells.split('|').map(str::trim).filter(|cell| cell.contains(',')) {
            let is_there = rows.iter().any(|row| row.contains(&format!("| {cell} |")));
            // The throughput from text is that of the participant's pipeline.
            let of_text = report.contains(&format!("| {cell} |"));
            assert!(is_there || of_text, "{title}: {cell} is not in the report");
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared} cells compared");
}
