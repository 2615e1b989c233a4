//! What `dedup --spans` cuts and writes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::ops::Range;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::crawls::fine_web;
use crate::inputs::{gz, put};
use crate::numbers::Numbers;
use crate::{Ended, akin, akin_with_stdin, command};

/// Words from one number to another.
fn words(range: Range<usize>) -> String {
    range.map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ")
}

fn line(id: &str, text: &str) -> String {
    json!({"id": id, "text": text, "n": 1.50}).to_string() + "\n"
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

struct Corpus {
    dir: TempDir,
}

impl Corpus {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn at(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    fn put(&self, name: &str, data: impl AsRef<[u8]>) -> String {
        put(self.dir.path(), name, data)
    }
}

#[track_caller]
fn done(arguments: &[&str]) -> Ended {
    let ended = akin(&[&["dedup", "--spans"], arguments].concat());
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
    ended
}

#[track_caller]
fn refused(arguments: &[&str], code: i32, why: &str) {
    let ended = akin(&[&["dedup"], arguments].concat());
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), ""), "{arguments:?}");
    assert!(ended.stderr.contains(why), "{arguments:?}: {}", ended.stderr);
}

/// Words of a small vocabulary, parts of earlier texts, and repetitions.
fn made_up(random: &mut Numbers, texts: &[Vec<usize>]) -> Vec<usize> {
    let vocabulary = [1, 2, 3, 30, 100_000][random.below(5)];
    let mut text: Vec<usize> = Vec::new();
    for _ in 0..random.below(6) {
        let length = 1 + random.below(40);
        match random.below(4) {
            0 | 1 if !texts.is_empty() => {
                let of = &texts[random.below(texts.len())];
                let from = random.below(of.len().max(1));
                text.extend(of.iter().skip(from).take(length));
            }
            2 => {
                let period = 1 + random.below(7);
                let start: Vec<usize> = (0..period).map(|_| random.below(vocabulary)).collect();
                text.extend(start.iter().cycle().take(2 * length));
            }
            _ => text.extend((0..length).map(|_| random.below(vocabulary))),
        }
    }
    text
}

/// The number of the text with the first occurrence of a span that occurs earlier.
fn earlier(texts: &[Vec<usize>], number: usize, span: Range<usize>) -> Option<usize> {
    let wanted = &texts[number][span.clone()];
    let has = |text: &[usize]| text.windows(wanted.len()).any(|it| it == wanted);
    let before = texts[..number].iter().position(|text| has(text));
    before.or_else(|| has(&texts[number][..span.start]).then_some(number))
}

/// Every span compared with every earlier span: the cuts, and the texts with their first
/// occurrences.
fn brute_force(
    texts: &[Vec<usize>],
    number: usize,
    n: usize,
) -> Vec<(Range<usize>, BTreeSet<usize>)> {
    let mut cuts: Vec<(Range<usize>, BTreeSet<usize>)> = Vec::new();
    for at in 0..(texts[number].len() + 1).saturating_sub(n) {
        let Some(first) = earlier(texts, number, at..at + n) else { continue };
        match cuts.last_mut() {
            Some((last, firsts)) if at <= last.end => {
                last.end = at + n;
                firsts.insert(first);
            }
            _ => cuts.push((at..at + n, BTreeSet::from([first]))),
        }
    }
    cuts
}

/// A random corpus in several files.
struct Round {
    corpus: Corpus,
    texts: Vec<Vec<usize>>,
    /// The numbers of the texts in each file: old documents in the first.
    files: [Range<usize>; 3],
    span_words: usize,
}

impl Round {
    fn new(number: usize, random: &mut Numbers) -> Self {
        let mut texts: Vec<Vec<usize>> = Vec::new();
        for _ in 0..3 + random.below(8) {
            let text = made_up(random, &texts);
            texts.push(text);
        }
        let old = if number.is_multiple_of(4) { 2 } else { 0 };
        let middle = usize::midpoint(old, texts.len());
        let files = [0..old, old..middle, middle..texts.len()];
        Self { corpus: Corpus::new(), texts, files, span_words: [10, 11, 16][number % 3] }
    }

    /// Case, punctuation and line breaks do not matter.
    fn text(&self, number: usize) -> String {
        let word = |(at, word): (usize, &usize)| match (at + number) % 5 {
            0 => format!("W{word},\n"),
            _ => format!("w{word} "),
        };
        self.texts[number].iter().enumerate().map(word).collect()
    }

    fn file(&self, number: usize) -> String {
        self.corpus.at(&number.to_string())
    }

    fn run(&self) -> Ended {
        for (number, texts) in self.files.iter().enumerate() {
            let lines = texts.clone().map(|text| line(&text.to_string(), &self.text(text)));
            self.corpus.put(&number.to_string(), lines.collect::<String>());
        }
        let [old, a, b] = [0, 1, 2].map(|number| self.file(number));
        let (n, out) = (self.span_words.to_string(), self.corpus.at("out"));
        let report = self.corpus.at("report");
        let against = if self.files[0].is_empty() { &[][..] } else { &["--against", &old] };
        let files = [n.as_str(), &a, &b, "--report", &report, "--json", "-o", &out];
        done(&[&files, against].concat())
    }

    /// What is left of each text, and the lines of the report.
    fn expected(&self) -> (Vec<(String, Vec<String>)>, Vec<Value>) {
        let (mut kept, mut reported) = (Vec::new(), Vec::new());
        for number in self.files[0].end..self.texts.len() {
            let (id, text) = (number.to_string(), &self.texts[number]);
            let cuts = brute_force(&self.texts, number, self.span_words);
            let is_cut = |at: usize| cuts.iter().any(|(cut, _)| cut.contains(&at));
            let left: Vec<usize> = (0..text.len()).filter(|at| !is_cut(*at)).collect();
            let words_cut = text.len() - left.len();
            if cuts.is_empty() || !left.is_empty() {
                kept.push((id.clone(), left.iter().map(|at| format!("w{}", text[*at])).collect()));
            }
            if !cuts.is_empty() {
                let spans: Vec<Value> =
                    cuts.iter().map(|(cut, firsts)| self.span(text, cut, firsts)).collect();
                reported.push(json!({"id": id, "words": text.len(), "words_cut": words_cut,
                    "spans": spans}));
            }
        }
        (kept, reported)
    }

    fn span(&self, text: &[usize], cut: &Range<usize>, firsts: &BTreeSet<usize>) -> Value {
        let first_in = |number: &usize| {
            let file = self.files.iter().position(|texts| texts.contains(number)).unwrap();
            json!({"id": number.to_string(), "file": self.file(file)})
        };
        let words: Vec<String> = text[cut.clone()].iter().map(|it| format!("w{it}")).collect();
        let first_in: Vec<Value> = firsts.iter().map(first_in).collect();
        json!({"text": words, "words": cut.len(), "first_in": first_in})
    }

    /// The lines of the report, with words instead of places.
    fn reported(&self) -> Vec<Value> {
        let mut report = lines(&fs::read_to_string(self.corpus.at("report")).unwrap());
        for line in &mut report {
            let text = self.text(line["id"].as_str().unwrap().parse().unwrap());
            for span in line["spans"].as_array_mut().unwrap() {
                let mut place = |end: &str| {
                    span.as_object_mut().unwrap().remove(end).unwrap().as_u64().unwrap() as usize
                };
                let (start, end) = (place("start"), place("end"));
                span["text"] = json!(words_of(&text[start..end]));
            }
        }
        report
    }
}

fn words_of(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|it| !it.is_empty());
    words.map(str::to_lowercase).collect()
}

#[test]
fn cuts_are_those_of_a_comparison_of_all_spans() {
    let mut random = Numbers(11);
    let (mut words_cut, mut old_found, mut own_found) = (0, 0, 0);
    for number in 0..40 {
        let round = Round::new(number, &mut random);
        let ended = round.run();
        let (kept, reported) = round.expected();
        let written = lines(&fs::read_to_string(round.corpus.at("out")).unwrap());
        let found = written.iter().map(|line| {
            assert_eq!(line["n"], 1.5);
            (line["id"].as_str().unwrap().to_owned(), words_of(line["text"].as_str().unwrap()))
        });
        assert_eq!(found.collect::<Vec<_>>(), kept, "{} {:?}", round.span_words, round.texts);
        assert_eq!(round.reported(), reported, "{} {:?}", round.span_words, round.texts);
        let new = &round.texts[round.files[0].end..];
        let cut: u64 = reported.iter().map(|line| line["words_cut"].as_u64().unwrap()).sum();
        let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
        for (name, expected) in [
            ("documents", new.len()),
            ("words", new.iter().map(Vec::len).sum()),
            ("words_cut", cut as usize),
            ("written", kept.len()),
            ("emptied", new.len() - kept.len()),
            ("cut", reported.len()),
        ] {
            assert_eq!(summary[name], expected, "{name}: {summary}");
        }
        words_cut += cut;
        for line in &reported {
            let spans = line["spans"].as_array().unwrap().iter();
            for first in spans.flat_map(|span| span["first_in"].as_array().unwrap()) {
                old_found += u32::from(first["file"] == round.file(0));
                own_found += u32::from(first["id"] == line["id"]);
            }
        }
    }
    let found = (words_cut, old_found, own_found);
    assert!(words_cut > 3_000 && old_found > 20 && own_found > 20, "{found:?}");
}

/// A passage of 60 words in two documents, another document that only repeats, and a clean one.
fn documents() -> String {
    let passage = words(100..160);
    [
        line("first", &format!("Before.\n\n{passage} and after")),
        line("clean", "The zoo is open."),
        line("second", &format!("See: {}.\nThe end", passage.to_uppercase())),
        line("third", &format!("({})", words(105..155))),
        line("own", &format!("{0} then {0}", words(200..250))),
        line("empty", "..."),
    ]
    .concat()
}

#[test]
fn the_first_occurrence_stays_and_lines_without_cuts_are_unchanged() {
    let corpus = Corpus::new();
    let (file, report) = (corpus.put("docs", documents()), corpus.at("report"));
    let ended = done(&["50", &file, "--report", &report]);
    let after: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(after[..2], documents().lines().take(2).collect::<Vec<_>>());
    let texts: Vec<Value> = lines(&after[2..].join("\n"));
    assert_eq!(
        texts,
        [
            json!({"id": "second", "text": "See: .\nThe end", "n": 1.5}),
            json!({"id": "own", "text": format!("{} then ", words(200..250)), "n": 1.5}),
            json!({"id": "empty", "text": "...", "n": 1.5}),
        ]
    );
    assert_eq!(
        ended.stderr,
        "documents: 6; with cuts: 3; written: 5\n\
         words: 281; cut: 160, in 3 spans of at least 50 words\n\
         documents without a word left, left out: 1\n\
         documents with nothing to compare, kept: 1\n"
    );
    let first = |id: &str| json!([{"id": id, "file": file}]);
    let own = words(200..250).len();
    assert_eq!(
        lines(&fs::read_to_string(&report).unwrap()),
        [
            json!({"id": "second", "words": 63, "words_cut": 60, "spans": [
                {"start": 5, "end": 5 + words(100..160).len(), "words": 60,
                 "first_in": first("first")}]}),
            json!({"id": "third", "words": 50, "words_cut": 50, "spans": [
                {"start": 1, "end": 1 + words(105..155).len(), "words": 50,
                 "first_in": first("first")}]}),
            json!({"id": "own", "words": 101, "words_cut": 50, "spans": [
                {"start": own + 6, "end": 2 * own + 6, "words": 50, "first_in": first("own")}]}),
        ]
    );
    assert_eq!(done(&["61", &file]).stdout, documents());
}

#[test]
fn options_of_inputs_apply() {
    let corpus = Corpus::new();
    let file = corpus.put("docs.jsonl", documents());
    let ids = |arguments: &[&str]| -> Vec<String> {
        let ended = done(&[&["50"], arguments].concat());
        let id = |line: &Value| line["id"].as_str().unwrap().to_owned();
        lines(&ended.stdout).iter().map(id).collect()
    };
    assert_eq!(ids(&[&file, "--drop-empty"]), ["first", "clean", "second", "own"]);
    // What is left of the second document has three words; the clean document has four.
    let ended = done(&["50", &file, "--min-words", "4"]);
    assert_eq!(lines(&ended.stdout).len(), 4);
    assert!(ended.stderr.contains("texts with too few words, left out: 1"), "{}", ended.stderr);
    // A short document is no first occurrence, since it is not written.
    let short = [line("a", &words(0..50)), line("b", &words(0..60))].concat();
    let short = corpus.put("short", short);
    assert_eq!(ids(&[&short, "--min-words", "51"]), ["b"]);
    assert_eq!(ids(&[&short]), ["a", "b"]);
    // A letter of a script without spaces is less than a word.
    let letter = corpus.put("letter", [line("a", "我"), line("b", "hello")].concat());
    assert_eq!(ids(&[&letter, "--min-words", "1"]), ["b"]);
    // Old documents.
    let new = corpus.put("new", line("n", &format!("new {}", words(105..155))));
    assert_eq!(ids(&[&new, "--against", &file]), ["n"]);
    assert_eq!(lines(&done(&["50", &new, "--against", &file]).stdout)[0]["text"], json!("new "));
    // Pipes and lists.
    let piped = akin_with_stdin(&["dedup", "-", "--spans", "50"], documents().as_bytes());
    assert_eq!((piped.code, piped.stdout), (Some(0), done(&["50", &file]).stdout));
    let list = corpus.put("list", format!("{file}\n"));
    assert_eq!(ids(&["--files-from", &list]).len(), 5);
    // Settings of shingles: here the case matters.
    let settings = corpus.put("settings", r#"{"shingles": {"lowercase": false}}"#);
    assert_eq!(ids(&[&file, "--settings", &settings]).len(), 5);
    let out = |threads: &str| done(&["50", &file, "--threads", threads]).stdout;
    assert_eq!(out("1"), out("5"));
    let upper = done(&["50", &file, "--settings", &settings, "--quiet", "--threads", "1"]);
    assert_eq!(lines(&upper.stdout)[2], lines(&documents())[2]);
    let out = corpus.at("out.jsonl.gz");
    refused(&["--spans", "50", "-", "--against", "-"], 1, "stdin has either");
    let summary = done(&["50", &file, "--json", "-o", &out, "--memory-max-mib", "64"]);
    assert_eq!(summary.stderr, "");
    let expected = json!({
        "documents": 6, "words": 281, "written": 5, "cut": 3, "emptied": 1, "spans_cut": 3,
        "words_cut": 160, "span_words": 50, "empty": 1, "short": 0, "failed": 0, "files_skipped": 0,
    });
    assert_eq!(lines(&summary.stdout), [expected]);
    assert_eq!(fs::read(&out).unwrap()[..2], [0x1f, 0x8b]);
}

#[test]
fn records_that_are_no_texts_are_treated_as_wanted() {
    let corpus = Corpus::new();
    let good = line("a", &words(0..60));
    let tokens = json!({"id": "t", "tokens": ["a"]}).to_string();
    let all = format!("{good}{{broken\n{tokens}\n{}", line("b", &words(0..60)));
    let (file, out, report) = (corpus.put("docs", &all), corpus.at("out"), corpus.at("report"));
    let failed = akin(&["dedup", "--spans", "50", &file, "-o", &out, "--report", &report]);
    assert_eq!((failed.code, failed.stdout.as_str()), (Some(1), ""));
    assert!(failed.stderr.contains("as documents: 2"), "{}", failed.stderr);
    assert!(failed.stderr.contains("only texts are compared"), "{}", failed.stderr);
    assert!(!fs::exists(&out).unwrap() && !fs::exists(&report).unwrap());
    let kept = done(&["50", &file, "--on-invalid", "keep"]).stdout;
    assert_eq!(kept, format!("{good}{{broken\n{tokens}\n"));
    assert_eq!(done(&["50", &file, "--on-invalid", "skip"]).stdout, good);
    refused(&["--spans", "50", &corpus.put("none.jsonl", "{broken\n")], 1, "of 1");
    let old = corpus.put("old.jsonl", "{broken\n");
    let clean = corpus.put("clean", &good);
    refused(&["--spans", "50", &clean, "--against", &old], 1, "as documents: 1");
}

#[test]
fn each_format_is_written_as_dedup_writes_it() {
    let corpus = Corpus::new();
    let file = corpus.put("in/crawl", fine_web(40));
    let rows = |path: &str| {
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
        rows.map(|row| (row.get_string(0).unwrap().clone(), row.to_string())).collect::<Vec<_>>()
    };
    // Rows come in pairs that have 59 words in common, after a word of their own.
    let (before, out) = (rows(&file), corpus.at("out.parquet"));
    done(&["50", &file, "-o", &out]);
    let after = rows(&out);
    assert_eq!(after.len(), 40);
    for (row, (was, is)) in before.iter().zip(&after).enumerate() {
        let left = match row % 2 {
            0 => was.0.clone(),
            _ => was.0.split(' ').next().unwrap().to_owned() + " ",
        };
        assert_eq!(is.0, left, "{row}");
        assert_eq!(is.1, was.1.replace(&was.0, &left), "{row}: the other columns");
    }
    let table = format!("id,text,lang\nx,\"Yes. {0} No.\",en\ny,{0},de\n", words(0..55));
    corpus.put("in/sub/t.csv.gz", gz(table.as_bytes()));
    let nested =
        json!({"meta": {"id": 7}, "text": format!("Well. {} So.", words(0..55)), "n": [1]});
    corpus.put("in/sub/u.jsonl", nested.to_string());
    let (root, shards) = (corpus.at("in"), corpus.at("shards"));
    let arguments = ["50", &root, "--output-dir", &shards, "--report", &corpus.at("report")];
    done(&arguments);
    assert_eq!(rows(&format!("{shards}/crawl")), after);
    let table = fs::read(format!("{shards}/sub/t.csv.jsonl.gz")).unwrap();
    let mut unpacked = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&*table), &mut unpacked)
        .unwrap();
    let text = format!("Yes. {} No.", words(0..55));
    let kept = json!({"id": "x", "text": text, "metadata": {"lang": "en"}});
    assert_eq!(lines(&unpacked), [kept]);
    let written = lines(&fs::read_to_string(format!("{shards}/sub/u.jsonl")).unwrap());
    assert_eq!(written, [json!({"meta": {"id": 7}, "text": "Well. So.", "n": [1]})]);
    refused(&[&["--spans"], &arguments[..]].concat(), 1, "exists already");
}

#[test]
fn what_cannot_be_done_is_refused() {
    let corpus = Corpus::new();
    let file = corpus.put("docs", documents());
    let spans = ["--spans", "50", file.as_str()];
    for (further, why) in [
        (&["--keep", "longest"][..], "--keep"),
        (&["--annotate"], "--annotate"),
        (&["--threshold", "0.5"], "--threshold"),
        (&["--linkage", "single"], "--linkage"),
        (&["--mode", "exact"], "--mode"),
        (&["--unit", "word"], "--unit"),
        (&["--size", "3"], "--size"),
        (&["--duplicate-ids", "refuse"], "--duplicate-ids"),
    ] {
        refused(&[&spans, further].concat(), 2, why);
    }
    for n in ["9", "1001", "x"] {
        refused(&["--spans", n, &file], 2, "--spans");
    }
    refused(&[&spans[..], &["--report", "-"]].concat(), 1, "mixed with other output");
    refused(&[&spans[..], &["--json"]].concat(), 1, "name a file by --output");
    let (out, report) = (corpus.at("out"), corpus.put("report", "old"));
    let with_report = [&spans[..], &["-o", &out, "--report", &report]].concat();
    refused(&with_report, 1, "exists already");
    done(&[&with_report[1..], &["--force"]].concat());
    refused(&["--spans", "50", &corpus.at("nowhere")], 1, "nowhere");
    let rows = corpus.at("out.parquet");
    let lines_only = [&spans[..], &["-o", &rows]].concat();
    refused(&lines_only, 1, "is not Parquet");
}

#[test]
fn spans_beyond_the_memory_are_refused() {
    let corpus = Corpus::new();
    let each: String = (0..300).map(|n| line("a", &words(n * 1_000..n * 1_000 + 900))).collect();
    let (twice, out) = (corpus.put("twice", each.repeat(2)), corpus.at("out"));
    // The first pass takes less than a MiB, the second more.
    for (mib, code) in [("0", 1), ("1", 1), ("16", 0)] {
        let arguments = ["dedup", "--spans", "10", &twice, "-o", &out, "--memory-max-mib", mib];
        let ended = akin(&arguments);
        assert_eq!((ended.code, fs::exists(&out).unwrap()), (Some(code), code == 0), "{mib}");
        let refused = ended.stderr.contains("MiB of memory that are allowed");
        assert!(refused == (mib == "1"), "{}", ended.stderr);
    }
}

/// Plain lines are read again, so no temporary file is needed.
#[test]
fn a_missing_directory_for_temporary_files_does_not_matter() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.jsonl");
    fs::write(&file, "{\"id\": \"a\", \"text\": \"some words\"}\n").unwrap();
    let mut command = command(&["dedup", "--spans", "50", file.to_str().unwrap()]);
    let output = command.env("TMPDIR", dir.path().join("absent")).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !output.stdout.is_empty(), "{stderr}");
}
