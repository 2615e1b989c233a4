//! What needs no server: near-duplicates in files, and what known pairs say of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{Ended, akin};

/// A corpus in a directory of its own.
struct Corpus {
    dir: TempDir,
    lines: Vec<String>,
}

impl Corpus {
    /// Families of near-duplicates among documents that are like no other, some of them with equal
    /// texts; whatever is no document on the last lines.
    fn new() -> Self {
        let words = |family: usize, changed: usize| -> String {
            let word =
                |at: usize| if at == changed { "x".into() } else { format!("f{family}w{at}") };
            (0..40).map(word).collect::<Vec<_>>().join(" ")
        };
        let document = |number: usize| {
            // The numbers jump about, so that no order of the ids is that of the lines.
            let id = format!("d{:03}", number * 67 % 300);
            let (family, changed) =
                if number.is_multiple_of(3) { (number % 10, number % 7) } else { (number, 0) };
            json!({"id": id, "url": number, "text": words(family, changed)}).to_string()
        };
        let lines = (0..300).map(document).chain([r#"{"id":"empty","text":" ."}"#.to_owned()]);
        let corpus = Self { dir: tempfile::tempdir().unwrap(), lines: lines.collect() };
        corpus.write("docs.jsonl", &(corpus.lines.join("\n") + "\n"));
        corpus
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.dir.path().join(name), text).unwrap();
        self.path(name)
    }

    /// Runs a command that must go well.
    #[track_caller]
    fn run(arguments: &[&str]) -> Ended {
        let ended = akin(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
        ended
    }

    /// The lines that `dedup` writes.
    #[track_caller]
    fn dedup(&self, options: &[&str]) -> Vec<String> {
        let (docs, out) = (self.path("docs.jsonl"), self.path("out.jsonl"));
        Self::run(&[&["dedup", &docs, "--output", &out, "--force"], options].concat());
        fs::read_to_string(PathBuf::from(out)).unwrap().lines().map(str::to_owned).collect()
    }

    fn pairs(&self, options: &[&str]) -> BTreeSet<(String, String)> {
        let exact: &[&str] = if options.contains(&"--mode") { &[] } else { &["--mode", "exact"] };
        let ended = Self::run(&[&["pairs", &self.path("docs.jsonl")], options, exact].concat());
        let pair = |line: &str| {
            let mut columns = line.split('\t').map(str::to_owned);
            (columns.next().unwrap(), columns.next().unwrap())
        };
        // The last line may tell which recall the mode has.
        let lines = ended.stdout.lines().filter(|line| !line.starts_with('#'));
        let pairs: Vec<_> = lines.map(pair).collect();
        let once: BTreeSet<_> = pairs.iter().cloned().collect();
        assert_eq!(once.len(), pairs.len(), "a pair comes twice");
        once
    }
}

fn field(line: &str, name: &str) -> String {
    let value: Value = serde_json::from_str(line).unwrap();
    value[name].as_str().unwrap().to_owned()
}

#[test]
fn removed_documents_are_near_duplicates_of_kept_documents() {
    let corpus = Corpus::new();
    let threshold = ["--threshold", "0.8"];
    let pairs = corpus.pairs(&threshold);
    assert!(pairs.len() > 300, "{}", pairs.len());
    let kept = corpus.dedup(&[&threshold[..], &["--mode", "exact"]].concat());
    let ids: BTreeSet<_> = kept.iter().map(|line| field(line, "id")).collect();
    assert!(pairs.iter().all(|(a, b)| !(ids.contains(a) && ids.contains(b))));
    // Every line as it was, in the order of the input; also what has nothing to compare.
    let expected: Vec<_> =
        corpus.lines.iter().filter(|line| ids.contains(&field(line, "id"))).cloned().collect();
    assert_eq!(kept, expected);
    assert!(ids.contains("empty") && ids.len() > 200 && ids.len() < 250, "{}", ids.len());

    let annotated = corpus.dedup(&[&threshold[..], &["--mode", "exact", "--annotate"]].concat());
    assert_eq!(annotated.len(), 301);
    for (line, before) in annotated.iter().zip(&corpus.lines) {
        assert!(line.starts_with(before.strip_suffix('}').unwrap()), "{line}");
        let (id, representative) = (field(line, "id"), field(line, "representative"));
        assert_eq!(ids.contains(&id), id == representative);
        let pair = (id.clone().min(representative.clone()), id.clone().max(representative.clone()));
        assert!(id == representative || pairs.contains(&pair), "{pair:?}");
        let of_representative =
            annotated.iter().find(|line| field(line, "id") == representative).unwrap();
        assert_eq!(field(line, "cluster"), field(of_representative, "cluster"));
    }
}

#[test]
fn results_do_not_depend_on_threads_or_order() {
    let mut corpus = Corpus::new();
    for linkage in ["single", "representative"] {
        let options =
            |threads| ["--annotate", "--keep", "id", "--linkage", linkage, "--threads", threads];
        let one = corpus.dedup(&options("1"));
        assert_eq!(corpus.dedup(&options("5")), one);
        corpus.lines.reverse();
        corpus.write("docs.jsonl", &corpus.lines.join("\n"));
        let mut turned = corpus.dedup(&options("3"));
        turned.reverse();
        assert_eq!(turned, one);
        corpus.lines.reverse();
        corpus.write("docs.jsonl", &corpus.lines.join("\n"));
    }
}

#[test]
fn each_mode_finds_its_pairs() {
    let corpus = Corpus::new();
    let exact = corpus.pairs(&["--threshold", "0.7"]);
    let verified = corpus.pairs(&["--threshold", "0.7", "--mode", "verified"]);
    assert!(verified.is_subset(&exact) && verified.len() * 100 >= exact.len() * 95);
    let distinct = corpus.pairs(&["--threshold", "0.7", "--distinct"]);
    assert!(distinct.is_subset(&exact) && distinct.len() < exact.len());
}

#[test]
fn numbers_in_ids_of_pairs_are_compared_as_numbers() {
    let corpus = Corpus::new();
    let text = (0..40).map(|word| format!("w{word} ")).collect::<Vec<_>>().concat();
    let line = |id: &str, text: &str| json!({"id": id, "text": text}).to_string();
    let lines = [line("p10", &text), line("p9", &text), line("p100", &(text.clone() + "end"))];
    let docs = corpus.write("pages.jsonl", &lines.join("\n"));
    for (options, expected) in
        [(&[][..], &["p10 p100", "p9 p10", "p9 p100"][..]), (&["--distinct"], &["p9 p100"])]
    {
        let listed = Corpus::run(&[&["pairs", &docs], options].concat()).stdout;
        let ids = |line: &str| line.rsplit_once('\t').unwrap().0.replace('\t', " ");
        let mut pairs: Vec<String> = listed.lines().map(ids).collect();
        pairs.sort();
        assert_eq!(pairs, expected, "{options:?}");
    }
}

#[test]
fn invalid_documents_may_be_left_out() {
    let corpus = Corpus::new();
    let docs = corpus.write("bad.jsonl", "{\"text\":\"no id\"}\n{\"id\":7}\nnonsense\n");
    let out = corpus.path("out.jsonl");
    let ended = akin(&["dedup", &docs, "-o", &out, "--annotate", "--on-invalid", "skip"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for place in ["bad.jsonl:2: ", "bad.jsonl:3: "] {
        assert!(ended.stderr.contains(place), "{}", ended.stderr);
    }
    let written = fs::read_to_string(out).unwrap();
    assert_eq!(field(&written, "representative"), format!("{docs}:1"));
}

const DOCS: &str = r#"{"id":"A1","tokens":["a","b","c","d"]}
{"id":"A2","tokens":["a","b","c","d"]}
{"id":"B1","tokens":["a","b","c"]}
{"id":"B2","tokens":["a","b","c","d"]}
{"id":"B3","tokens":["x"]}
"#;

#[test]
fn an_evaluation_counts_right_missing_and_extra_pairs() {
    let corpus = Corpus::new();
    let docs = corpus.write("five.jsonl", DOCS);
    let gold = corpus.write("gold.tsv", "#a\tb\nA1\tB1\nB1\tA1\tagain\nA1\tA2\nA1\tB3\n");
    let evaluate = |options: &[&str]| -> Value {
        let ended = Corpus::run(&[&["evaluate", &docs, &gold, "--json"], options].concat());
        serde_json::from_str(&ended.stdout).unwrap()
    };
    let counts = |row: &Value| -> Vec<u64> {
        let count = |name: &str| row[name].as_u64().unwrap();
        ["pairs", "right", "missing", "extra"].map(count).to_vec()
    };
    let all = evaluate(&["--step", "0.25", "--from", "0.5"]);
    assert_eq!((&all["gold"], &all["distinct_sets"]), (&json!(3), &json!(3)));
    // Three documents have one set; each of them is near B1, at 3 of 4.
    assert_eq!(counts(&all["thresholds"][0]), [6, 2, 1, 4]);
    assert_eq!(counts(&all["thresholds"][1]), [6, 2, 1, 4]);
    assert_eq!(counts(&all["thresholds"][2]), [3, 1, 2, 2]);
    assert_eq!(all["best"]["threshold"], 0.75);
    let across = evaluate(&["--across", "A,B", "--at", "0.75"]);
    assert_eq!(across["gold"], 2);
    assert_eq!(counts(&across["thresholds"][0]), [4, 1, 1, 3]);
    let distinct = evaluate(&["--distinct", "--at", "0.75"]);
    assert_eq!(distinct["gold"], 2);
    assert_eq!(counts(&distinct["thresholds"][0]), [1, 1, 1, 0]);
    let shown = Corpus::run(&["evaluate", &docs, &gold, "--at", "0.75"]).stdout;
    assert!(shown.contains("5 documents, 3 distinct sets, 3 known pairs"), "{shown}");
    assert!(
        shown.contains("   0.7500          6         2         1          4    0.3333"),
        "{shown}"
    );
}

#[test]
fn impossible_known_pairs_are_refused() {
    let corpus = Corpus::new();
    let docs = corpus.write("five.jsonl", DOCS);
    for (gold, options, why) in [
        ("A1\tC1\n", &[][..], "gold.tsv:1: there is no document 'C1'"),
        ("A1\tB1\nA1 B2\n", &[], "gold.tsv:2: the line has no two ids"),
        ("A1\tA1\n", &[], "'A1' with itself is no pair"),
        ("A1\tB1\n", &["--across", "A,C"], "the id 'B2' begins with none of A, C"),
        ("A1\tB1\n", &["--unit", "token", "--size", "0"], "size must be from 1 to 64"),
    ] {
        let gold = corpus.write("gold.tsv", gold);
        let ended = akin(&[&["evaluate", &docs, &gold], options].concat());
        assert_eq!(ended.code, Some(1), "{why}");
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
    }
    let ended = akin(&["evaluate", "docs", "gold", "--unit", "letter"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("letter"), "{}", ended.stderr);
}

#[test]
fn an_existing_file_is_only_overwritten_with_force() {
    let corpus = Corpus::new();
    let docs = corpus.path("docs.jsonl");
    let (one, gold) = (corpus.write("one.jsonl", DOCS), corpus.write("gold.tsv", "A1\tB1\n"));
    // The output forgotten: all are inputs, and what is written goes to stdout.
    let ended = Corpus::run(&["dedup", &docs, &one]);
    assert!(ended.stdout.lines().count() > 200);
    assert_eq!(fs::read_to_string(&one).unwrap(), DOCS);
    for arguments in [&["dedup", &docs][..], &["pairs", &docs], &["evaluate", &one, &gold]] {
        let kept = corpus.write("kept", "precious");
        let refused = akin(&[arguments, &["-o", &kept]].concat());
        assert_eq!(refused.code, Some(1), "{arguments:?}");
        assert!(refused.stderr.contains("kept exists already"), "{}", refused.stderr);
        assert_eq!(fs::read_to_string(&kept).unwrap(), "precious");
        Corpus::run(&[arguments, &["-o", &kept, "--force"]].concat());
        assert_ne!(fs::read_to_string(&kept).unwrap(), "precious");
    }
}

#[test]
fn bad_paths_change_no_file() {
    let corpus = Corpus::new();
    let (docs, missing) = (corpus.path("docs.jsonl"), corpus.path("missing.jsonl"));
    let before = fs::read(&docs).unwrap();
    let files = || fs::read_dir(corpus.dir.path()).unwrap().count();
    let count = files();
    let out = corpus.path("out");
    for arguments in [
        &["dedup", &missing, "-o", &docs, "--force"][..],
        &["dedup", &docs, &missing, "-o", &out],
        &["dedup", &missing, &docs],
        &["pairs", &missing, "-o", &out],
        &["evaluate", &missing, &docs, "-o", &out],
    ] {
        let ended = akin(arguments);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(ended.stderr.contains("missing.jsonl: No such file"), "{}", ended.stderr);
    }
    for command in ["dedup", "pairs"] {
        let ended = akin(&[command, &docs, "-o", &docs, "--force"]);
        assert!(ended.stderr.contains("is an input, too"), "{}", ended.stderr);
        let inside = corpus.path("inside.jsonl");
        let ended = akin(&[command, corpus.dir.path().to_str().unwrap(), "-o", &inside]);
        assert!(ended.stderr.contains("is an input, too"), "{}", ended.stderr);
    }
    assert_eq!(fs::read(&docs).unwrap(), before);
    assert_eq!(files(), count);
}

#[test]
fn a_repeated_id_is_refused_naming_both_places() {
    let corpus = Corpus::new();
    let first = corpus.write("first.jsonl", DOCS);
    let second = corpus.write(
        "second.jsonl",
        "\n{\"id\":\"A2\",\"text\":\".\"}\n{\"id\":\"new\",\"tokens\":[\"x\"]}\n",
    );
    let gold = corpus.write("gold.tsv", "A1\tB1\n");
    for arguments in [
        &["dedup", &first, &second][..],
        &["pairs", &first, &second],
        &["pairs", &first, &first],
        &["evaluate", corpus.dir.path().to_str().unwrap(), &gold, "--format", "jsonl"],
    ] {
        let ended = akin(arguments);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(ended.stderr.contains("occurs twice: "), "{}", ended.stderr);
    }
    let ended = akin(&["pairs", &first, &second]);
    let places = format!("the id 'A2' occurs twice: {first}:2 and {second}:2");
    assert!(ended.stderr.contains(&places), "{}", ended.stderr);
    let keep = ["--duplicate-ids", "keep-first", "--threshold", "0.75"];
    let ended = Corpus::run(&[&["dedup", &first, &second][..], &keep].concat());
    let ids: Vec<_> = ended.stdout.lines().map(|line| field(line, "id")).collect();
    assert_eq!(ids, ["A1", "B3"]);
    assert!(ended.stderr.contains("with the id of an earlier document: 1"), "{}", ended.stderr);
    let ended = Corpus::run(&[&["pairs", &first, &second][..], &keep].concat());
    assert_eq!(ended.stdout.lines().count(), 7, "{}", ended.stdout);
}

const PEOPLE: &str = r#"{"id":"a","fields":{"name":"Ann Lee Carter","phone":"555 1234","city":"Rome"}}
{"id":"b","fields":{"name":"Ann Lee Carter","phone":"555 1234","city":"Rome"}}
{"id":"c","fields":{"name":"Ann Lee Barter","phone":"555 1234","city":"Rome"}}
{"id":"d","fields":{"name":"Somebody Else","phone":"777 0000","city":"Oslo"}}
{"id":"e","fields":{"name":"Somebody Else"}}
{"id":"f","fields":{"name":"Somebody Else"}}
{"id":"g","fields":{"age":"7"}}
"#;

#[test]
fn records_are_compared_by_the_settings_of_records() {
    let corpus = Corpus::new();
    let docs = corpus.write("people.jsonl", PEOPLE);
    let settings = corpus.write(
        "records.json",
        r#"{"shingles": {"unit": "field"},
            "scheme": {"kind": "fields", "fields": ["name", "phone", "city"], "points": 240}}"#,
    );
    let of_records = ["--settings", &settings, "--on-invalid", "skip"];
    for mode in ["exact", "verified"] {
        let ended = akin(&[&["pairs", &docs, "--mode", mode][..], &of_records].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(ended.stderr.contains("people.jsonl:7: "), "{}", ended.stderr);
        let pairs: Vec<Vec<&str>> =
            ended.stdout.lines().map(|line| line.split('\t').collect()).collect();
        assert_eq!(pairs[0], ["a", "b", "300"]);
        assert!(pairs.len() == 3 && pairs[1][..2] == ["a", "c"] && pairs[2][..2] == ["b", "c"]);
        let points: u32 = pairs[1][2].parse().unwrap();
        assert!((240..300).contains(&points), "{points}");
    }
    let low = [&["pairs", &docs, "--threshold", "0.3"][..], &of_records].concat();
    // `e` and `f` are equal, and have one field of three.
    assert!(akin(&low).stdout.contains("e\tf\t100\n"));
    let gold = corpus.write("gold.tsv", "a\tb\nb\tc\nd\te\n");
    let evaluate = ["evaluate", &docs, &gold, "--json", "--at", "0.8"];
    let ended = akin(&[&evaluate[..], &of_records].concat());
    let evaluation: Value = serde_json::from_str(&ended.stdout).unwrap();
    let row = &evaluation["thresholds"][0];
    assert_eq!([&row["pairs"], &row["right"], &row["missing"]], [3, 2, 1]);
    let kept = akin(&[&["dedup", &docs][..], &of_records].concat()).stdout;
    let ids: Vec<_> = kept.lines().map(|line| field(line, "id")).collect();
    // Equal records are copies of each other, however few points they have.
    assert_eq!(ids, ["a", "d", "e"]);
}

#[test]
fn compressed_inputs_are_read_to_their_end() {
    let corpus = Corpus::new();
    let half = |bytes: &[u8]| zstd::encode_all(bytes, 1).unwrap();
    let (first, second) = DOCS.split_at(DOCS.find("{\"id\":\"B2").unwrap());
    let both = [half(first.as_bytes()), half(second.as_bytes())].concat();
    let docs = corpus.path("two.jsonl.zst");
    fs::write(&docs, &both).unwrap();
    assert_eq!(Corpus::run(&["dedup", &docs]).stdout.lines().count(), 3);
    fs::write(&docs, [&both[..], b"garbage"].concat()).unwrap();
    let ended = akin(&["dedup", &docs]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("failed: ") && ended.stderr.contains("two.jsonl.zst"));
}
