use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::openapi::{RefOr, schema};
use utoipa::{PartialSchema, ToSchema};

use super::{ConfigError, DEFAULT_TOML, Settings};
use akin_core::measure::edit_distance;

const ENVIRONMENT_PREFIX: &str = "AKIN__";

/// An unknown key further than this from every known key is not taken for a misspelling.
const SUGGESTION_EDITS_MAX: usize = 3;

/// The layers above the defaults.
#[derive(Clone, Debug, Default)]
pub struct SettingSources {
    pub file: Option<PathBuf>,
    /// `AKIN__SECTION__KEY` sets `section.key`; other variables and empty variables are ignored.
    pub environment: HashMap<String, String>,
    /// Given on the command line.
    pub flags: Vec<SettingEntry>,
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

/// The origins of keys that are not defaults.
type Origins = BTreeMap<String, SettingOrigin>;

/// A key with its value in a layer.
#[derive(Clone, Debug)]
pub struct SettingEntry {
    /// Dotted, as `server.listen`.
    key: String,
    value: Value,
    origin: SettingOrigin,
}

impl SettingEntry {
    /// Of the option `name` of a command.
    #[must_use]
    pub fn of_flag(name: &'static str, key: &str, value: String) -> Self {
        Self { key: key.to_owned(), value: value.into(), origin: SettingOrigin::Flag(name) }
    }
}

impl SettingSources {
    /// The process's environment, with the given file and flags.
    #[must_use]
    pub fn new(file: Option<PathBuf>, flags: Vec<SettingEntry>) -> Self {
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Self { file, environment, flags }
    }

    /// # Errors
    /// The file cannot be read or is not TOML; otherwise every fault of every layer at once.
    pub fn load(&self) -> Result<Settings, ConfigError> {
        let (values, origins, mut faults) = self.merge()?;
        let settings: Settings =
            serde_json::from_value(values).expect("each key's value was checked by itself");
        faults.extend(settings.faults().into_iter().map(|(section, fault)| {
            let (key, problem) = fault.split_once(' ').unwrap_or((&fault, ""));
            let key = format!("{section}.{key}");
            Fault { problem: problem.into(), origin: origins.get(&key).cloned(), key }
        }));
        if faults.is_empty() { Ok(settings) } else { Err(ConfigError::Faults(faults)) }
    }

    /// The defaults, overridden by every valid entry of the layers; where the entries come from;
    /// and unknown keys and values of another type.
    fn merge(&self) -> Result<(Value, Origins, Vec<Fault>), ConfigError> {
        let defaults = defaults();
        let (mut values, mut origins, mut faults) = (defaults.clone(), Origins::new(), Vec::new());
        // Most commands are started without any entry.
        let schema = LazyCell::new(|| Schema::new(&defaults));
        for SettingEntry { key, value, origin } in self.entries()? {
            if schema.is_empty_section(&key, &value) {
                continue;
            }
            match schema.check(&key, value) {
                Ok(value) => {
                    set(&mut values, &key, value);
                    origins.insert(key, origin);
                }
                Err(problem) => faults.push(Fault { key, problem, origin: Some(origin) }),
            }
        }
        Ok((values, origins, faults))
    }

    /// The entries of all layers, the weakest layer first.
    fn entries(&self) -> Result<Vec<SettingEntry>, ConfigError> {
        let mut entries = self.file_entries()?;
        entries.extend(self.environment_entries());
        entries.extend_from_slice(&self.flags);
        Ok(entries)
    }

    fn file_entries(&self) -> Result<Vec<SettingEntry>, ConfigError> {
        let Some(path) = &self.file else { return Ok(vec![]) };
        let unreadable = |reason: String| ConfigError::File { path: path.clone(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
        let values = toml::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
        let mut leaves = Vec::new();
        flatten("", values, &mut leaves);
        let origin = SettingOrigin::File(path.clone());
        Ok(leaves
            .into_iter()
            .map(|(key, value)| SettingEntry { key, value, origin: origin.clone() })
            .collect())
    }

    fn environment_entries(&self) -> Vec<SettingEntry> {
        let entry = |(variable, value): (&String, &String)| {
            let key = variable.strip_prefix(ENVIRONMENT_PREFIX).filter(|_| !value.is_empty())?;
            Some(SettingEntry {
                key: key.to_lowercase().replace("__", "."),
                value: Value::String(value.clone()),
                origin: SettingOrigin::Environment(variable.clone()),
            })
        };
        let mut entries: Vec<SettingEntry> = self.environment.iter().filter_map(entry).collect();
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        entries
    }
}

/// The values of all keys that have a default.
fn defaults() -> Value {
    toml::from_str(DEFAULT_TOML).expect("the compiled-in defaults are valid TOML")
}

/// The keys that exist, as the types of the settings have them.
struct Schema {
    defaults: Value,
    keys: BTreeSet<String>,
}

impl Schema {
    fn new(defaults: &Value) -> Self {
        let mut schemas = Vec::new();
        Settings::schemas(&mut schemas);
        let schemas = schemas.into_iter().collect();
        let mut keys = BTreeSet::new();
        add_keys("", &Settings::schema(), &schemas, &mut keys);
        Self { defaults: defaults.clone(), keys }
    }

    /// The value in the key's type, or the fault. Environment and flags have texts only, so a text
    /// where something else is wanted is read as JSON.
    fn check(&self, key: &str, value: Value) -> Result<Value, String> {
        if !self.keys.contains(key) {
            return Err(self.unknown(key));
        }
        let Err(refused) = self.accepts(key, &value) else { return Ok(value) };
        let text = value.as_str().map(str::trim);
        let Some(Ok(read)) = text.map(serde_json::from_str) else { return Err(refused) };
        self.accepts(key, &read).map(|()| read)
    }

    fn accepts(&self, key: &str, value: &Value) -> Result<(), String> {
        let mut candidate = self.defaults.clone();
        set(&mut candidate, key, value.clone());
        Settings::deserialize(candidate).map(drop).map_err(|error| error.to_string())
    }

    /// Whether it is a section of which nothing is set.
    fn is_empty_section(&self, key: &str, value: &Value) -> bool {
        value.as_object().is_some_and(Map::is_empty) && self.is_section(key)
    }

    fn is_section(&self, key: &str) -> bool {
        let within = format!("{key}.");
        self.keys.iter().any(|known| known.starts_with(&within))
    }

    fn unknown(&self, key: &str) -> String {
        if self.is_section(key) {
            return "is a section, it takes no value itself".into();
        }
        let edits = |known: &str| edit_distance(key, known);
        let nearest = self.keys.iter().map(|known| (edits(known), known)).min();
        match nearest {
            Some((edits, known)) if edits <= SUGGESTION_EDITS_MAX => {
                format!("unknown key, did you mean {known}?")
            }
            _ => match self.keys.iter().find(|known| known.ends_with(&format!(".{key}"))) {
                Some(known) => format!("unknown key, did you mean {known}?"),
                None => "unknown key".into(),
            },
        }
    }
}

/// Adds the keys of a schema: those of its parts, of the schema that it names, or its own.
fn add_keys(
    key: &str,
    schema: &RefOr<schema::Schema>,
    schemas: &BTreeMap<String, RefOr<schema::Schema>>,
    keys: &mut BTreeSet<String>,
) {
    let schema = match schema {
        RefOr::T(schema) => schema,
        RefOr::Ref(reference) => {
            let name = reference.ref_location.rsplit('/').next().unwrap_or_default();
            return add_keys(key, &schemas[name], schemas, keys);
        }
    };
    match schema {
        schema::Schema::AllOf(parts) => {
            parts.items.iter().for_each(|part| add_keys(key, part, schemas, keys));
        }
        schema::Schema::Object(object) if !object.properties.is_empty() => {
            for (name, property) in &object.properties {
                let separator = if key.is_empty() { "" } else { "." };
                add_keys(&format!("{key}{separator}{name}"), property, schemas, keys);
            }
        }
        _ => drop(keys.insert(key.to_owned())),
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
    let place = key.split('.').fold(values, |place, name| {
        if !place.is_object() {
            *place = json!({});
        }
        &mut place[name]
    });
    *place = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(sources: &SettingSources) -> Value {
        let (values, _, faults) = sources.merge().unwrap();
        assert_eq!(faults, []);
        values
    }

    /// `config/default.toml` with the keys that have no default, which are comments there.
    fn with_optional_keys() -> String {
        let uncommented = |line: &'static str| {
            let entry = line.strip_prefix("# ").filter(|entry| entry.contains(" = "));
            let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            let is_key = |entry: &&str| entry.split_once(" = ").unwrap().0.chars().all(is_name);
            entry.filter(is_key).unwrap_or(line)
        };
        DEFAULT_TOML.lines().map(uncommented).flat_map(|line| [line, "\n"]).collect()
    }

    #[test]
    fn every_key_is_documented_and_set_by_file_and_environment() {
        let documented = with_optional_keys();
        let valid: Value = toml::from_str(&documented).unwrap();
        let mut leaves = Vec::new();
        flatten("", valid.clone(), &mut leaves);
        let names: BTreeSet<String> = leaves.iter().map(|(key, _)| key.clone()).collect();
        assert_eq!(names, Schema::new(&defaults()).keys, "config/default.toml, and the settings");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), documented).unwrap();
        let path = Some(file.path().to_owned());
        assert_eq!(merged(&SettingSources { file: path, ..SettingSources::default() }), valid);
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let variable =
            |key: &str| format!("{ENVIRONMENT_PREFIX}{}", key.to_uppercase().replace('.', "__"));
        let environment = leaves.iter().map(|(key, value)| (variable(key), text(value))).collect();
        assert_eq!(merged(&SettingSources { environment, ..SettingSources::default() }), valid);
    }
}
