use super::*;

#[test]
fn a_value_ends_in_the_same_place_however_it_is_divided() {
    for (value, tokens, rest) in [
        (r#"{"a": [1, "]}\"", {}]}"#, r#"{"a":[1,"]}\"",{}]}"#, ", 2"),
        ("[ ]", "[]", "]"),
        (r#""\\""#, r#""\\""#, r#""x""#),
        ("-1.5", "-1.5", "}"),
        ("null", "null", " "),
    ] {
        for divided_at in 0..=value.len() {
            let (mut end, mut found) = (ValueEnd::default(), Vec::new());
            let (before, after) = value.split_at(divided_at);
            let first = end.take(before.as_bytes(), |byte| found.push(byte));
            let is_whole = first.1;
            assert!(first.0 == divided_at && (!is_whole || after.is_empty()), "{value}");
            if !is_whole {
                let after = [after, rest].concat();
                let second = end.take(after.as_bytes(), |byte| found.push(byte));
                assert_eq!(second, (value.len() - divided_at, true), "{value}");
            }
            assert_eq!(String::from_utf8(found).unwrap(), tokens);
        }
    }
}
