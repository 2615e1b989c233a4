//! Names of columns in an option.

use std::str::FromStr;

/// Names with commas between. A name in double quotes may have commas, as in CSV.
#[derive(Clone, Debug)]
pub struct ColumnNames(Vec<String>);

impl ColumnNames {
    /// The names of an option that may be given several times.
    pub fn all(given: &[Self]) -> Vec<String> {
        given.iter().flat_map(|names| names.0.iter().cloned()).collect()
    }
}

impl FromStr for ColumnNames {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (mut names, mut rest) = (Vec::new(), text);
        loop {
            let (name, after) = match rest.strip_prefix('"') {
                Some(quoted) => up_to_quotes(quoted)?,
                None => {
                    let (name, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
                    (name.to_owned(), after)
                }
            };
            names.push(name);
            match after.strip_prefix(',') {
                Some(further) => rest = further,
                None if after.is_empty() => return Ok(Self(names)),
                None => return Err("there is no comma after a name in double quotes"),
            }
        }
    }
}

/// The name up to the closing quotes, and what follows them. Two quotes in a row are one of the
/// name.
fn up_to_quotes(text: &str) -> Result<(String, &str), &'static str> {
    let (mut name, mut rest) = (String::new(), text);
    loop {
        let (part, after) = rest.split_once('"').ok_or("the double quotes are not closed")?;
        name.push_str(part);
        let Some(further) = after.strip_prefix('"') else { return Ok((name, after)) };
        name.push('"');
        rest = further;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_quotes_have_commas() {
        let names = |text: &str| text.parse().map(|names: ColumnNames| names.0.join("|"));
        for (text, expected) in [
            ("title,body", "title|body"),
            ("\"a,b\"", "a,b"),
            ("x,\"a,b\",\"say \"\"hi\"\"\",y\"z", "x|a,b|say \"hi\"|y\"z"),
            ("", ""),
        ] {
            assert_eq!(names(text).unwrap(), expected);
        }
        assert!(names("\"a").unwrap_err().contains("not closed"));
        assert!(names("\"a\"b").unwrap_err().contains("no comma"));
    }
}
