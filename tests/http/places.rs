//! Places in texts: each operation that returns them counts Unicode code points.

use akin::engine::CollectionSettings;
use serde_json::{Value, json};

use crate::app::App;

/// A run of words that two texts share, with other words before and after it in each of them.
struct Case {
    shared: &'static str,
    first: [&'static str; 2],
    second: [&'static str; 2],
}

const CASES: [Case; 3] = [
    Case {
        shared: "Über den grünen Fluß führt seit fünfzig Jahren eine hölzerne Brücke für müde Fußgänger",
        first: ["Größe: ", ". Schön!"],
        second: ["Äpfel süß. ", ", weiß man."],
    },
    Case {
        shared: "我们在河边看见一座很古老的木桥还有人在桥上慢慢走",
        first: ["昨天：", "。"],
        second: ["𠮷野家，", "，好！"],
    },
    Case {
        shared: "the 🦊 quick 𝐛𝐫𝐨𝐰𝐧 fox 🌉 jumps over the lazy 🐈‍⬛ dog and then it sleeps for a whole day",
        first: ["🏔️🏔️ ", " 🎻."],
        second: ["So: 𝄞 ", " 🌊🌊🌊"],
    },
];

impl Case {
    fn texts(&self) -> [String; 2] {
        [self.first, self.second].map(|[before, after]| format!("{before}{}{after}", self.shared))
    }
}

/// The part of a text as Python slices it.
fn slice(text: &str, start: &Value, end: &Value) -> String {
    let [start, end] = [start, end].map(|place| place.as_u64().unwrap() as usize);
    text.chars().skip(start).take(end - start).collect()
}

async fn app() -> App {
    let mut settings = CollectionSettings::default();
    settings.passages.words = 13;
    App::with_collection(settings).await
}

fn check_passages(found: &Value, [probe, matched]: [&str; 2], shared: &str) {
    let passage = &found["matches"][0]["passages"][0];
    for (side, text) in [("probe", probe), ("match", matched)] {
        let place = &passage[side];
        assert_eq!(slice(text, &place["start"], &place["end"]), shared, "{found}");
    }
}

#[tokio::test]
async fn the_places_of_passages_are_code_points_of_both_texts() {
    let app = app().await;
    for case in CASES {
        let [first, second] = case.texts();
        app.add(&[json!({"id": "first", "text": first})]).await;
        let found = app.post_json("/passages", json!({"text": second})).await.json();
        check_passages(&found, [&second, &first], case.shared);
        let second_added = json!({"id": "second", "text": second});
        let added = app.post_json("/documents?passages=true", second_added).await.json();
        check_passages(&added["passages"], [&second, &first], case.shared);
        let found = app.get("/passages?id=first").await.json();
        check_passages(&found, [&first, &second], case.shared);
        for id in ["first", "second"] {
            assert_eq!(app.delete(&format!("/documents/{id}")).await.status, 204);
        }
    }
}

#[tokio::test]
async fn the_places_of_an_explanation_are_code_points_of_each_text() {
    let app = App::new().await;
    for case in CASES {
        let texts = case.texts();
        let [a, b] = &texts;
        let pair = json!({"a": {"text": a}, "b": {"text": b}});
        let explained = app.post_json("/resemblance?explain=true", pair).await.json();
        for (side, text, around) in [("a", a, case.first), ("b", b, case.second)] {
            let parts = |kind: &str| -> Vec<String> {
                let ranges = explained["explanation"][side][kind].as_array().unwrap().iter();
                ranges.map(|range| slice(text, &range[0], &range[1])).collect()
            };
            assert_eq!(parts("shared"), [case.shared], "{explained}");
            assert_eq!(parts("differing"), around.map(str::trim), "{explained}");
        }
    }
}
