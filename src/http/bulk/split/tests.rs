use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// The items of a body that is split into chunks of the given sizes, cyclically.
fn split(form: Form, bytes_max: usize, body: &[u8], sizes: &[usize]) -> Vec<InputLine<Bytes>> {
    let mut splitter = Splitter::new(form, bytes_max);
    let mut items = Vec::new();
    let (mut rest, mut sizes) = (body, sizes.iter().cycle());
    while !rest.is_empty() {
        let size = (*sizes.next().unwrap()).clamp(1, rest.len());
        let (chunk, after) = rest.split_at(size);
        splitter.push(Bytes::copy_from_slice(chunk));
        items.extend(std::iter::from_fn(|| splitter.next()));
        rest = after;
        if splitter.has_ended() {
            break;
        }
    }
    items.extend(splitter.finish());
    items
}

fn texts(items: &[InputLine<Bytes>]) -> Vec<(u64, String)> {
    let text = |item: &InputLine<Bytes>| match &item.content {
        Ok(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Err(error) => format!("! {}", error.detail),
    };
    items.iter().map(|item| (item.number, text(item))).collect()
}

fn all_sizes(form: Form, bytes_max: usize, body: &str) -> Vec<(u64, String)> {
    let whole = texts(&split(form, bytes_max, body.as_bytes(), &[usize::MAX]));
    for size in 1..=body.len() {
        let chunked = texts(&split(form, bytes_max, body.as_bytes(), &[size]));
        assert_eq!(chunked, whole, "{body:?} in chunks of {size}");
    }
    whole
}

fn pairs(expected: &[(u64, &str)]) -> Vec<(u64, String)> {
    expected.iter().map(|(number, text)| (*number, (*text).to_owned())).collect()
}

#[test]
fn lines_end_as_they_like_and_blank_ones_count() {
    let found = all_sizes(Form::Lines, 99, "{\"a\": 1}\r\n\n  \n{}\n[2]");
    assert_eq!(found, pairs(&[(1, "{\"a\": 1}"), (4, "{}"), (5, "[2]")]));
    assert_eq!(all_sizes(Form::Lines, 99, "a\n"), pairs(&[(1, "a")]));
    assert_eq!(all_sizes(Form::Lines, 99, " \n \r\n"), []);
}

#[test]
fn brackets_and_quotes_in_strings_are_text() {
    let found =
        all_sizes(Form::Array, 99, r#" [ {"a": "]}\"[\\"} , "x,]" ,[[],{}], -1.5e3,null]  "#);
    let expected = [(1, r#"{"a": "]}\"[\\"}"#), (2, r#""x,]""#), (3, "[[],{}]"), (4, "-1.5e3")];
    assert_eq!(found[..4], pairs(&expected));
    assert_eq!(found[4..], pairs(&[(5, "null")]));
    assert_eq!(all_sizes(Form::Array, 99, " [\n] \n"), []);
}

#[test]
fn a_broken_array_is_given_up_where_it_breaks() {
    let after = "! expected ',' or ']' after a document";
    let faults = [
        ("[{} {}]", &[(1, "{}"), (2, after)][..]),
        ("[{},]", &[(1, "{}"), (2, "! expected a document")]),
        ("[,{}]", &[(1, "! expected a document")]),
        ("[{}] x", &[(1, "{}"), (2, "! expected nothing after the array")]),
        ("[{}", &[(1, "{}"), (2, "! the array does not end")]),
        ("[{\"a\": 1", &[(1, "! the array does not end")]),
        ("[1", &[(1, "! the array does not end")]),
        ("[", &[(1, "! the array does not end")]),
    ];
    for (body, expected) in faults {
        assert_eq!(all_sizes(Form::Array, 99, body), pairs(expected), "{body:?}");
    }
}

#[test]
fn an_item_that_is_too_long_is_skipped_alone() {
    let too_long = "! the document is longer than 4 bytes";
    let lines = all_sizes(Form::Lines, 4, "1234\n12345\n1\n123456");
    assert_eq!(lines, pairs(&[(1, "1234"), (2, too_long), (3, "1"), (4, too_long)]));
    let array = all_sizes(Form::Array, 4, r#"["aa", "aaa", 1, [1,2], 12345]"#);
    let expected = [(1, r#""aa""#), (2, too_long), (3, "1"), (4, too_long), (5, too_long)];
    assert_eq!(array, pairs(&expected));
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        r#"[\[\]{},:"\\ a-cé\n]{0,8}"#.prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(r#"["\]a]{0,3}"#, inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn read(items: &[InputLine<Bytes>]) -> Option<Vec<Value>> {
    let value = |item: &InputLine<Bytes>| serde_json::from_slice(item.content.as_ref().ok()?).ok();
    items.iter().map(value).collect()
}

proptest! {
    #[test]
    fn an_array_splits_into_what_serde_reads(
        values in prop::collection::vec(json(), 0..8),
        pretty in any::<bool>(),
        sizes in prop::collection::vec(1usize..20, 1..5),
    ) {
        let write = if pretty { serde_json::to_string_pretty } else { serde_json::to_string };
        let body = write(&values).unwrap();
        let items = split(Form::Array, usize::MAX, body.as_bytes(), &sizes);
        prop_assert_eq!(read(&items), Some(values));
    }

    #[test]
    fn lines_split_into_what_serde_reads(
        values in prop::collection::vec(json(), 0..8),
        end in prop::sample::select(vec!["\n", "\r\n", "\n\n", " \n"]),
        sizes in prop::collection::vec(1usize..20, 1..5),
    ) {
        let lines: Vec<_> = values.iter().map(Value::to_string).collect();
        let items = split(Form::Lines, usize::MAX, lines.join(end).as_bytes(), &sizes);
        prop_assert_eq!(read(&items), Some(values));
    }

    /// Damaged arrays are never accepted, and chunk boundaries never change the result.
    #[test]
    fn a_damaged_array_is_an_error(
        values in prop::collection::vec(json(), 0..5),
        place in any::<prop::sample::Index>(),
        byte in prop::sample::select(b"[]{},:\"\\ 1a".to_vec()),
        remove in any::<bool>(),
        sizes in prop::collection::vec(1usize..9, 1..5),
    ) {
        let mut body = serde_json::to_vec(&values).unwrap();
        let at = place.index(body.len());
        if remove { body.remove(at); } else { body[at] = byte; }
        let items = split(Form::Array, usize::MAX, &body, &sizes);
        let whole = serde_json::from_slice::<Vec<Value>>(&body).ok();
        prop_assert_eq!(read(&items), whole);
    }
}
