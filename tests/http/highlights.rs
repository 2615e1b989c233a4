//! The parts of matches that a probe shares.

use std::collections::HashSet;

use akin::engine::{CollectionSettings, StoreSettings};
use akin::http::ServerSettings;
use serde_json::{Value, json};

use crate::app::{App, text};

/// Words of a sentence, some of them of characters of several bytes, with white space and marks
/// between.
fn sentence(words: &[usize]) -> String {
    let word = |word: &usize| match word % 3 {
        0 => format!("größe{word}, "),
        1 => format!("w{word} 🦊 "),
        _ => format!("𝐛{word}\n"),
    };
    words.iter().map(word).collect()
}

/// The sentence of each probe and of each match: the same words, with changed and moved ones.
fn sentences() -> Vec<Vec<usize>> {
    let mut state = 1_usize;
    let mut below = |max: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (state >> 33) % max
    };
    let original: Vec<usize> = (0..40).map(|_| below(30)).collect();
    let mut sentences = vec![original.clone()];
    for _ in 0..20 {
        let mut changed = original.clone();
        for _ in 0..=below(6) {
            let (from, to) = (below(40), below(40));
            if below(2) == 0 { changed.swap(from, to) } else { changed[from] = 1_000 + below(9) }
        }
        sentences.push(changed);
    }
    sentences
}

/// The runs of words of which each shares a shingle of three words, in code points.
fn expected(probe: &[usize], found: &[usize]) -> Vec<[usize; 2]> {
    let shingles: HashSet<&[usize]> = probe.windows(3).collect();
    let (mut runs, mut last) = (Vec::<[usize; 2]>::new(), None);
    for at in (0..found.len().saturating_sub(2)).filter(|at| shingles.contains(&found[*at..at + 3]))
    {
        match runs.last_mut().filter(|_| last.is_some_and(|last| at <= last + 2)) {
            Some(run) => run[1] = at + 3,
            None => runs.push([at, at + 3]),
        }
        last = Some(at);
    }
    let length = |text: String| text.chars().count();
    let start = |word: usize| length(sentence(&found[..word]));
    // Without what follows the last word.
    let end = |word: usize| {
        let its = sentence(&found[word..=word]);
        start(word) + length(its.trim_end_matches(|c: char| !c.is_alphanumeric()).to_owned())
    };
    runs.into_iter().map(|[from, to]| [start(from), end(to - 1)]).collect()
}

#[tokio::test]
async fn highlights_are_the_words_of_shared_shingles() {
    let app = App::new().await;
    let sentences = sentences();
    let id = |at: usize| format!("s{at}");
    let stored = sentences.iter().enumerate();
    let stored = stored.map(|(at, words)| json!({"id": id(at), "text": sentence(words)}));
    app.add(&stored.collect::<Vec<_>>()).await;
    let check = |probe: &[usize], answer: &Value| {
        for found in answer["matches"].as_array().unwrap() {
            let at: usize = found["id"].as_str().unwrap()[1..].parse().unwrap();
            let expected = expected(probe, &sentences[at]);
            assert_eq!(found["highlights"], json!(expected), "{:?}", sentence(&sentences[at]));
            assert_eq!(found.get("text"), None);
        }
        answer["matches"].as_array().unwrap().len()
    };
    let mut checked = 0;
    for (at, words) in sentences.iter().enumerate() {
        let options = "include=highlights&threshold=0.1&mode=exact&limit=50";
        let answer = app.get(&format!("/similar?id={}&{options}", id(at))).await.json();
        checked += check(words, &answer);
        let part = &words[..30];
        let probe = json!({"id": "none", "text": sentence(part), "include": ["highlights"],
            "threshold": 0.1, "mode": "exact"});
        checked += check(part, &app.post_json("/similar", probe).await.json());
    }
    assert!(checked > 400, "{checked}");
    let nearest = app.get("/similar?id=s0&k=3&include=text,highlights").await.json();
    assert_eq!(nearest["matches"].as_array().unwrap().len(), 3);
    for found in nearest["matches"].as_array().unwrap() {
        assert!(found["text"].is_string() && found["highlights"].is_array(), "{found}");
    }
}

#[tokio::test]
async fn highlights_need_a_stored_text() {
    let app = App::new().await;
    app.add(&[json!({"id": "t", "tokens": ["a", "b"]}), json!({"id": "u", "tokens": ["a", "b"]})])
        .await;
    let answer = app.get("/similar?id=t&include=highlights").await.json();
    assert_eq!(answer["matches"][0]["id"], "u");
    assert_eq!(answer["matches"][0].get("highlights"), None);
    let store = StoreSettings { text: false, ttl_s: None };
    let settings = CollectionSettings { store, ..CollectionSettings::default() };
    let app = App::with_collection(settings).await;
    app.add(&[json!({"id": "a", "text": text(0)}), json!({"id": "b", "text": text(0)})]).await;
    let refused = app.get("/similar?id=a&include=highlights").await;
    let problem = refused.problem(422, "text_not_kept");
    assert!(problem["detail"].as_str().unwrap().contains("store.text"), "{problem}");
    let probes = json!([
        {"text": "no document has these words", "include": "highlights"},
        {"text": text(0)},
        {"text": text(0), "include": "highlights"},
    ]);
    let answers = app.post_json("/similar", &probes).await.elements();
    for refused in [0, 2] {
        assert_eq!(answers[refused]["error"]["code"], "text_not_kept", "{answers:?}");
    }
    assert_eq!(answers[1]["matches"][0]["id"], "a", "{answers:?}");
    let unknown = app.get("/similar?id=a&include=highlight").await;
    let problem = unknown.problem(400, "invalid_parameter");
    assert!(problem["detail"].as_str().unwrap().contains("highlights"), "{problem}");
}

/// The matches of an answer that has begun stay; only their highlights are left out.
#[tokio::test]
async fn highlights_end_with_the_work_that_a_call_may_do() {
    for request_cost_max in (100..).step_by(20) {
        let settings = ServerSettings { request_cost_max, ..ServerSettings::default() };
        let app = App::with_server(settings).await;
        let document = |at: usize| json!({"id": format!("d{at}"), "text": text(at)});
        app.add(&(0..60).map(document).collect::<Vec<_>>()).await;
        let reply = app.get("/similar?id=d0&limit=100&include=highlights").await;
        if reply.status != 200 {
            reply.problem(422, "request_too_costly");
            continue;
        }
        let answer = reply.json();
        let matches = answer["matches"].as_array().unwrap();
        let with = matches.iter().take_while(|found| found["highlights"].is_array()).count();
        assert!(
            matches.len() == 59 && with < 59,
            "{request_cost_max}: {with} of {}",
            matches.len()
        );
        assert!(matches[with..].iter().all(|found| found.get("highlights").is_none()));
        return;
    }
}
