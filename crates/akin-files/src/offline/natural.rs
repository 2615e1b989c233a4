//! The natural order of ids: numbers in them count as numbers, so that `page 9` comes before
//! `page 10`.

use std::cmp::Ordering;

/// Ends a key, and is in no id.
const END: u8 = 0;
/// Precedes the digits of a number, so that numbers sort where digits would sort.
const NUMBER: u8 = b'0';

/// Appends a key of an id: keys in byte order are in the natural order of ids, and no key begins
/// with another key. A run of digits becomes its length followed by its digits. Ids that differ in
/// leading zeros only are in byte order, after the id without leading zeros.
pub(super) fn push_key(key: &mut Vec<u8>, id: &str) {
    let mut has_zeros = false;
    let mut rest = id.as_bytes();
    while let Some(first) = rest.first() {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            key.push(*first);
            rest = &rest[1..];
            continue;
        }
        let (run, after) = rest.split_at(digits);
        let zeros = run[..digits - 1].iter().take_while(|byte| **byte == b'0').count();
        has_zeros |= zeros > 0;
        key.push(NUMBER);
        // Ids have at most 1,024 bytes.
        key.extend_from_slice(&((digits - zeros) as u16).to_be_bytes());
        key.extend_from_slice(&run[zeros..]);
        rest = after;
    }
    key.push(END);
    if has_zeros {
        key.extend_from_slice(id.as_bytes());
    }
    key.push(END);
}

/// The natural order of two ids.
#[must_use]
pub fn natural_order(a: &str, b: &str) -> Ordering {
    let [a, b] = [a, b].map(|id| {
        let mut key = Vec::with_capacity(2 * id.len());
        push_key(&mut key, id);
        key
    });
    a.cmp(&b)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(id: &str) -> Vec<u8> {
        let mut key = Vec::new();
        push_key(&mut key, id);
        key
    }

    #[test]
    fn numbers_in_ids_count_as_numbers() {
        let ordered = [
            "-1",
            "/x",
            "0",
            "1",
            "001",
            "01",
            "1a",
            "2",
            "9",
            "10",
            "10.2",
            "10.10",
            "a",
            "a1",
            "a1b",
            "a2",
            "a02",
            "a10",
            "a10b9",
            "a10b10",
            "ab",
            "d.jsonl:2",
            "d.jsonl:10",
            "d.jsonl:18446744073709551616",
            "é",
        ];
        assert!(ordered.windows(2).all(|pair| key(pair[0]) < key(pair[1])), "{ordered:?}");
    }

    proptest! {
        #[test]
        fn no_key_begins_with_another(a in "[0-2a]{1,6}", b in "[0-2a]{1,6}") {
            prop_assert_eq!(key(&a) == key(&b), a == b);
            prop_assert!(a == b || !key(&a).starts_with(&key(&b)));
        }
    }
}
