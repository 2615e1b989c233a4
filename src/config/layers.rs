use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::PathBuf;

use rapidfuzz::distance::levenshtein;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{ConfigError, DEFAULT_TOML, Settings};

const ENVIRONMENT_PREFIX: &str = "AKIN__";

/// An unknown key further than this from every known key is not taken for a misspelling.
const SUGGESTION_EDITS_MAX: usize = 3;

/// The layers above the defaults.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    pub file: Option<PathBuf>,
    /// `AKIN__SECTION__KEY` sets `section.key`; other variables and empty variables are ignored.
    pub environment: HashMap<String, String>,
    pub flags: Vec<Flag>,
}

/// A setting given on the command line.
#[derive(Clone, Debug)]
pub struct Flag {
    pub name: &'static str,
    pub key: &'static str,
    pub value: String,
}

/// An invalid entry of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Dotted, as `server.listen`.
    pub key: String,
    pub problem: String,
    /// `None` for a default.
    pub origin: Option<SettingOrigin>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    File(PathBuf),
    /// The variable's name.
    Environment(String),
    /// The flag's name.
    Flag(&'static str),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.problem)?;
        match &self.origin {
            Some(origin) => write!(f, " ({origin})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "in {}", path.display()),
            Self::Environment(variable) => write!(f, "in the environment as {variable}"),
            Self::Flag(name) => write!(f, "given as {name}"),
        }
    }
}

/// A key with its value in a layer.
struct LayerEntry {
    key: String,
    value: Value,
    origin: SettingOrigin,
}

/// All layers, merged.
struct Merged {
    values: Value,
    /// Where the keys that are not defaults come from.
    origins: BTreeMap<String, SettingOrigin>,
    /// Unknown keys and values of another type.
    faults: Vec<Fault>,
}

impl Sources {
    /// The process's environment, with the given file and flags.
    #[must_use]
    pub fn new(file: Option<PathBuf>, flags: Vec<Flag>) -> Self {
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Self { file, environment, flags }
    }

    /// # Errors
    /// The file cannot be read or is not TOML; otherwise every fault of every layer at once.
    pub fn load(&self) -> Result<Settings, ConfigError> {
        let Merged { values, origins, mut faults } = self.merge()?;
        let settings: Settings =
            serde_json::from_value(values).expect("each key's value was checked by itself");
        faults.extend(settings.faults().into_iter().map(|(section, fault)| {
            let (key, problem) = fault.split_once(' ').unwrap_or((&fault, ""));
            let key = format!("{section}.{key}");
            Fault { problem: problem.into(), origin: origins.get(&key).cloned(), key }
        }));
        if faults.is_empty() { Ok(settings) } else { Err(ConfigError::Faults(faults)) }
    }

    /// The defaults, overridden by every valid entry of the layers.
    fn merge(&self) -> Result<Merged, ConfigError> {
        let schema = Schema::new();
        let values = toml::from_str(DEFAULT_TOML).expect("the compiled-in defaults are valid TOML");
        let mut merged = Merged { values, origins: BTreeMap::new(), faults: Vec::new() };
        for LayerEntry { key, value, origin } in self.entries()? {
            if schema.is_empty_section(&key, &value) {
                continue;
            }
            match schema.check(&key, value) {
                Ok(value) => {
                    set(&mut merged.values, &key, value);
                    merged.origins.insert(key, origin);
                }
                Err(problem) => merged.faults.push(Fault { key, problem, origin: Some(origin) }),
            }
        }
        Ok(merged)
    }

    /// The entries of all layers, the weakest layer first.
    fn entries(&self) -> Result<Vec<LayerEntry>, ConfigError> {
        let mut entries = self.file_entries()?;
        entries.extend(self.environment_entries());
        entries.extend(self.flags.iter().map(|flag| LayerEntry {
            key: flag.key.into(),
            value: Value::String(flag.value.clone()),
            origin: SettingOrigin::Flag(flag.name),
        }));
        Ok(entries)
    }

    fn file_entries(&self) -> Result<Vec<LayerEntry>, ConfigError> {
        let Some(path) = &self.file else { return Ok(vec![]) };
        let unreadable = |reason: String| ConfigError::File { path: path.clone(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
        let values = toml::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
        let mut leaves = Vec::new();
        flatten("", values, &mut leaves);
        let origin = SettingOrigin::File(path.clone());
        Ok(leaves
            .into_iter()
            .map(|(key, value)| LayerEntry { key, value, origin: origin.clone() })
            .collect())
    }

    fn environment_entries(&self) -> Vec<LayerEntry> {
        let entry = |(variable, value): (&String, &String)| {
            let key = variable.strip_prefix(ENVIRONMENT_PREFIX).filter(|_| !value.is_empty())?;
            Some(LayerEntry {
                key: key.to_lowercase().replace("__", "."),
                value: Value::String(value.clone()),
                origin: SettingOrigin::Environment(variable.clone()),
            })
        };
        let mut entries: Vec<LayerEntry> = self.environment.iter().filter_map(entry).collect();
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        entries
    }
}

/// The keys that exist, each with a value of its type: the keys that `config/default.toml`
/// documents.
struct Schema {
    valid: Value,
    keys: BTreeMap<String, Value>,
}

impl Schema {
    fn new() -> Self {
        let valid: Value = toml::from_str(&with_optional_keys(DEFAULT_TOML))
            .expect("the compiled-in defaults are valid TOML with their optional keys, too");
        let mut leaves = Vec::new();
        flatten("", valid.clone(), &mut leaves);
        Self { valid, keys: leaves.into_iter().collect() }
    }

    /// The value in the key's type, or the fault.
    fn check(&self, key: &str, value: Value) -> Result<Value, String> {
        let Some(example) = self.keys.get(key) else { return Err(self.unknown(key)) };
        let value = typed(value, example);
        let mut candidate = self.valid.clone();
        set(&mut candidate, key, value.clone());
        match Settings::deserialize(candidate) {
            Ok(_) => Ok(value),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Whether it is a section of which nothing is set.
    fn is_empty_section(&self, key: &str, value: &Value) -> bool {
        value.as_object().is_some_and(Map::is_empty) && self.is_section(key)
    }

    fn is_section(&self, key: &str) -> bool {
        let within = format!("{key}.");
        self.keys.keys().any(|known| known.starts_with(&within))
    }

    fn unknown(&self, key: &str) -> String {
        if self.is_section(key) {
            return "is a section, it takes no value itself".into();
        }
        let edits = |known: &str| levenshtein::distance(key.chars(), known.chars());
        let nearest = self.keys.keys().map(|known| (edits(known), known)).min();
        match nearest {
            Some((edits, known)) if edits <= SUGGESTION_EDITS_MAX => {
                format!("unknown key, did you mean {known}?")
            }
            _ => match self.keys.keys().find(|known| known.ends_with(&format!(".{key}"))) {
                Some(known) => format!("unknown key, did you mean {known}?"),
                None => "unknown key".into(),
            },
        }
    }
}

/// The defaults with the keys that have none, which stand in comments as `# key = example`.
fn with_optional_keys(toml: &str) -> String {
    let uncommented = |line| optional_key(line).unwrap_or(line);
    toml.lines().map(uncommented).flat_map(|line| [line, "\n"]).collect()
}

fn optional_key(line: &str) -> Option<&str> {
    let entry = line.strip_prefix("# ")?;
    let (name, _) = entry.split_once(" = ")?;
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.chars().all(is_name).then_some(entry)
}

/// Environment and flags only have text: every value that is not a string is read as JSON.
fn typed(value: Value, example: &Value) -> Value {
    match value {
        Value::String(text) if !example.is_string() => {
            serde_json::from_str(text.trim()).unwrap_or(Value::String(text))
        }
        value => value,
    }
}

/// The leaves of nested tables, under dotted keys. An empty table is a leaf.
fn flatten(prefix: &str, value: Value, leaves: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(table) if prefix.is_empty() || !table.is_empty() => {
            for (name, value) in table {
                let key = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
                flatten(&key, value, leaves);
            }
        }
        value => leaves.push((prefix.to_owned(), value)),
    }
}

fn set(values: &mut Value, key: &str, value: Value) {
    let mut place = values;
    for name in key.split('.') {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = place
            .as_object_mut()
            .expect("made one above")
            .entry(name.to_owned())
            .or_insert(Value::Null);
    }
    *place = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(sources: &Sources) -> Value {
        let Merged { values, faults, .. } = sources.merge().unwrap();
        assert_eq!(faults, []);
        values
    }

    #[test]
    fn file_and_environment_set_every_key() {
        let Schema { valid, keys } = Schema::new();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), with_optional_keys(DEFAULT_TOML)).unwrap();
        let path = Some(file.path().to_owned());
        assert_eq!(merged(&Sources { file: path, ..Sources::default() }), valid);
        for optional in ["scheme.bands", "scheme.exact_from", "scheme.points", "store.ttl_s"] {
            assert!(keys.contains_key(&format!("collection.{optional}")), "{optional}");
        }
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let variable =
            |key: &str| format!("{ENVIRONMENT_PREFIX}{}", key.to_uppercase().replace('.', "__"));
        let environment = keys.iter().map(|(key, value)| (variable(key), text(value))).collect();
        assert_eq!(merged(&Sources { environment, ..Sources::default() }), valid);
    }

    #[test]
    fn every_key_is_documented() {
        let schema = Schema::new();
        let pointers = ["", "/server", "/collection", "/collection/shingles", "/collection/sketch"];
        let more = ["/collection/scheme", "/collection/store", "/collection/limits"];
        for pointer in pointers.iter().chain(&more).chain(&["/log", "/traces"]) {
            let mut values = schema.valid.clone();
            let section = values.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
            section.insert("unheard_of".to_owned(), Value::Null);
            let documented: Vec<String> = section.keys().cloned().collect();
            let error = serde_json::from_value::<Settings>(values).unwrap_err().to_string();
            // unknown field `unheard_of`, expected one of `a`, `b`
            let (_, fields) = error.split_once(", expected ").expect(&error);
            for name in fields.split('`').skip(1).step_by(2) {
                assert!(documented.iter().any(|known| known == name), "{pointer}/{name}");
            }
        }
    }
}
