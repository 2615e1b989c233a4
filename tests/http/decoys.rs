//! Documents made to agree with a sketch do not hide a near-duplicate.
//!
//! By estimates an attacker learns which tokens of a text make its sketch: with an estimate of 1 it
//! stays the same. (Here the sketches themselves tell, in less time.) Documents of these tokens and
//! of others that leave the sketch as it is agree in nearly all slots, unlike the text as they are.
//! So they come before a real near-duplicate, which agrees in fewer.

use akin::document::Token;
use akin_core::sketch::{Sketch, SketchSettings, Sketcher};
use akin_core::text::{ShingleSettings, Shingler};
use serde_json::{Value, json};

use crate::app::{App, ids};

const TOKENS: usize = 300;
const DECOYS: usize = 300;

/// What they have in common with the text and each other is .05 to .4 of a decoy.
const FILLERS: usize = 500;

fn tokens(letter: char, numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(|number| format!("{letter}{number}")).collect()
}

fn document(id: &str, tokens: &[String]) -> Value {
    json!({"id": id, "tokens": tokens})
}

/// The exact similarity, and the estimate.
async fn compared(app: &App, a: &[String], b: &[String]) -> [f64; 2] {
    let pair = json!({"a": {"tokens": a}, "b": {"tokens": b}});
    let compared = app.post_json("/resemblance", pair).await.json();
    ["exact", "estimated"].map(|of| match &compared[of] {
        Value::Object(of) => of["value"].as_f64().unwrap_or_else(|| panic!("{of:?}")),
        of => of.as_f64().unwrap_or_else(|| panic!("{compared}")),
    })
}

/// Makes the sketches of the server, whose seed is 0.
struct Attacker {
    shingler: Shingler,
    sketcher: Sketcher,
}

impl Attacker {
    fn new() -> Self {
        let shingler = Shingler::new(ShingleSettings::default(), 0, usize::MAX);
        let sketcher = Sketcher::new(SketchSettings::default());
        Self { shingler, sketcher }
    }

    fn sketch(&self, tokens: &[String]) -> Sketch {
        let token = |text: &String| Token { text: text.clone(), count: 1 };
        let tokens: Vec<_> = tokens.iter().map(token).collect();
        self.sketcher.sketch(&self.shingler.tokens(&tokens).unwrap().set)
    }

    /// The tokens of the text without which its sketch is another.
    fn making(&self, text: &[String]) -> Vec<String> {
        let sketch = self.sketch(text);
        let is_other = |at: &usize| {
            let without = [&text[..*at], &text[at + 1..]].concat();
            self.sketch(&without) != sketch
        };
        (0..text.len()).filter(is_other).map(|at| text[at].clone()).collect()
    }

    /// Tokens that leave the sketch as it is.
    fn fillers(&self, text: &[String]) -> Vec<String> {
        let sketch = self.sketch(text);
        let is_same =
            |filler: &String| self.sketch(&[text, std::slice::from_ref(filler)].concat()) == sketch;
        tokens('f', 0..2 * FILLERS).into_iter().filter(is_same).collect()
    }
}

#[tokio::test]
async fn decoys_do_not_hide_a_near_duplicate() {
    let app = App::new().await;
    let text = tokens('p', 0..TOKENS);
    let near = [tokens('p', 0..285), tokens('r', 0..15)].concat();
    app.add(&[document("near", &near)]).await;
    let attacker = Attacker::new();
    let (making, fillers) = (attacker.making(&text), attacker.fillers(&text));
    assert!(making.len() < 128 && fillers.len() >= FILLERS, "{making:?} {fillers:?}");
    let decoy = |number: usize| {
        let own = (0..TOKENS - making.len()).map(|at| number * 37 + at * (1 + number % 3));
        let own = own.map(|at| fillers[at % FILLERS].clone());
        let mut tokens: Vec<String> = making.iter().cloned().chain(own).collect();
        tokens.sort();
        tokens.dedup();
        tokens
    };
    for number in 0..DECOYS {
        let decoy = decoy(number);
        if number % 10 == 0 {
            let [exact, estimated] = compared(&app, &text, &decoy).await;
            assert!(exact < 0.35 && estimated > 0.95, "{number}: {exact} {estimated}");
        }
        let reply =
            app.post_json("/documents?check=false", document(&format!("d{number}"), &decoy));
        assert_eq!(reply.await.status, 201);
    }
    let [exact, estimated] = compared(&app, &text, &near).await;
    assert!((0.90..0.91).contains(&exact) && estimated < 0.95, "{exact} {estimated}");
    let reply = app.post_json("/documents?on_duplicate=skip", document("copy", &text)).await;
    let added = reply.json();
    let found: Vec<_> = added["duplicates"].as_array().unwrap().iter().collect();
    assert_eq!((&added["status"], found.len()), (&json!("skipped"), 1), "{added}");
    assert_eq!(found[0]["id"], "near");
    let answer = app.post_json("/similar", json!({"tokens": text})).await.json();
    assert_eq!(ids(&answer), ["near"], "{answer}");
    assert_eq!(answer["truncated"], false);
}
