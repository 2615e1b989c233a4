//! Passages at the arrival of documents: `passages`, `on_contained`, `containment_min` and `of` of
//! `POST /documents` and `PUT /documents/{id}`.

use akin::engine::CollectionSettings;
use akin::http::ServerSettings;
use serde_json::{Value, json};

use crate::app::App;

const NDJSON: &str = "application/x-ndjson";

/// Words that no other text has.
fn filler(name: &str, words: usize) -> String {
    (0..words).map(|at| format!("{name}{at}")).collect::<Vec<_>>().join(" ")
}

/// A text of 60 words that has the 30 words of `short`.
fn long() -> String {
    format!("{} {} {}", filler("before", 10), short(), filler("after", 20))
}

fn short() -> String {
    filler("short", 30)
}

async fn app() -> App {
    let mut settings = CollectionSettings::default();
    settings.passages.words = 13;
    App::with_collection(settings).await
}

fn ids(added: &Value) -> Vec<&str> {
    let matches = added["passages"]["matches"].as_array().unwrap();
    matches.iter().map(|found| found["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_addition_tells_what_it_contains_and_where() {
    let app = app().await;
    let first = app.post_json("/documents?passages=true", json!({"id": "a", "text": long()})).await;
    assert_eq!(first.status, 201);
    let found = &first.json()["passages"];
    let nothing = json!({"matches": [], "guarantee": {"words": 13}, "more": false,
        "truncated": false});
    assert_eq!(found, &nothing);
    let plain = app.post_json("/documents", json!({"id": "b", "text": filler("b", 20)})).await;
    assert!(plain.json().get("passages").is_none());

    let body = json!({"id": "c", "text": short(), "passages": true});
    let added = app.post_json("/documents", body).await.json();
    assert_eq!((&added["status"], ids(&added)), (&json!("created"), vec!["a"]));
    let found = &added["passages"]["matches"][0];
    assert_eq!(found["containment"], json!({"of_probe": 1.0, "of_match": 0.5}));
    let start = filler("before", 10).len() + 1;
    let place = json!({"start": start, "end": start + short().len(), "words": 30});
    assert_eq!(found["passages"][0]["match"], place);
    // The longer text contains the shorter.
    let put = json!({"text": format!("{} more", long())});
    let added = app.put_json("/documents/d?containment_min=0.9&of=match&passages=true", put).await;
    assert_eq!(ids(&added.json()), ["a", "c"]);
}

#[tokio::test]
async fn a_contained_document_is_skipped() {
    let app = app().await;
    app.add(&[json!({"id": "a", "text": long()})]).await;
    let skip = "/documents?on_contained=skip&containment_min=0.8";
    let skipped = app.post(&format!("{skip}&id=b"), "text/plain", short()).await;
    assert_eq!(skipped.status, 200);
    let skipped = skipped.json();
    assert_eq!((&skipped["status"], ids(&skipped)), (&json!("skipped"), vec!["a"]));
    assert_eq!(app.get("/documents/b").await.status, 404);
    let half = format!("{} {}", short(), filler("half", 30));
    let kept = app.post_json(skip, json!({"id": "c", "text": half})).await.json();
    assert_eq!((&kept["status"], ids(&kept)), (&json!("created"), vec![]));
    // What is stored already stays, and is not contained in itself.
    let again = app.post_json(skip, json!({"id": "a", "text": long()})).await.json();
    assert_eq!((&again["status"], ids(&again)), (&json!("unchanged"), vec![]));
    // A document that is skipped for a near-duplicate is not searched for passages.
    let both = json!({"id": "d", "text": long(), "on_duplicate": "skip"});
    let both = app.post_json(skip, both).await.json();
    assert_eq!((&both["status"], both.get("passages")), (&json!("skipped"), None));
}

#[tokio::test]
async fn documents_of_one_body_see_each_other_in_their_order() {
    let app = app().await;
    let lines = [
        json!({"id": "short", "text": short()}),
        json!({"id": "long", "text": long()}),
        json!({"id": "short again", "text": short()}),
        json!({"id": "tokens", "tokens": ["a", "b"]}),
        json!({"id": "kept", "text": short(), "on_contained": "keep"}),
        json!({"id": "silent", "text": short(), "passages": false}),
    ];
    let body = lines.map(|line| line.to_string()).join("\n");
    let path = "/documents?containment_min=0.8&passages=true&check=false";
    let refused = app.post(path, NDJSON, body.clone()).await.lines();
    assert_eq!(refused[5]["problem"]["code"], "invalid_document", "{refused:?}");
    let lines: Vec<Value> = refused[..3].to_vec();
    assert_eq!(
        lines.iter().map(|line| ids(line)).collect::<Vec<_>>(),
        [vec![], vec![], vec!["short", "long"]]
    );
    assert_eq!(refused[3]["problem"]["code"], "wrong_content");
    assert_eq!(ids(&refused[4]), ["short", "long", "short again"]);

    let all = json!([
        {"id": "1", "text": filler("one", 40)},
        {"id": "2", "text": filler("one", 39)},
        {"id": "3", "text": filler("one", 41)},
    ]);
    let skip = "/documents?on_contained=skip&containment_min=1&check=false";
    let added = app.post_json(skip, all).await.elements();
    let statuses: Vec<_> = added.iter().map(|added| &added["status"]).collect();
    assert_eq!(statuses, ["created", "skipped", "created"]);
    assert_eq!(ids(&added[1]), ["1"]);
}

#[tokio::test]
async fn options_without_effect_are_refused_by_name() {
    let app = app().await;
    let document = json!({"id": "a", "text": short()});
    for (query, name) in [
        ("on_contained=skip", "on_contained"),
        ("on_contained=skip&containment_min=0.5&passages=false", "on_contained"),
        ("containment_min=0.5", "containment_min"),
        ("passages=true&of=match", "of"),
        ("passages=true&containment_min=1.5", "containment_min"),
        ("passages=yes", "passages"),
    ] {
        let reply = app.post_json(&format!("/documents?{query}"), &document).await;
        let problem = reply.problem(400, "invalid_parameter");
        assert!(problem["detail"].as_str().unwrap().contains(&format!("'{name}'")), "{problem}");
    }
    let body = json!({"id": "a", "text": short(), "on_contained": "skip"});
    let problem = app.post_json("/documents", body).await.problem(422, "invalid_document");
    assert_eq!(problem["errors"][0]["pointer"], "/on_contained");
    let tokens = json!({"id": "a", "tokens": ["a"], "passages": true});
    app.post_json("/documents", tokens).await.problem(422, "wrong_content");
    assert_eq!(app.get("/documents/a").await.status, 404, "nothing was stored");
}

#[tokio::test]
async fn collections_without_the_index_refuse() {
    let app = App::new().await;
    let reply =
        app.post_json("/documents?passages=true", json!({"id": "a", "text": short()})).await;
    reply.problem(422, "passages_off");
    let line = json!({"id": "a", "text": short()}).to_string();
    let line = app.post("/documents?passages=true", NDJSON, line).await.lines().remove(0);
    assert_eq!(line["problem"]["code"], "passages_off");
    assert_eq!(app.get("/documents/a").await.status, 404);
}

#[tokio::test]
async fn a_text_that_takes_too_much_memory_is_refused_and_not_stored() {
    let app = app().await;
    drop(app);
    let server = akin::http::ServerSettings { memory_max: 64 << 20, ..Default::default() };
    let app = App::with_server(server).await;
    app.put_json("/collections/made", json!({"passages": {"words": 32}})).await;
    let large = json!({"id": "a", "text": filler("w", 300_000)});
    let reply = app.post_json("/collections/made/documents?passages=true", large.clone()).await;
    reply.problem(422, "request_too_costly");
    assert_eq!(app.get("/collections/made/documents/a").await.status, 404);
    let kept = app.post_json("/collections/made/documents", large).await;
    assert_eq!(kept.status, 201, "{:?}", kept.body);
}

/// As a lookup is charged, each document of many by itself.
#[tokio::test]
async fn the_search_at_arrival_is_charged() {
    let server = ServerSettings { request_cost_max: 1_000, ..ServerSettings::default() };
    let app = App::with_server(server).await;
    let made = app.put_json("/collections/made", json!({"passages": {"words": 32}})).await;
    assert_eq!(made.status, 201);
    let add = "/collections/made/documents?check=false";
    let document = |id: &str, words| json!({"id": id, "text": filler(id, words)});
    let costly = document("costly", 50_000);
    let refused = app.post_json(&format!("{add}&passages=true"), costly.clone()).await;
    refused.problem(422, "request_too_costly");
    let lines = (0..20).map(|at| format!("{}\n", document(&format!("d{at}"), 900)));
    let lines = lines.collect::<Vec<_>>().concat();
    let lines = format!("{lines}{costly}\n");
    let answer = app.post(&format!("{add}&passages=true"), NDJSON, lines).await;
    let answer = std::str::from_utf8(&answer.body).unwrap().to_owned();
    assert_eq!(answer.matches("created").count(), 20, "{answer}");
    assert_eq!(answer.matches("request_too_costly").count(), 2, "type and code of one: {answer}");
    assert_eq!(app.get("/collections/made/documents/costly").await.status, 404);
    assert_eq!(app.post_json(add, costly).await.status, 201, "it is not searched for passages");
}

/// A letter of Han is a word here, and 1.6 letters are a word of a reader.
#[tokio::test]
async fn words_of_passages_are_those_of_a_reader() {
    let app = app().await;
    let han = |from: u32, to: u32| -> String {
        (from..to).map(|n| char::from_u32(0x4e00 + n).unwrap()).collect()
    };
    for (id, shared, own) in [("20", 20, 500), ("21", 21, 600)] {
        let text = format!("{}{}{}", han(own, own + 9), han(0, shared), han(own + 9, own + 18));
        app.post_json("/documents", json!({"id": id, "text": text})).await;
    }
    let probe = json!({"text": han(0, 60)});
    let matches = |answer: Value| -> Vec<String> {
        let matches = answer["matches"].as_array().unwrap().iter();
        matches.map(|found| found["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(matches(app.post_json("/passages", probe.clone()).await.json()), ["21"]);
    let shorter = app.post_json("/passages?words_min=12", probe).await.json();
    assert_eq!(matches(shorter), ["21", "20"]);
}
