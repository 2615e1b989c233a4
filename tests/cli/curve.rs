//! `akin curve`, which needs no server.

use serde_json::Value;

use crate::akin;

#[test]
fn a_curve_is_a_table_with_the_chosen_scheme() {
    let ended = akin(&["curve", "--threshold", "0.8", "--recall", "0.99"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let first = "scheme     32 bands of consecutive slots, 4 each, of 128 slots\n\
                 lookup     at 0.8 under 9 of them\n";
    assert!(ended.stdout.starts_with(first), "{}", ended.stdout);
    let lines: Vec<_> = ended.stdout.lines().skip_while(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 2 + 21, "{}", ended.stdout);
    assert_eq!(lines.last().unwrap().trim(), "1.00   1.000000  1.000000");
    let plotted = akin(&["curve", "--plot"]);
    assert!(plotted.stdout.starts_with(first) && drawn(&plotted.stdout));
}

#[test]
fn a_curve_can_be_written_as_json() {
    let options = ["--kind", "random_rows", "--slots", "256", "--bands", "50", "--rows", "3"];
    let ended = akin(&[&["curve", "--json"], &options[..]].concat());
    let curve: Value = serde_json::from_str(&ended.stdout).unwrap();
    let chosen = [&curve["bands"], &curve["rows"], &curve["slots"], &curve["keys_probed"]];
    assert_eq!(chosen, [50, 3, 256, 50]);
    assert_eq!(curve["kind"], "random_rows");
    assert_eq!(curve["points"].as_array().unwrap().len(), 101);
}

#[test]
fn a_rule_of_agreeing_slots_has_a_curve() {
    let ended = akin(&["curve", "--agree", "90", "--of", "100"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let found = |similarity: &str| -> f64 {
        let lines = ended.stdout.lines();
        let mut at = lines.filter_map(|line| line.trim().strip_prefix(similarity));
        at.next().unwrap().trim().parse().unwrap()
    };
    assert!(found("0.80") < 0.006 && found("0.95") > 0.988, "{}", ended.stdout);
    let json = akin(&["curve", "--agree", "90", "--of", "100", "--json"]);
    let curve: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&curve["agreeing"], &curve["slots"]), (&90.into(), &100.into()));
}

#[test]
fn an_impossible_curve_is_refused() {
    let ended = akin(&["curve", "--bands", "100", "--rows", "5"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("100 × 5 is more than 128 slots"), "{}", ended.stderr);
    let ended = akin(&["curve", "--slots", "17"]);
    assert!(ended.stderr.contains("the sketch is impossible: slots"), "{}", ended.stderr);
    let ended = akin(&["curve", "--agree", "9", "--of", "8"]);
    assert!(ended.stderr.contains("9 of 8 slots cannot agree"), "{}", ended.stderr);
    for wrong in [&["curve", "--bands", "3"][..], &["curve", "--agree", "3"]] {
        assert_eq!(akin(wrong).code, Some(2));
    }
}

/// Whether there is a dot of the Braille patterns in it.
fn drawn(text: &str) -> bool {
    text.contains(|c| ('\u{2801}'..='\u{28ff}').contains(&c))
}
