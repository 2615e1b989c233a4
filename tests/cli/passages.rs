//! What `passages` finds in a corpus, and how it writes it.

use std::fs;
use std::ops::Range;

use serde_json::{Value, json};

use crate::compared_corpus::{ComparedCorpus, lines};
use crate::inputs::put;
use crate::numbers::Numbers;
use crate::{akin, akin_with_stdin};

/// Words from one number to another.
fn words(range: Range<usize>) -> String {
    range.map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ")
}

fn line(id: &str, text: &str) -> String {
    json!({"id": id, "text": text}).to_string() + "\n"
}

/// A corpus of a long document, a short document, and a document that has neither.
fn files() -> ComparedCorpus {
    let lines = [
        line("long", &format!("Ünder the sea. {}", words(0..200))),
        line("short", &words(100..140)),
        line("other", &words(900..990)),
        line("empty", "..."),
    ];
    ComparedCorpus::new("passages", "--in", lines.concat())
}

/// The ids of the matches of the only document.
#[track_caller]
fn found(files: &ComparedCorpus, arguments: &[&str]) -> Vec<String> {
    let line = &lines(&files.done(&[arguments, &["--json"]].concat()).stdout)[0];
    let matches = line["matches"].as_array().unwrap().iter();
    matches.map(|found| found["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn passages_are_listed_with_their_places() {
    let files = files();
    let essay = format!("«Ä» as it says: {}; and so on", words(95..145).to_uppercase());
    let probe = files.put("essay.txt", &essay);
    let before = "«Ä» as it says: ".chars().count();
    let all = words(95..145).len();
    let in_long = "Ünder the sea. ".chars().count() + words(0..95).len() + 1;
    let in_probe = before + words(95..100).len() + 1;
    let short = words(100..140).len();
    let expected = json!({
        "id": probe, "file": probe, "words": 57, "truncated": false,
        "matches": [
            {"id": "long", "file": files.corpus, "words": 203,
             "shared": {"of_probe": 50, "of_match": 50},
             "containment": {"of_probe": 50.0 / 57.0, "of_match": 50.0 / 203.0}, "longest": 50,
             "passages": [{"probe": {"start": before, "end": before + all},
                "match": {"start": in_long, "end": in_long + all}, "equal": 50, "differing": 0}]},
            {"id": "short", "file": files.corpus, "words": 40,
             "shared": {"of_probe": 40, "of_match": 40},
             "containment": {"of_probe": 40.0 / 57.0, "of_match": 1.0}, "longest": 40,
             "passages": [{"probe": {"start": in_probe, "end": in_probe + short},
                "match": {"start": 0, "end": short}, "equal": 40, "differing": 0}]},
        ],
    });
    let found = files.done(&[&probe, "--json"]);
    assert_eq!(lines(&found.stdout), [expected]);
    let text = files.done(&[&probe, "--quiet"]);
    let expected = format!(
        "{probe}  57 words\n\
         \x20 long  50 words shared: 87.7 % of the document, 24.6 % of 203 words; longest run 50\n\
         \x20   {before}..{} is {in_long}..{}  W95 W96 W97 W98 W99 W100 W101 W102 W103 W104 W105 W106 \
         W107 …\n\
         \x20 short  40 words shared: 70.2 % of the document, 100.0 % of 40 words; longest run 40\n\
         \x20   {in_probe}..{} is 0..{short}  W100 W101 W102 W103 W104 W105 W106 W107 W108 W109 W110 \
         W111 …\n",
        before + all,
        in_long + all,
        in_probe + short,
    );
    assert_eq!(text.stdout, expected);
    assert_eq!(
        text.stderr,
        "documents: 1; sharing a passage with the corpus: 1\n\
         every shared run of 32 words is found\n"
    );
}

#[test]
fn options_decide_what_is_listed() {
    let files = files();
    let probe = files.put("probe.jsonl", &line("p", &format!("{} x y z", words(95..145))));
    assert_eq!(found(&files, &[&probe]), ["long", "short"]);
    assert_eq!(found(&files, &[&probe, "--limit", "1"]), ["long"]);
    assert_eq!(found(&files, &[&probe, "--containment-min", "0.8"]), ["long"]);
    assert_eq!(found(&files, &[&probe, "--containment-min", "0.8", "--of", "match"]), ["short"]);
    assert_eq!(
        found(&files, &[&probe, "--words-min", "45"]),
        ["long", "short"],
        "short as a whole"
    );
    assert_eq!(found(&files, &[&probe, "--words-min", "51"]), ["short"]);
    let twenty = files
        .put("twenty.jsonl", &line("p", &format!("x {} y {}", words(20..40), words(2_000..2_030))));
    assert_eq!(found(&files, &[&twenty]), Vec::<String>::new());
    assert_eq!(found(&files, &[&twenty, "--words", "20"]), ["long"]);
    // Without matches a document has a line of JSON, and no text.
    assert_eq!(files.done(&[&twenty]).stdout, "");
    // A document is not compared with itself.
    let own = akin(&["passages", &files.corpus, "--in", &files.corpus, "--json"]);
    let pairs: Vec<Value> = lines(&own.stdout)
        .iter()
        .map(|line| json!([line["id"], line["matches"].as_array().unwrap().len()]))
        .collect();
    assert_eq!(json!(pairs), json!([["long", 1], ["short", 1], ["other", 0], ["empty", 0]]));
    assert!(own.stderr.contains("nothing to compare, left out: 1"), "{}", own.stderr);
    let renamed = json!({"n": 7, "body": words(95..145)}).to_string();
    let renamed = files.put("renamed.jsonl", &renamed);
    let columns = ["--id-column", "n", "--text-column", "body"];
    let of_corpus = ["--in-id-column", "id", "--in-text-column", "text"];
    assert_eq!(
        found(&files, &[&[&*renamed], &columns[..], &of_corpus].concat()),
        ["long", "short"]
    );
    let stdin = ["passages", "-", "--in", &files.corpus, "--limit", "1", "--threads", "1"];
    let piped = akin_with_stdin(&stdin, line("p", &words(95..145)).as_bytes());
    assert!(piped.stdout.starts_with("p  50 words\n  long"), "{} {}", piped.stdout, piped.stderr);
    let short = files.put("few.jsonl", &[line("a", "one two"), line("b", &words(0..50))].concat());
    let ended = files.done(&[&short, "--min-words", "3", "--json", "-o", &files.at("out.gz")]);
    assert!(ended.stderr.contains("too few words, left out: 1"), "{}", ended.stderr);
    assert_eq!(fs::read(files.at("out.gz")).unwrap()[..2], [0x1f, 0x8b]);
}

/// Every run of the guaranteed length of random texts, with any number of threads.
#[test]
fn no_shared_run_is_missing() {
    let mut random = Numbers(4);
    let text = |random: &mut Numbers| -> Vec<usize> {
        let length = 100 + random.below(200);
        (0..length).map(|_| random.below(1_000_000)).collect()
    };
    let mut corpus: Vec<Vec<usize>> = (0..300).map(|_| text(&mut random)).collect();
    let mut expected = Vec::new();
    let probes: Vec<Vec<usize>> = (0..60)
        .map(|_| {
            let mut probe = text(&mut random);
            let (of, n) = (random.below(300), 20 + random.below(30));
            let from = random.below(corpus[of].len() - n);
            let at = random.below(probe.len());
            probe.splice(at..at, corpus[of][from..from + n].iter().copied());
            expected.push((of, n));
            probe
        })
        .collect();
    corpus.push(probes[0].clone());
    let shown = |texts: &[Vec<usize>]| -> String {
        let text = |text: &Vec<usize>| {
            text.iter().map(|it| format!("w{it}")).collect::<Vec<_>>().join(" ")
        };
        texts.iter().enumerate().map(|(n, it)| line(&n.to_string(), &text(it))).collect()
    };
    let dir = tempfile::tempdir().unwrap();
    let (corpus, probes) =
        (put(dir.path(), "corpus", shown(&corpus)), put(dir.path(), "probes", shown(&probes)));
    let run = |threads: &str| {
        let options = ["--words", "20", "--json", "--threads", threads];
        akin(&[&["passages", &probes, "--in", &corpus], &options[..]].concat()).stdout
    };
    let found = run("1");
    assert_eq!(found, run("3"));
    for (number, (line, (of, n))) in lines(&found).iter().zip(expected).enumerate() {
        let matches = line["matches"].as_array().unwrap();
        let id = of.to_string();
        let is_it = |found: &&Value| found["id"] == *id;
        let found = matches.iter().find(is_it).unwrap_or_else(|| panic!("{number}: {line}"));
        assert!(found["shared"]["of_probe"].as_u64().unwrap() >= n as u64, "{line}");
        assert_eq!(matches[0]["id"] == "300", number == 0);
    }
}

#[test]
fn what_does_not_fit_or_cannot_be_read_is_refused() {
    let files = files();
    let probe = files.put("probe.jsonl", &line("p", &words(95..145)));
    files.refused(&[&probe, "--memory-max-mib", "0"], 1, "allow more by --memory-max-mib");
    for (option, value) in [
        ("--words", "12"),
        ("--words", "101"),
        ("--words-min", "0"),
        ("--containment-min", "1.1"),
        ("--of", "both"),
        ("--limit", "0"),
    ] {
        files.refused(&[&probe, option, value], 2, option);
    }
    files.refused(&[&files.at("nowhere")], 1, "nowhere");
    files.refused(&["-", "--in", "-"], 1, "stdin has either");
    files.refused(&[&probe, "--on-invalid", "keep"], 1, "only for dedup and decontaminate");
    let out = files.put("out", "old");
    files.refused(&[&probe, "-o", &out], 1, "exists already");
    assert_eq!(akin(&["passages", &probe]).code, Some(2), "there is no corpus");
    let tokens = format!("{}{}\n", line("a", &words(0..50)), json!({"id": "t", "tokens": ["a"]}));
    let broken = files.put("tokens.jsonl", &tokens);
    let new = files.at("new");
    let failed = files.run(&[&broken, "-o", &new]);
    assert_eq!((failed.code, fs::exists(&new).unwrap()), (Some(1), false));
    assert!(failed.stderr.contains("only texts are compared"), "{}", failed.stderr);
    files.done(&[&broken, "--on-invalid", "skip"]);
    let corpus = akin(&["passages", &probe, "--in", &broken]);
    assert_eq!((corpus.code, corpus.stdout.as_str()), (Some(1), ""), "{}", corpus.stderr);
    let empty = files.put("empty.jsonl", &line("a", ""));
    assert_eq!(akin(&["passages", &probe, "--in", &empty]).code, Some(1));
    files.refused(&[&empty], 1, "there is no document");
}

/// Searches end early: the matches are the first of all matches all the same.
#[test]
fn the_first_matches_are_those_of_a_search_without_a_limit() {
    let boilerplate = words(0..60);
    let page = |n: usize| format!("{boilerplate} {} x{n}", words(1_000 + n * 50..1_040 + n * 50));
    let pages: Vec<String> = (0..300).map(page).collect();
    let corpus: String =
        pages.iter().enumerate().map(|(n, text)| line(&n.to_string(), text)).collect();
    let files = ComparedCorpus::new("passages", "--in", corpus);
    let probe = files.put("p.jsonl", &line("p", &format!("{} {}", pages[7], words(9..50))));
    let all = found(&files, &[&probe, "--limit", "1000"]);
    assert_eq!((all.len(), &*all[0]), (300, "7"));
    for limit in [1, 2, 100] {
        let first = found(&files, &[&probe, "--limit", &limit.to_string()]);
        assert_eq!(first, all[..limit], "{limit}");
    }
    assert_eq!(found(&files, &[&probe, "--containment-min", "0.9"]), ["7"]);
    assert_eq!(found(&files, &[&probe, "--containment-min", "0.7", "--limit", "3"]), all[..3]);
    let line = &lines(&files.done(&[&probe, "--limit", "1", "--json"]).stdout)[0];
    assert_eq!(line["truncated"], false, "no other match can be the first");
    // In the least memory, searches have less room.
    assert_eq!(found(&files, &[&probe, "--limit", "1000", "--memory-max-mib", "64"]), all);
    files.refused(&[&probe, "--memory-max-mib", "32"], 1, "the searches may take 32.00 MiB");
}

/// A letter of Han is a word here, and 1.6 letters are a word of a reader.
#[test]
fn words_of_passages_are_those_of_a_reader() {
    let han = |range: Range<u32>| -> String {
        range.map(|n| char::from_u32(0x4e00 + n).unwrap()).collect()
    };
    let english = words(0..13);
    let of = |range: Range<u32>, own: u32| {
        format!("{}{}{}", han(own..own + 9), han(range), han(own + 9..own + 18))
    };
    let corpus = [
        line("20", &of(0..20, 900)),
        line("21", &of(0..21, 1_000)),
        line("english", &format!("{} {english}", han(1_100..1_130))),
        line("whole", &han(0..10)),
    ];
    let files = ComparedCorpus::new("passages", "--in", corpus.concat());
    let probe = files.put("probe.txt", &format!("{} {english}", han(0..60)));
    let mut ids = found(&files, &[&probe, "--words", "13"]);
    ids.sort_unstable();
    assert_eq!(ids, ["21", "english", "whole"]);
    let mut ids = found(&files, &[&probe, "--words", "13", "--words-min", "12"]);
    ids.sort_unstable();
    assert_eq!(ids, ["20", "21", "english", "whole"]);
}
