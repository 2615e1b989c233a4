use super::*;

fn columns(id: &str, text: &str, metadata: &[&str]) -> TextColumns {
    TextColumns {
        id: Some(id.into()),
        text: vec![text.into()],
        roles: Vec::new(),
        metadata: Some(metadata.iter().map(|name| (*name).to_owned()).collect()),
        further_are_ignored: false,
        prunes: false,
    }
}

fn line(columns: &TextColumns, json: &str) -> Result<Option<String>, String> {
    let line = columns.of_line(json.as_bytes(), Some("f:1"))?;
    Ok(line.map(|json| String::from_utf8(json).unwrap()))
}

#[test]
fn documents_of_the_api_are_sent_unchanged() {
    let default = TextColumns::default();
    for json in [r#"{"id":"a", "tokens":["x"]}"#, r#"{"text":"x","metadata":{"a":1}}"#, "{no"] {
        assert_eq!(line(&default, json), Ok(None));
    }
    assert_eq!(line(&default, r#"{"id":"a","signature":[1,2]}"#), Ok(None));
    let signed = r#"{"id":"a","text":"x","signature":"Yours, Ann"}"#;
    let made = r#"{"id":"a","text":"x","metadata":{"signature":"Yours, Ann"}}"#.to_owned();
    assert_eq!(line(&default, signed), Ok(Some(made)));
    let further = r#"{"text":"x","url":"u"}"#;
    let ignoring = TextColumns { further_are_ignored: true, ..TextColumns::default() };
    assert_eq!(line(&ignoring, further), Ok(None));
    let made = r#"{"id":"f:1","text":"x","metadata":{"url":"u"}}"#.to_owned();
    assert_eq!(line(&default, further), Ok(Some(made)));
}

#[test]
fn columns_are_chosen() {
    let json = r#"{"n":7,"body":"b\u00e9","a":[1, 2],"b":null,"text":"t","metadata":{"a":0}}"#;
    let made = |columns: &TextColumns| line(columns, json).unwrap().unwrap();
    assert_eq!(
        made(&columns("n", "body", &["b"])),
        r#"{"id":"7","text":"b\u00e9","metadata":{"a":0,"b":null}}"#
    );
    assert_eq!(
        made(&TextColumns { metadata: None, ..columns("n", "body", &[]) }),
        r#"{"id":"7","text":"b\u00e9","metadata":{"a":0,"b":null,"text":"t"}}"#
    );
    assert_eq!(
        line(&columns("n", "content", &[]), json).unwrap_err(),
        "there is no column 'content' but n, body, a, b, text, metadata; name the column by \
         --text-column (one within others as a.b)"
    );
    assert!(line(&columns("a", "body", &[]), json).unwrap_err().contains("string or an integer"));
    assert!(line(&columns("n", "a", &[]), json).unwrap_err().contains("is not a text"));
}

#[test]
fn members_of_others_are_taken_by_the_names_of_columns() {
    let default = TextColumns::default();
    let text = TextColumns { text: vec!["text".into()], ..TextColumns::default() };
    let id = TextColumns { id: Some("id".into()), ..TextColumns::default() };
    for (member, why) in [
        (r#""tokens":532"#, "exactly one of"),
        (r#""tokens":["a"]"#, "exactly one of"),
        (r#""fields":{"a":1}"#, "exactly one of"),
        (r#""metadata":"{\"a\": 1}""#, "'metadata' is not an object"),
        (r#""expires_at":"2024-01-01""#, "'expires_at' is not a time"),
    ] {
        let json = format!(r#"{{"id":"a","text":"x",{member}}}"#);
        let refused = line(&default, &json).unwrap_err();
        assert!(refused.contains(why) && refused.contains("--text-column text"), "{refused}");
        let made = format!(r#"{{"id":"a","text":"x","metadata":{{{member}}}}}"#);
        for columns in [&text, &id] {
            assert_eq!(line(columns, &json), Ok(Some(made.clone())));
            let members = members(json.as_bytes()).unwrap();
            let content = columns.content(&members, true);
            assert!(matches!(content, Ok(Content::Text(text)) if text == "x"), "{member}");
        }
    }
    let own = r#"{"id":"a","text":"x","metadata":{"b":1},"expires_at":"2024-01-01T00:00:00Z"}"#;
    assert_eq!(line(&default, own), Ok(None));
    let made = r#"{"id":"a","text":"x","metadata":{"b":1,"expires_at":"2024-01-01T00:00:00Z"}}"#;
    assert_eq!(line(&text, own), Ok(Some(made.into())));
}

#[test]
fn columns_within_others_are_named_with_dots() {
    let json = r#"{"doc":{"text":"t","n":[1],"in":{"id":7,"x":0}},"a.b":{"c":2}}"#;
    let all = TextColumns { metadata: None, ..columns("doc.in.id", "doc.text", &[]) };
    let made = r#"{"id":"7","text":"t","metadata":{"doc":{"n":[1],"in":{"x":0}},"a.b":{"c":2}}}"#;
    assert_eq!(line(&all, json), Ok(Some(made.into())));
    let some = columns("doc.in.id", "doc.text", &["a.b.c", "doc.n"]);
    let made = r#"{"id":"7","text":"t","metadata":{"a.b.c":2,"doc.n":[1]}}"#;
    assert_eq!(line(&some, json), Ok(Some(made.into())));
    assert!(line(&columns("doc.id", "doc.text", &[]), json).is_err());
    assert!(all.wants("doc") && some.wants("doc") && !some.wants("do"));
}

#[test]
fn a_null_text_is_an_empty_text() {
    let made = r#"{"id":"a","text":"","metadata":{"b":1}}"#.to_owned();
    assert_eq!(line(&TextColumns::default(), r#"{"id":"a","text":null,"b":1}"#), Ok(Some(made)));
    let tokens = r#"{"id":"a","text":null,"tokens":[]}"#;
    assert_eq!(line(&TextColumns::default(), tokens), Ok(None));
    let made = r#"{"id":"7","tokens":[]}"#.to_owned();
    let tokens = r#"{"id":7,"text":null,"tokens":[]}"#;
    assert_eq!(line(&TextColumns::default(), tokens), Ok(Some(made)));
    let made = r#"{"id":"f:1","text":""}"#.to_owned();
    assert_eq!(line(&TextColumns::default(), r#"{"text":null}"#), Ok(Some(made)));
}

#[test]
fn the_texts_of_several_columns_are_joined() {
    let both =
        TextColumns { text: vec!["title".into(), "in.body".into()], ..columns("n", "", &[]) };
    let made = |json| line(&both, json).map(|line| line.unwrap());
    let expected = r#"{"id":"7","text":"A\n\nB"}"#.to_owned();
    assert_eq!(made(r#"{"n":7,"title":"A","in":{"body":"B"}}"#), Ok(expected));
    for json in [r#"{"n":7,"title":"A"}"#, r#"{"n":7,"title":"A","in":{"body":null}}"#] {
        assert_eq!(made(json), Ok(r#"{"id":"7","text":"A"}"#.to_owned()), "{json}");
    }
    assert_eq!(made(r#"{"n":7,"title":null}"#), Ok(r#"{"id":"7","text":""}"#.to_owned()));
    assert!(made(r#"{"n":7,"body":"B"}"#).unwrap_err().contains("no column 'title'"));
    assert_eq!(made(r#"{"n":7,"title":"A","in":{"body":5}}"#).unwrap_err(), NO_TEXT);
    let all = TextColumns { metadata: None, ..both };
    let further = line(&all, r#"{"n":7,"title":"A","in":{"body":"B","x":1}}"#).unwrap();
    let expected = r#"{"id":"7","text":"A\n\nB","metadata":{"in":{"x":1}}}"#;
    assert_eq!(further.as_deref(), Some(expected));
}

const NO_TEXT: &str = "'in.body' is not a text";

#[test]
fn messages_are_a_text() {
    let text = |roles: &[&str], json: &str| {
        let roles = roles.iter().map(|role| (*role).to_owned()).collect();
        let chat = TextColumns { roles, ..columns("n", "chat", &[]) };
        let made = line(&chat, &format!("{{\"n\":1,\"chat\":{json}}}"))?.unwrap();
        let made: serde_json::Value = serde_json::from_str(&made).unwrap();
        Ok::<_, String>(made["text"].as_str().unwrap().to_owned())
    };
    let chat = r#"[{"role":"system","content":"S"}, {"role":"user","content":"U\u00e9"},
        {"role":"assistant","content":null,"tool_calls":[{}]},
        {"role":"assistant","content":[{"type":"text","text":"A"},{"type":"image_url"}]}]"#;
    assert_eq!(text(&[], chat).unwrap(), "S\n\nUé\n\nA");
    assert_eq!(text(&["user", "assistant"], chat).unwrap(), "Ué\n\nA");
    let others = r#"[{"from":"human","value":"H"},{"from":"gpt","value":"G"}]"#;
    assert_eq!(text(&["gpt"], others).unwrap(), "G");
    assert_eq!(text(&[], r#"["a","b"]"#).unwrap(), "a\n\nb");
    assert_eq!(text(&[], "[]").unwrap(), "");
    let many = r#"[{"role":"user","content":"C","text":null},{"from":"a","content":null,"text":"T"},
        {"role":"assistant","tool_calls":[{}]},{"content":["P",{"text":null},{"content":"no"}]}]"#;
    assert_eq!(text(&[], many).unwrap(), "C\n\nT\n\nP");
    for wrong in [
        "[1]",
        "{}",
        "5",
        "[null]",
        r#"[["a"]]"#,
        r#"[{"content":7}]"#,
        r#"[{"content":{"text":"a"}}]"#,
        r#"[{"content":[["a"]]}]"#,
        r#"[{"content":[{"text":["a"]}]}]"#,
    ] {
        assert_eq!(text(&[], wrong).unwrap_err(), "'chat' is not a text", "{wrong}");
    }
    let other = r#"[{"content":"a"},{"start":1,"end":2}]"#;
    let reason = "'chat' is not a text: an object there has no content, value or text, but start, \
                  end";
    assert_eq!(text(&[], other).unwrap_err(), reason);
}

#[test]
fn a_record_without_members_has_no_column() {
    let reason = no_column("text", "--text-column", std::iter::empty());
    assert!(reason.starts_with("there is no column 'text', and no other; name"), "{reason}");
}
