//! The separator of a table, from its first record.

use csv::StringRecord;

use super::columns::TextColumns;

/// The most usual first.
const SEPARATORS: [u8; 4] = *b",\t;|";

/// The separator of a table, if its first record has the column of the texts.
pub fn of_table(begins: &str, columns: &TextColumns) -> Option<u8> {
    let mut separators = SEPARATORS;
    separators.sort_by_cached_key(|separator| !has_whole_quotes(begins, *separator));
    separators.into_iter().find(|separator| {
        let cells = first_record(begins, *separator);
        let has = |name: &str| cells.iter().any(|cell| cell == name);
        cells.len() > 1 && columns.text_names().all(has) && columns.id.as_deref().is_none_or(has)
    })
}

/// The separator by which the first record has most cells.
pub fn most_frequent(begins: &str) -> u8 {
    let rank = |separator: &u8| {
        (has_whole_quotes(begins, *separator), first_record(begins, *separator).len())
    };
    // Of equal ranks the last is the maximum.
    SEPARATORS.into_iter().rev().max_by_key(rank).unwrap_or(b',')
}

/// The first record of a table. A cell in quotes may have separators.
fn first_record(begins: &str, separator: u8) -> StringRecord {
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.has_headers(false).delimiter(separator).from_reader(begins.as_bytes());
    reader.into_records().next().and_then(Result::ok).unwrap_or_default()
}

/// Whether each cell of the first record that has quotes is in quotes as a whole. By a wrong
/// separator, such as a comma within a cell in quotes, the parts of this cell have a quote beside
/// text.
fn has_whole_quotes(begins: &str, separator: u8) -> bool {
    let (mut is_quoted, mut last) = (false, separator);
    for byte in begins.trim_start_matches('\u{feff}').trim_start().bytes() {
        match byte {
            b'"' if is_quoted => is_quoted = false,
            // A cell begins, or goes on after a quote that is written twice.
            b'"' if last == separator || last == b'"' => is_quoted = true,
            b'"' => return false,
            _ if is_quoted => {}
            b'\r' | b'\n' => break,
            byte if last == b'"' && byte != separator => return false,
            _ => {}
        }
        last = byte;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_separator_within_quotes_does_not_count() {
        for (header, separator) in [
            ("id;\"title, short, long\";text\n1;2;3", b';'),
            ("id;\"a,text,b\";text", b';'),
            ("\"a,text,b\";\"text\"\n1;2\n", b';'),
            ("text;b", b';'),
            ("id,\"title; short; long\",text", b','),
            ("\"a;b;c\"\ttext", b'\t'),
            ("\"a, \"\"b, c\"\"\";text", b';'),
            ("\"two\nlines, of, it\";text", b';'),
            ("text,5\" disk,7\" disk", b','),
            ("text; \"b, c\"; d", b';'),
            ("\u{feff}\"text\",b", b','),
        ] {
            assert_eq!(most_frequent(header), separator, "{header}");
            let columns = TextColumns::default();
            let of_table = of_table(header, &columns);
            assert!(of_table.is_none_or(|found| found == separator), "{header}");
        }
    }
}
