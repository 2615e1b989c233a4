//! The tables of docs/ that follow from tables of the code, between `<!-- table: NAME -->` and
//! `<!-- /table -->`: written with `UPDATE=1`, else compared.

use std::fs;

use akin_core::Unit;
use akin_core::measure::MEASURES;
use clap::ValueEnum;

const END: &str = "<!-- /table -->";

fn units() -> String {
    let row = |unit: &Unit| {
        let value = unit.to_possible_value().unwrap();
        format!("| `{}` | {} |\n", value.get_name(), value.get_help().unwrap())
    };
    let rows: String = Unit::ALL.iter().map(row).collect();
    format!("| unit | a shingle is made of |\n|---|---|\n{rows}")
}

fn measures() -> String {
    let rows = MEASURES.iter().map(|measure| {
        let values = measure.values.iter().map(|of| format!("`{}`: {}", of.name, of.meaning));
        let values: Vec<String> = values.collect();
        format!("| `{}` | {} | {} |\n", measure.name, measure.meaning, values.join("; "))
    });
    format!("| measure | meaning | values |\n|---|---|---|\n{}", rows.collect::<String>())
}

#[test]
fn the_pages_have_the_tables_of_the_code() {
    for (name, page, table) in [
        ("units", "docs/collections-and-tuning.md", units()),
        ("measures", "docs/http-lookups.md", measures()),
    ] {
        let path = super::root().join(page);
        let text = fs::read_to_string(&path).unwrap();
        let begin = format!("<!-- table: {name} -->\n");
        let (before, rest) = text.split_once(&begin).unwrap();
        let (shown, after) = rest.split_once(END).unwrap();
        if shown != table && super::is_update() {
            fs::write(&path, format!("{before}{begin}{table}{END}{after}")).unwrap();
            continue;
        }
        assert_eq!(shown, table, "{page}");
    }
}
