//! Which parts of training texts `decontaminate` finds, and what it writes.

use std::fs::{self, File};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use serde_json::{Value, json};

use crate::compared_corpus::{ComparedCorpus, lines};
use crate::crawls::fine_web;
use crate::inputs::put;
use crate::{akin, akin_with_stdin};

/// A question of 21 words.
const QUESTION: &str = "A farmer sells 12 eggs a day at the market of Ulm, and keeps three for \
                        her breakfast: how many remain?";

/// Compares an evaluation set of the question and of a short text.
fn corpus() -> ComparedCorpus {
    let short = json!({"id": "short", "text": "Too few words"});
    let lines = format!("{}\n{short}\n", json!({"id": "q1", "text": QUESTION}));
    ComparedCorpus::new("decontaminate", "--against", lines)
}

fn train(corpus: &ComparedCorpus, documents: &[(&str, &str)]) -> String {
    let line =
        |(id, text): &(&str, &str)| format!("{}\n", json!({"id": id, "text": text, "n": 1.50}));
    corpus.put("train.jsonl", &documents.iter().map(line).collect::<String>())
}

#[track_caller]
fn refused(corpus: &ComparedCorpus, arguments: &[&str], why: &str) {
    corpus.refused(arguments, 1, why);
}

fn report(corpus: &ComparedCorpus) -> Vec<Value> {
    lines(&corpus.read("report.jsonl"))
}

fn ids(text: &str) -> Vec<String> {
    lines(text).iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect()
}

/// Unicode code points of a text.
fn chars(text: &str, span: &Value) -> String {
    let at = |end: &str| span[end].as_u64().unwrap() as usize;
    text.chars().skip(at("start")).take(at("end") - at("start")).collect()
}

#[test]
fn passages_are_found_verbatim_rewrapped_and_embedded() {
    let corpus = self::corpus();
    let rewrapped = QUESTION.replace(' ', "\n  ").to_uppercase();
    let embedded = format!("Übung 7 — “{QUESTION}” Nine eggs. 𝒜 nd so on.");
    let words: Vec<&str> = QUESTION.split(' ').collect();
    let (twelve, thirteen) = (words[3..15].join(" "), format!("xx {} yy", words[3..16].join(" ")));
    let documents = [
        ("verbatim", QUESTION),
        ("rewrapped", &rewrapped),
        ("clean", "An article about the market of Ulm."),
        ("embedded", &embedded),
        ("twelve", &twelve),
        ("thirteen", &thirteen),
    ];
    let file = train(&corpus, &documents);
    let ended = corpus.done(&[&file, "--report", &corpus.at("report.jsonl")]);
    let kept: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(ids(&ended.stdout), ["clean", "twelve"]);
    let whole = fs::read_to_string(&file).unwrap();
    assert!(kept.iter().all(|line| whole.lines().any(|known| known == *line)), "{kept:?}");

    let mut report = report(&corpus);
    let evaluation = report.pop().unwrap();
    let expected = json!({"evaluation_id": "q1", "file": corpus.corpus, "share": 1.0,
        "grams": 9, "grams_seen": 9});
    assert_eq!(evaluation, expected);
    let found: Vec<&str> = report.iter().map(|line| line["id"].as_str().unwrap()).collect();
    assert_eq!(found, ["verbatim", "rewrapped", "embedded", "thirteen"]);
    let question = QUESTION.trim_end_matches('?');
    for (line, cut) in report.iter().zip([
        question.to_owned(),
        rewrapped.trim_end_matches('?').to_owned(),
        question.to_owned(),
        words[3..16].join(" "),
    ]) {
        let (_, text) = documents.iter().find(|(id, _)| line["id"] == *id).unwrap();
        let spans = line["spans"].as_array().unwrap();
        assert_eq!(spans.len(), 1);
        assert_eq!(chars(text, &spans[0]), cut);
        assert_eq!(line["evaluation"], json!([{"id": "q1", "file": corpus.corpus}]));
        assert_eq!(line["longest"], spans[0]["words"]);
        let share = line["words_covered"].as_f64().unwrap() / line["words"].as_f64().unwrap();
        assert_eq!(line["share"], share);
    }
    assert_eq!((&report[0]["share"], &report[0]["longest"]), (&json!(1.0), &json!(21)));
    assert_eq!(report[3]["longest"], 13);
}

#[test]
fn contaminated_documents_are_dropped_cut_or_reported() {
    let corpus = self::corpus();
    let embedded = format!("Before it. {QUESTION} After \"it\".");
    let file = train(&corpus, &[("a", "Clean words."), ("b", &embedded), ("c", QUESTION)]);
    assert_eq!(ids(&corpus.done(&[&file]).stdout), ["a"]);
    let cut = corpus.done(&[&file, "--action", "cut"]).stdout;
    let expected = [
        json!({"id": "a", "text": "Clean words.", "n": 1.5}),
        json!({"id": "b", "text": "Before it. ? After \"it\".", "n": 1.5}),
        json!({"id": "c", "text": "?", "n": 1.5}),
    ];
    assert_eq!(lines(&cut), expected);
    let nothing_left = corpus.done(&[&file, "--action", "cut", "--drop-empty"]);
    assert_eq!(ids(&nothing_left.stdout), ["a", "b"]);
    let reported = corpus.done(&[&file, "--action", "report", "--report", "-"]);
    let found = lines(&reported.stdout);
    assert_eq!((&found[0]["id"], &found[1]["id"], found.len()), (&json!("b"), &json!("c"), 3));
    refused(&corpus, &[&file, "--action", "report", "-o", &corpus.at("x")], "writes no documents");
    refused(&corpus, &[&file, "--report", "-"], "mixed with other output");

    let out = corpus.at("out.jsonl.gz");
    let summary = corpus.done(&[&file, "--json", "-o", &out]);
    assert_eq!(summary.stderr, "");
    let expected = json!({
        "action": "drop", "documents": 3, "contaminated": 2, "written": 1, "words": 48,
        "words_covered": 42, "empty": 0, "short": 0, "failed": 0, "files_skipped": 0,
        "evaluation": {
            "documents": 2, "too_short": 1, "gram_words": 13, "grams": 9, "seen": 1,
            "most_seen": [{"evaluation_id": "q1", "file": corpus.corpus, "share": 1.0,
                "grams": 9, "grams_seen": 9}],
        },
    });
    assert_eq!(lines(&summary.stdout), [expected]);
    assert_eq!(fs::read(&out).unwrap()[..2], [0x1f, 0x8b]);
}

#[test]
fn criteria_decide_which_documents_are_contaminated() {
    let corpus = self::corpus();
    let long = format!("{QUESTION} {}", "word ".repeat(63));
    let file = train(&corpus, &[("whole", QUESTION), ("quarter", &long)]);
    let kept = |options: &[&str]| ids(&corpus.done(&[&[file.as_str()], options].concat()).stdout);
    assert_eq!(kept(&["--threshold", "0.25"]), Vec::<String>::new());
    assert_eq!(kept(&["--threshold", "0.26"]), ["quarter"]);
    assert_eq!(kept(&["--threshold", "0.26", "--longest", "21"]), Vec::<String>::new());
    assert_eq!(kept(&["--longest", "22"]), ["whole", "quarter"]);
    refused(&corpus, &[&file, "--words", "22"], "evaluation documents has 22 words");
}

#[test]
fn frequent_runs_are_ignored_on_request() {
    let corpus = self::corpus();
    let own = |n: usize| format!("{QUESTION} and text {n}");
    let texts: Vec<String> = (0..4).map(own).collect();
    let names = ["0", "1", "2", "3"];
    let documents: Vec<_> = names.into_iter().zip(texts.iter().map(String::as_str)).collect();
    let file = train(&corpus, &documents);
    assert_eq!(corpus.done(&[&file, "--frequent", "4"]).stdout, "");
    let ignored = corpus.done(&[&file, "--frequent", "3"]);
    assert_eq!(ids(&ignored.stdout), names);
    let line = "runs of words ignored, which more than 3 documents have: 9";
    assert!(ignored.stderr.contains(line), "{}", ignored.stderr);
    assert!(ignored.stderr.contains("seen in the training documents: 0"), "{}", ignored.stderr);
    let piped = fs::read(&file).unwrap();
    let arguments = ["decontaminate", "-", "--against", &corpus.corpus];
    assert_eq!(akin_with_stdin(&arguments, &piped).stdout, "");
    let ignored = [&arguments[..], &["--frequent", "3"]].concat();
    assert_eq!(ids(&akin_with_stdin(&ignored, &piped).stdout), names, "a pipe is read twice");
    refused(&corpus, &["-", "--against", "-"], "stdin has either");
    let listed = ["decontaminate", "--files-from", "-", "--against", &corpus.corpus];
    let ended = akin_with_stdin(&listed, format!("{file}\n").as_bytes());
    assert!(ended.stderr.starts_with("documents: 4; contaminated: 4"), "{}", ended.stderr);
}

#[test]
fn phrases_of_a_file_are_no_contamination() {
    let corpus = self::corpus();
    let phrase = "A FARMER sells 12 eggs a day at the market of Ulm and keeps";
    let (start, rest) = (format!("{phrase} silent."), format!("Note: {QUESTION}"));
    let documents = [("phrase", &*start), ("whole", &rest), ("short", "too few words")];
    let file = train(&corpus, &documents);
    let ids_kept = |ignore: &str| {
        let ignore = corpus.put("ignore.txt", ignore);
        ids(&corpus.done(&[&file, "--ignore", &ignore]).stdout)
    };
    assert_eq!(ids(&corpus.done(&[&file]).stdout), Vec::<String>::new());
    // Seven words of the question are left.
    assert_eq!(ids_kept(&format!("\n{phrase}\n\n")), ["phrase", "whole"]);
    assert_eq!(ids_kept("eggs a day\nToo few words.\n"), ["phrase", "short"]);
    assert_eq!(ids_kept("few\n"), Vec::<String>::new());
    ignored_phrases_count_nowhere(&corpus);
    let empty = corpus.put("empty.txt", "\n ?\n");
    refused(&corpus, &[&file, "--ignore", &empty], "has no phrase");
    refused(&corpus, &[&file, "--ignore", &empty, "-o", &empty, "--force"], "is an input, too");
}

/// Neither does the report name evaluation documents that share a phrase only, nor is a phrase
/// frequent.
fn ignored_phrases_count_nowhere(corpus: &ComparedCorpus) {
    let licence = "You may copy and share this text under the terms of the licence below it";
    let line = |id: &str, text: &str| format!("{}\n", json!({"id": id, "text": text}));
    let other = line("other", &format!("{licence} today"));
    let evals = corpus.put("evals.jsonl", &(line("q1", QUESTION) + &other));
    let text = format!("{licence}. {QUESTION}");
    let file = corpus.put("licensed.jsonl", &(line("a", &text) + &line("b", licence)));
    let ignore = corpus.put("ignore.txt", licence);
    for frequent in [&[][..], &["--frequent", "1"]] {
        let options = ["decontaminate", &file, "--against", &evals, "--ignore", &ignore];
        let report = ["--action", "report", "--report", "-"];
        let ended = akin(&[&options[..], &report, frequent].concat());
        let found = lines(&ended.stdout);
        let named: Vec<_> = found[0]["evaluation"].as_array().unwrap().iter().collect();
        assert_eq!((named.len(), &named[0]["id"]), (1, &json!("q1")), "{}", ended.stdout);
        assert_eq!((found.len(), &found[1]["evaluation_id"]), (2, &json!("q1")), "{found:?}");
        let none = "documents have: 0";
        assert!(frequent.is_empty() || ended.stderr.contains(none), "{}", ended.stderr);
    }
}

/// Parts of messages cannot be cut, so a contaminated chat ends the command.
#[test]
fn a_contaminated_chat_is_not_written_uncut() {
    let corpus = self::corpus();
    let chat = |text: &str| {
        format!("{}\n", json!({"id": "a", "text": [{"role": "user", "content": text}]}))
    };
    let file = corpus.put("chat.jsonl", &(chat("Clean words.") + &chat(QUESTION)));
    let out = corpus.at("out.jsonl");
    for on_invalid in ["keep", "skip", "fail"] {
        let cut = [file.as_str(), "--action", "cut", "--on-invalid", on_invalid, "-o", &out];
        refused(&corpus, &cut, "chat.jsonl:2: nothing can be cut out of the text");
    }
    assert!(!fs::exists(&out).unwrap());
    assert_eq!(corpus.done(&[&file]).stdout, chat("Clean words."));
    let clean = corpus.put("clean.jsonl", &chat("Clean words."));
    assert_eq!(corpus.done(&[&clean, "--action", "cut"]).stdout, chat("Clean words."));
    let spans = akin(&["dedup", &clean, "--spans", "10", "--on-invalid", "keep"]);
    assert_eq!((spans.code, spans.stdout.as_str()), (Some(1), ""));
    let why = "clean.jsonl:1: nothing can be cut out of the text";
    assert!(spans.stderr.contains(why), "{}", spans.stderr);
}

#[test]
fn invalid_records_leave_no_decontaminated_file() {
    let corpus = self::corpus();
    let good = json!({"id": "a", "text": "Clean words."}).to_string();
    let tokens = json!({"id": "t", "tokens": ["a"]}).to_string();
    let all = format!("{good}\n{{broken\n{tokens}\n{good}\n");
    let file = put(corpus.dir.path(), "train.jsonl", &all);
    let out = corpus.at("out.jsonl");
    let failed = corpus.run(&[&file, "-o", &out, "--report", &corpus.at("report.jsonl")]);
    assert_eq!(failed.code, Some(1));
    assert!(failed.stderr.contains("as documents: 2"), "{}", failed.stderr);
    assert!(failed.stderr.contains("only texts are compared"), "{}", failed.stderr);
    assert!(!fs::exists(&out).unwrap() && !fs::exists(corpus.at("report.jsonl")).unwrap());
    assert_eq!(corpus.done(&[&file, "--on-invalid", "keep"]).stdout, all);
    let skipped = corpus.done(&[&file, "--on-invalid", "skip"]).stdout;
    assert_eq!(skipped, format!("{good}\n{good}\n"));
    let evaluation = put(corpus.dir.path(), "bad.jsonl", "{broken\n");
    let ended = akin(&["decontaminate", &file, "--against", &evaluation]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    let too_short = put(corpus.dir.path(), "few.jsonl", &good);
    let ended = akin(&["decontaminate", &file, "--against", &too_short]);
    assert!(ended.stderr.contains("evaluation documents has 13 words"), "{}", ended.stderr);
}

#[test]
fn rows_of_parquet_are_dropped_or_cut() {
    let corpus = self::corpus();
    let crawl = fine_web(40);
    let file = put(corpus.dir.path(), "crawl", &crawl);
    let rows = |path: &str| {
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
        rows.map(|row| (row.get_string(0).unwrap().clone(), row.to_string())).collect::<Vec<_>>()
    };
    let before = rows(&file);
    // Rows 24 and 25 have 59 words in common. Of row 3 a part is in the evaluation set.
    let words: Vec<&str> = before[3].0.split(' ').collect();
    let part = words[20..40].join(" ");
    let evaluation = json!({"question": before[24].0, "n": 1}).to_string();
    let second = json!({"question": part}).to_string();
    let evaluation = put(corpus.dir.path(), "parts.jsonl", format!("{evaluation}\n{second}\n"));
    let run = |action: &str, out: &[&str]| {
        let options = ["--against-text-column", "question", "--action", action, "--against"];
        let arguments = [&["decontaminate", &file], &options[..], &[&evaluation], out].concat();
        let ended = akin(&arguments);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    };
    let (dropped, cut) = (corpus.at("dropped.parquet"), corpus.at("cut.parquet"));
    run("drop", &["-o", &dropped]);
    let kept = before.iter().enumerate().filter(|(row, _)| ![2, 3, 24, 25].contains(row));
    assert_eq!(rows(&dropped), kept.map(|(_, row)| row.clone()).collect::<Vec<_>>());
    run("cut", &["-o", &cut]);
    let after = rows(&cut);
    assert_eq!(after.len(), 40);
    for (row, (was, is)) in before.iter().zip(&after).enumerate() {
        let left = match row {
            2 | 3 => was.0.replace(&format!("{part} "), ""),
            24 => String::new(),
            25 => was.0.split(' ').next().unwrap().to_owned() + " ",
            _ => was.0.clone(),
        };
        assert_eq!(is.0, left, "{row}");
        assert_eq!(is.1, was.1.replace(&was.0, &left), "{row}: the other columns");
    }
    run("cut", &["--output-dir", &corpus.at("shards")]);
    assert_eq!(rows(&corpus.at("shards/crawl")), after);
}

#[test]
fn texts_in_nested_members_and_tables_are_cut() {
    let corpus = self::corpus();
    let nested =
        json!({"meta": {"id": 7}, "doc": {"body": format!("Yes. {QUESTION} No."), "n": [1]}});
    let file = put(corpus.dir.path(), "nested.jsonl", nested.to_string());
    let columns = ["--text-column", "doc.body", "--id-column", "meta.id"];
    let of_evaluation = ["--against-text-column", "text", "--against-id-column", "id"];
    let arguments = [&[file.as_str(), "--action", "cut"], &columns[..], &of_evaluation].concat();
    let cut = json!({"meta": {"id": 7}, "doc": {"body": "Yes. ? No.", "n": [1]}});
    assert_eq!(lines(&corpus.done(&arguments).stdout), [cut]);
    let table = format!("id,text,lang\nx,\"Yes. {QUESTION} No.\",en\n");
    let table = put(corpus.dir.path(), "table.csv", table);
    let written = corpus.done(&[&table, "--action", "cut"]).stdout;
    let cut = json!({"id": "x", "text": "Yes. ? No.", "metadata": {"lang": "en"}});
    assert_eq!(lines(&written), [cut]);
}

/// Two questions share a stem of 14 letters, which are eight or nine words of a reader.
#[test]
fn questions_in_chinese_that_share_a_stem_are_not_taken_for_each_other() {
    let stem = "下列关于我国古代历史的说法中";
    let asked = format!("{stem}，最能反映唐朝初年经济迅速恢复的一项是哪一个？");
    let other = format!("{stem}，不符合明代海上贸易政策实际情况的有几条呢？");
    let evaluation = format!("{}\n", json!({"id": "q1", "text": asked}));
    let corpus = ComparedCorpus::new("decontaminate", "--against", evaluation);
    let asked = format!("题库：{asked}");
    let file = train(&corpus, &[("asked", &asked), ("other", &other)]);
    assert_eq!(ids(&corpus.done(&[&file]).stdout), ["other"]);
}

#[test]
fn short_evaluation_texts_are_compared_as_a_whole() {
    let corpus = self::corpus();
    let longer = "There were too few words in it";
    let file = train(&corpus, &[("equal", "TOO few, words!"), ("longer", longer)]);
    assert_eq!(ids(&corpus.done(&[&file]).stdout), ["longer"]);
}
