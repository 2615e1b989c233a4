//! The meaning of filters, and the texts that are refused.

use super::*;

const BYTES_MAX: usize = 2_048;

const METADATA: &str = r#"{"lang": "en", "year": 2021, "score": 0.5, "zero": 0, "draft": false,
    "gone": null, "id": 9007199254740993, "tags": ["news", "sea"], "none": [], "two words": 1,
    "escaped": "'\"/\\😀\n",
    "author": {"name": "Ada", "born": 1815.0}, "é": "漢", "same": {"born": 1815, "name": "Ada"},
    "comments": [{"by": "Bob", "stars": 5}, {"by": "Eve", "stars": 1}]}"#;

/// Expressions that hold for the metadata above.
const HOLD: [&str; 49] = [
    r#"@.lang == "en""#,
    "@.lang == 'en'",
    r#"  @.lang=="en"  "#,
    "@['lang'] == 'en'",
    r#"@["two words"] == 1"#,
    "@.é == '漢'",
    r"@.é == '\u6f22'",
    r#"@.escaped == "'\"/\\\ud83d\ude00\n" && @.escaped == '\'"\/\\\uD83D\uDE00\n'"#,
    "\t@ [ 'author' ] .name\r\n==\n'Ada' ",
    "@.*",
    "@.lang != 'de'",
    "@.year == 2021",
    "@.year == 2021.0",
    "@.year == 2.021e3",
    "2020 < @.year",
    "@.year >= 2021 && @.year <= 2021",
    "@.score > -0.5",
    "@.zero == -0",
    "@.zero != 1e-300",
    "@.id > 9007199254740991",
    "@.id != 9007199254740991",
    "@.id < 12345678901234567890",
    "@.draft == false",
    "@.gone == null",
    "@.lang > 'eN' && @.lang < 'eo'",
    "@.author.name == 'Ada'",
    "@.author == @.same",
    "@.tags[0] == 'news'",
    "@.tags[-1] == 'sea'",
    "@.comments[1].by == 'Eve'",
    // A test is whether there is a value, not which.
    "@",
    "@.draft",
    "@.gone",
    "@.none",
    "!@.missing",
    "!@.tags[2]",
    "!@.tags[-3]",
    "!@.none[*]",
    "@.tags[*]",
    "@.tags[?@ == 'sea']",
    "!@.tags[?@ == 'land']",
    "@[?@ == 'en']",
    "@.comments[?@.stars > 4 && @.by == 'Bob']",
    "@.comments[?@.stars > 4].by",
    // A path without a value equals only another path without a value.
    "@.missing != 'en'",
    "@.missing == @.absent && @.missing <= @.absent",
    // `&&` binds closer than `||`.
    "@.lang == 'en' || @.lang == 'de' && @.year == 1",
    "!(@.lang == 'de' || @.year == 1)",
    "((@.lang == 'en'))",
];

/// Expressions that do not.
const DO_NOT: [&str; 16] = [
    "@.lang == 'EN'",
    "@.lang == 2021",
    "@.year == '2021'",
    "@.year > '2000'",
    "@.missing == 'en'",
    "@.missing < 1",
    "@.missing >= 0",
    "@.missing == null",
    "@.gone == @.missing",
    "@.draft < true",
    "@.zero == 1e-300",
    "@.id == 9007199254740991",
    "(@.lang == 'en' || @.lang == 'de') && @.year == 1",
    "@.comments[?@.stars > 4 && @.by == 'Eve']",
    "@.lang.name",
    "@.lang[0]",
];

/// Texts that are no filters, and their errors.
const REFUSED: [(&str, &str); 54] = [
    ("", "at character 1: unexpected end"),
    ("lang == 1", "at character 1: unexpected 'lang == 1'"),
    ("@.lang = 'en'", "at character 8: unexpected '= 'en''"),
    ("@.lang == en", "at character 11: unexpected 'en'"),
    ("@.lang == 'en", "at character 11"),
    ("@.é == 'en", "at character 8"),
    ("@.a == 1 &&", "at character 12: unexpected end"),
    ("@.a == 1 and @.b == 1", "at character 10: unexpected 'and @.b == 1'"),
    ("@.a == [1]", "at character 8"),
    ("@.a == {}", "at character 8"),
    ("(@.a", "at character 5: unexpected end"),
    ("@.a)", "at character 4"),
    ("@.a\u{0}", "at character 4"),
    ("!!@.a", "at character 2"),
    ("true", "at character 5: unexpected end"),
    ("@.a == 1 @.b", "at character 10"),
    ("@.a == 01", "at character 8"),
    ("@.a == 1.", "at character 8"),
    ("@.a == +1", "at character 8"),
    ("@.a[01]", "at character 5"),
    ("@.a[-0]", "at character 5"),
    ("@. a", "at character 3: unexpected ' a'"),
    ("@.1", "at character 3"),
    (r"@.a == '\x'", "at character 8"),
    (r#"@.a == '\"'"#, "at character 8"),
    (r#"@.a == "\'""#, "at character 8"),
    (r"@.a == '\ud83d'", "at character 8"),
    ("@.a == 'a\nb'", "at character 8"),
    ("(@.a) == 1", "at character 7"),
    ("!@.a == 1", "at character 6"),
    ("@.a == 1e999", "a number beyond a double's"),
    // Out of the brackets.
    ("@.a]", "at character 4: unexpected ']'"),
    ("@.a][?@.b", "at character 4"),
    ("@.a].b", "at character 4"),
    ("@.a, ?@.b", "at character 4"),
    ("@.a], [?@.b", "at character 4"),
    ("@.a][?@.b == ']", "at character 4"),
    ("@.a || @.b][0", "at character 11"),
    // Parts of the standard that filters do not have.
    ("$.a == 1", "filters do not support $"),
    ("@.a == $.b", "filters do not support $"),
    ("$", "filters do not support $"),
    ("@..a", "filters do not support .."),
    ("@.a[0, 1]", "a list of selectors"),
    ("@.a[0:9]", "a slice"),
    ("@.a[?@.b[*]]", "* in the filter"),
    ("@.a[?@.b[?@ == 1]]", "a filter in the filter"),
    ("length(@.a) > 1", "a function"),
    ("count(@.a[*]) > 1", "a function"),
    ("match(@.a, 'b.*')", "a function"),
    ("in(@.a, @.b)", "a function"),
    ("custom(@.a)", "a function"),
    ("@.a == length(@.b)", "a function"),
    ("@.a[*] == 1", "at character 8"),
    ("@.a == @.b[*]", "at character 12"),
];

fn filter(expression: &str) -> Filter {
    let read = Filter::parse(expression, BYTES_MAX);
    read.unwrap_or_else(|error| panic!("{expression}: {error}"))
}

fn matches(expression: &str, metadata: &str) -> bool {
    filter(expression).matches(Some(&Metadata::from_json(metadata).unwrap()))
}

#[test]
fn filters_select_by_metadata_as_the_rfc_says() {
    for expression in HOLD {
        assert!(matches(expression, METADATA), "{expression}");
        let negated = format!("!({expression})");
        assert!(!matches(&negated, METADATA), "{negated}");
    }
    for expression in DO_NOT {
        assert!(!matches(expression, METADATA), "{expression}");
    }
}

#[test]
fn errors_name_the_character() {
    let otherwise = |&(expression, said): &(&str, &str)| {
        let read = Filter::parse(expression, BYTES_MAX).map_err(|error| error.to_string());
        let as_said = read.as_ref().is_err_and(|error| error.contains(said));
        (!as_said).then(|| format!("{expression}: {read:?}"))
    };
    let otherwise: Vec<String> = REFUSED.iter().filter_map(otherwise).collect();
    assert!(otherwise.is_empty(), "{otherwise:#?}");
}

#[test]
fn filters_too_long_or_too_complex_are_refused() {
    let error = Filter::parse("@.a == 1", 7).unwrap_err();
    assert_eq!(error, FilterError::TooLong { found: 8, max: 7 });
    let nested = |times, open: &str, close: &str| {
        format!("{}@.a{}", open.repeat(times), close.repeat(times))
    };
    assert!(Filter::parse(&nested(64, "(", ")"), BYTES_MAX).is_ok());
    let hostile = [
        nested(1_000, "(", ")"),
        nested(1_000, "!(", ")"),
        nested(65, "(", ")"),
        format!("{}1 ", "length(".repeat(100)),
        format!("{}1 ", "@.a[?".repeat(400)),
        "(".repeat(2_000),
        "@[".repeat(1_000),
    ];
    for expression in hostile {
        let error = Filter::parse(&expression, BYTES_MAX).unwrap_err();
        assert!(error.to_string().len() < 300, "{error}");
    }
}

/// A worker of the runtime has a stack of 2 MiB.
#[test]
fn the_deepest_expression_fits_on_a_stack() {
    for times in [40, 60, 80, 100, 120] {
        let deep = format!("{}@.lang{}", "!(".repeat(times), ")".repeat(times));
        if let Ok(filter) = Filter::parse(&deep, BYTES_MAX) {
            assert!(filter.matches(Metadata::from_json(METADATA).ok().as_ref()), "{times}");
        }
    }
}

#[test]
fn the_longest_expressions_are_read() {
    let terms = BYTES_MAX / r#"@.site=="a"||"#.len() - 1;
    let long = format!(r#"{}@.lang == "en""#, r#"@.site=="a"||"#.repeat(terms));
    assert!(matches(&long, METADATA));
}

#[test]
fn missing_metadata_is_empty_and_damaged_metadata_never_matches() {
    assert!(filter("!@.lang").matches(None));
    assert!(filter("@").matches(None));
    assert!(!filter("@.lang == 'en'").matches(None));
    let deep = format!(r#"{{"a": {}1{}}}"#, "[".repeat(500), "]".repeat(500));
    for unreadable in [deep.as_str(), r#"{"a": 1e999}"#] {
        assert!(!matches("@.a", unreadable) && !matches("!@.a", unreadable));
    }
}

#[test]
fn a_filter_visits_values_once_for_each_term_that_goes_over_them() {
    for (expression, terms) in [
        ("@.lang == 'en' && @.year >= 2020 || !@.draft", 0),
        ("@.author == @.same", 1),
        ("@.tags[*]", 1),
        ("@.tags[*].names[*]", 2),
        ("@.tags[?@ == 'sea']", 2),
        ("@.comments[?@.stars > 4 && @.by == 'Bob'].by", 3),
        ("@.tags[?@ == 'sea'] || @.tags[?@ == 'land'] || @.lang == 'en'", 4),
    ] {
        assert_eq!(filter(expression).visits(1_000), 1_000 * (10 + terms), "{expression}");
    }
}
