use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::PathBuf;

use config::{Environment, File, FileFormat, Source};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{ConfigError, DEFAULT_TOML, Settings};

/// Where settings come from besides the defaults.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    pub file: Option<PathBuf>,
    /// `AKIN__SECTION__KEY` sets `section.key`; other variables and empty ones are passed over.
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

/// One thing wrong in a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// As in the file: `server.listen`.
    pub key: String,
    pub problem: String,
    /// `None` if it cannot be told.
    pub origin: Option<Origin>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
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

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "in {}", path.display()),
            Self::Environment(variable) => write!(f, "in the environment as {variable}"),
            Self::Flag(name) => write!(f, "given as {name}"),
        }
    }
}

/// A value that a layer gives a key.
struct Entry {
    key: String,
    value: Value,
    origin: Origin,
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
    /// The file cannot be read or is no TOML; or else every fault of every layer at once.
    pub fn load(&self) -> Result<Settings, ConfigError> {
        let schema = Schema::new();
        let mut faults = Vec::new();
        let mut origins = BTreeMap::new();
        let mut merged = default_values();
        for Entry { key, value, origin } in self.entries()? {
            match schema.check(&key, value) {
                Ok(value) => {
                    set(&mut merged, &key, value);
                    origins.insert(key, origin);
                }
                Err(problem) => faults.push(Fault { key, problem, origin: Some(origin) }),
            }
        }
        let settings: Settings =
            serde_json::from_value(merged).expect("each key's value was taken on its own");
        faults.extend(settings.faults().into_iter().map(|(section, fault)| {
            let (key, problem) = fault.split_once(' ').unwrap_or((&fault, ""));
            let key = format!("{section}.{key}");
            Fault { problem: problem.into(), origin: origins.get(&key).cloned(), key }
        }));
        if faults.is_empty() { Ok(settings) } else { Err(ConfigError::Faults(faults)) }
    }

    /// What the layers set, the weakest layer first.
    fn entries(&self) -> Result<Vec<Entry>, ConfigError> {
        let mut entries = self.file_entries()?;
        entries.extend(self.environment_entries());
        entries.extend(self.flags.iter().map(|flag| Entry {
            key: flag.key.into(),
            value: Value::String(flag.value.clone()),
            origin: Origin::Flag(flag.name),
        }));
        Ok(entries)
    }

    fn file_entries(&self) -> Result<Vec<Entry>, ConfigError> {
        let Some(path) = &self.file else { return Ok(vec![]) };
        let unreadable = |reason: String| ConfigError::File { path: path.clone(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
        let values = parse(&text).map_err(|error| unreadable(error.to_string()))?;
        let mut leaves = Vec::new();
        flatten("", values, &mut leaves);
        let origin = Origin::File(path.clone());
        Ok(leaves
            .into_iter()
            .map(|(key, value)| Entry { key, value, origin: origin.clone() })
            .collect())
    }

    fn environment_entries(&self) -> Vec<Entry> {
        let variables = Environment::with_prefix("AKIN")
            .prefix_separator("__")
            .separator("__")
            .ignore_empty(true)
            .source(Some(self.environment.clone()))
            .collect()
            .expect("taking variables from a map as they are cannot fail");
        let mut entries: Vec<Entry> = variables
            .into_iter()
            .map(|(key, value)| Entry {
                origin: Origin::Environment(format!(
                    "AKIN__{}",
                    key.to_uppercase().replace('.', "__")
                )),
                value: Value::String(value.into_string().unwrap_or_default()),
                key,
            })
            .collect();
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        entries
    }
}

/// The keys that there are, each with a value of its type.
struct Schema {
    valid: Value,
    keys: BTreeMap<String, Value>,
}

impl Schema {
    fn new() -> Self {
        let valid = serde_json::to_value(Settings::with_every_key())
            .expect("settings are strings, numbers and truths");
        let mut leaves = Vec::new();
        flatten("", valid.clone(), &mut leaves);
        Self { valid, keys: leaves.into_iter().collect() }
    }

    /// The value in the key's type, or what is wrong with it.
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

    fn unknown(&self, key: &str) -> String {
        let within = format!("{key}.");
        if self.keys.keys().any(|known| known.starts_with(&within)) {
            return "is a section, it takes no value itself".into();
        }
        let near = self.keys.keys().map(|known| (distance(key, known), known)).min();
        match near {
            Some((edits, known)) if edits <= 3 => format!("unknown key, did you mean {known}?"),
            _ => "unknown key".into(),
        }
    }
}

fn parse(toml: &str) -> Result<Value, config::ConfigError> {
    let table = File::from_str(toml, FileFormat::Toml).collect()?;
    Value::deserialize(config::Value::new(None, table))
}

fn default_values() -> Value {
    parse(DEFAULT_TOML).expect("the compiled-in defaults are valid TOML")
}

/// Environment and flags only have text: what must be a number or a truth is read as one.
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

/// Levenshtein distance, in characters (two-row dynamic programme of Wagner and Fischer).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
