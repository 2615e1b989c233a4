use akin::engine::{CollectionSettings, LimitSettings};
use akin::http::ServerSettings;
use serde_json::{Value, json};

use crate::app::{App, text};

async fn app_with_groups() -> App {
    let app = App::new().await;
    app.add(&[
        json!({"id": "a", "text": text(0)}),
        json!({"id": "a, edited", "text": text(100)}),
        json!({"id": "a, copied", "text": text(0)}),
        json!({"id": "b", "tokens": ["x", "y", "z"]}),
        json!({"id": "far", "text": "nothing that the others have in common with it"}),
    ])
    .await;
    app
}

#[tokio::test]
async fn the_first_of_each_group_is_kept() {
    let app = app_with_groups().await;
    let ids = json!(["far", "unheard of", "a, edited", "a", "b", "a, copied", "nor this"]);
    let mut answer = app.post_json("/collapse", json!({"ids": ids})).await.json();
    let took = answer.as_object_mut().unwrap().remove("took_us").unwrap();
    assert!(took.is_u64());
    let exact = app.get("/resemblance?a=a&b=a,%20edited").await.json()["exact"]["value"].clone();
    let member = |id: &str| json!({"hit": id, "resemblance": exact});
    let expected = json!({
        "kept": ["far", "unheard of", "a, edited", "b", "nor this"],
        "groups": [{
            "representative": "a, edited",
            "members": [member("a"), member("a, copied")],
        }],
        "unknown": ["unheard of", "nor this"],
        "more": false,
        "threshold": 0.8,
    });
    assert_eq!(answer, expected);
}

#[tokio::test]
async fn at_threshold_1_only_equal_sets_are_one() {
    let app = app_with_groups().await;
    let body = json!({"ids": ["a", "a, edited", "a, copied"], "threshold": 1});
    let answer = app.post_json("/collections/default/collapse", body).await.json();
    assert_eq!(answer["kept"], json!(["a", "a, edited"]));
    let members = json!([{"hit": "a, copied", "resemblance": 1.0}]);
    assert_eq!(answer["groups"], json!([{"representative": "a", "members": members}]));
    let answer = app.post_json("/collapse", json!({"ids": []})).await.json();
    assert_eq!((&answer["kept"], &answer["unknown"]), (&json!([]), &json!([])));
}

#[tokio::test]
async fn hits_of_any_store_are_collapsed_in_one_list() {
    let app = app_with_groups().await;
    let exact = app.get("/resemblance?a=a&b=a,%20edited").await.json()["exact"]["value"].clone();
    let hits = json!([
        {"text": text(100)},
        {"id": "far"},
        {"id": "a"},
        {"id": "not stored", "text": text(0)},
        {"id": "not stored either"},
        {"id": "far", "text": "left out, as its id comes again"},
        {"id": "b", "text": text(0)},
        {"text": "..."},
        {"text": "something else that no other hit has in common"},
    ]);
    let mut answer = app.post_json("/collapse", json!({"hits": hits})).await.json();
    answer.as_object_mut().unwrap().remove("took_us").unwrap();
    let member = |hit: usize| json!({"hit": hit, "resemblance": exact});
    let expected = json!({
        "kept": [0, 1, 4, 6, 7, 8],
        "groups": [{"representative": 0, "members": [member(2), member(3)]}],
        "unknown": [4, 7],
        "more": false,
        "threshold": 0.8,
    });
    assert_eq!(answer, expected);
}

#[tokio::test]
async fn a_text_that_cannot_be_compared_is_refused_with_its_place() {
    let limits = LimitSettings { shingles_max: 50, ..LimitSettings::default() };
    let settings = CollectionSettings { limits, ..CollectionSettings::default() };
    let app = App::with_collection(settings).await;
    let hits = json!({"hits": [{"id": "a"}, {"text": "short"}, {"text": text(0)}]});
    let problem = app.post_json("/collapse", hits).await.problem(422, "too_many_shingles");
    assert_eq!(problem["errors"][0]["pointer"], "/hits/2/text", "{problem}");
}

/// The pages of a list are the parts of the list that is collapsed at once.
#[tokio::test]
async fn pages_go_on_from_the_hits_that_were_kept() {
    let app = app_with_groups().await;
    let mut left: Vec<Value> =
        ["x", "far", "a", "b", "a, edited", "y", "a, copied"].map(|id| json!({"id": id})).to_vec();
    left.insert(3, json!({"text": text(100)}));
    let at_once = app.post_json("/collapse", json!({"hits": left})).await.json();
    let expected: Vec<Value> =
        at_once["kept"].as_array().unwrap().iter().map(|at| hit(&left, at)).collect();
    let mut kept: Vec<Value> = Vec::new();
    loop {
        let list = [kept.clone(), left].concat();
        let body = json!({"hits": list, "offset": kept.len(), "limit": 2});
        let page = app.post_json("/collapse", body).await.json();
        let of_page = page["kept"].as_array().unwrap();
        let groups = page["groups"].as_array().unwrap();
        let members = groups.iter().flat_map(|group| group["members"].as_array().unwrap());
        let gone: Vec<&Value> =
            of_page.iter().chain(members.map(|member| &member["hit"])).collect();
        let is_left = |at: &usize| !gone.contains(&&json!(at));
        left = (kept.len()..list.len()).filter(is_left).map(|at| list[at].clone()).collect();
        kept.extend(of_page.iter().map(|at| hit(&list, at)));
        if page["more"] == false {
            break;
        }
    }
    assert_eq!(kept, expected);
    assert_eq!(left, [] as [Value; 0]);
}

fn hit(list: &[Value], position: &Value) -> Value {
    list[position.as_u64().unwrap() as usize].clone()
}

#[tokio::test]
async fn hits_before_the_offset_are_neither_compared_nor_reported() {
    let app = app_with_groups().await;
    let body = json!({"ids": ["a", "a", "a, copied", "a, edited", "far"], "offset": 3});
    let answer = app.post_json("/collapse", body).await.json();
    assert_eq!(answer["kept"], json!(["far"]));
    assert_eq!(answer["groups"][0]["representative"], "a");
    assert_eq!(answer["groups"][0]["members"][0]["hit"], "a, edited");
    assert_eq!(answer["groups"].as_array().unwrap().len(), 1, "{answer}");
}

#[tokio::test]
async fn a_limit_of_kept_ids_still_groups_the_rest() {
    let app = app_with_groups().await;
    let ids = json!(["unheard of", "a", "far", "b", "a, edited"]);
    let in_body = app.post_json("/collapse", json!({"ids": ids, "limit": 2})).await.json();
    let in_query = app.post_json("/collapse?limit=2", json!({"ids": ids})).await.json();
    for answer in [in_body, in_query] {
        assert_eq!(answer["kept"], json!(["unheard of", "a"]), "{answer}");
        assert_eq!(answer["groups"][0]["members"][0]["hit"], "a, edited");
        assert_eq!(answer["more"], true);
    }
    let one = app.post_json("/collapse", json!({"ids": ids, "limit": 1})).await.json();
    assert_eq!((&one["kept"], &one["groups"]), (&json!(["unheard of"]), &json!([])));
    let both = app.post_json("/collapse?limit=1", json!({"ids": ids, "limit": 2})).await;
    both.problem(400, "invalid_parameter");
}

#[tokio::test]
async fn repeated_ids_count_at_their_first_place() {
    let app = app_with_groups().await;
    let collapse = async |ids: Value| {
        let mut answer = app.post_json("/collapse", json!({"ids": ids})).await.json();
        answer.as_object_mut().unwrap().remove("took_us");
        answer
    };
    let again = ["x", "far", "x", "a", "far", "a, edited", "a", "b", "a, edited"];
    assert_eq!(
        collapse(json!(again)).await,
        collapse(json!(["x", "far", "a", "a, edited", "b"])).await
    );
    assert_eq!(collapse(json!(again)).await["unknown"], json!(["x"]));
}

#[tokio::test]
async fn an_invalid_list_is_refused_with_a_pointer() {
    let settings = ServerSettings { limit_max: 3, ..ServerSettings::default() };
    let app = App::with_server(settings).await;
    let invalid = [
        (json!({}), "", "exactly one of ids and hits"),
        (json!({"ids": ["a"], "hits": []}), "", "exactly one of ids and hits"),
        (json!({"hits": vec![json!({"text": "a"}); 4]}), "/hits", "4 hits are more than the 3"),
        (json!({"hits": [{"id": "a"}, {}]}), "/hits/1", "a hit has an id, a text or both"),
        (json!({"hits": [{"id": "a", "score": 1}]}), "/hits/0/score", "unknown field `score`"),
        (json!({"hits": [["a", "b"]]}), "/hits/0", "expected an object"),
        (json!({"ids": ["a", "b", "c", "d"]}), "/ids", "4 ids are more than the 3 allowed"),
        (json!({"ids": ["a", ""]}), "/ids/1", "at least one character"),
        (json!({"ids": ["a", true]}), "/ids/1", "expected"),
        (json!({"ids": [], "threshold": 1.5}), "/threshold", "above 0 and at most 1"),
        (json!({"ids": [], "limt": 3}), "/limt", "unknown field `limt`"),
        (json!({"ids": [], "limit": 0}), "/limit", "nonzero"),
        (json!(["a", "b"]), "", "expected an object"),
    ];
    for (body, pointer, detail) in invalid {
        let problem: Value =
            app.post_json("/collapse", &body).await.problem(422, "invalid_request");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{body}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{body}: {problem}");
    }
    app.post_json("/collapse", "{\"ids\": [").await.problem(400, "malformed_json");
    app.post("/collapse", "text/plain", "a").await.problem(415, "unsupported_media_type");
    app.post_json("/collapse?limt=1", json!({"ids": []})).await.problem(400, "invalid_parameter");
}

#[tokio::test]
async fn a_list_with_too_many_shingles_is_refused() {
    let limits = LimitSettings { collapse_shingles_max: 300, ..LimitSettings::default() };
    let app =
        App::with_collection(CollectionSettings { limits, ..CollectionSettings::default() }).await;
    app.add(&[json!({"id": "a", "text": text(0)}), json!({"id": "copy", "text": text(0)})]).await;
    let texts = json!({"hits": [{"text": text(0)}, {"text": text(0)}, {"text": text(100)}]});
    let problem = app.post_json("/collapse", texts).await.problem(422, "too_many_shingles");
    assert!(problem["detail"].as_str().unwrap().contains("396 shingles"), "{problem}");
    let copies = app.post_json("/collapse", json!({"ids": ["a", "copy"]})).await.json();
    assert_eq!(copies["kept"], json!(["a"]), "equal sets need not be read");
    app.add(&[json!({"id": "edited", "text": text(100)})]).await;
    let reply = app.post_json("/collapse", json!({"ids": ["a", "edited"]})).await;
    let problem = reply.problem(422, "too_many_shingles");
    assert!(problem["detail"].as_str().unwrap().contains("396 shingles"), "{problem}");
}
