//! `akin keys`: the keys of a server. A running server follows within a second.

use std::io::{Write, stdout};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::failure::Failure;
use super::serve::{ConfigFile, flags};
use crate::http::key::{Action, ApiKey, Hash, generate};
use crate::http::key_file;
use akin_files::input::name_of;
use akin_files::output::print_json;

/// Create, list and revoke the keys that a server takes
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Subcommand)]
enum KeyCommand {
    /// Create a key, and write it to stdout: it is not shown again
    Create(CreateKey),
    /// Show all keys, without the keys themselves
    List(ListKeys),
    /// Remove a key: requests with it are refused
    Revoke(Revoke),
}

#[derive(Args)]
struct CreateKey {
    /// The key's name, for the log: letters, digits and .-_@
    #[arg(long, value_name = "NAME")]
    name: String,
    /// The actions that the key permits
    #[arg(long, value_name = "ACTIONS", value_delimiter = ',', required = true)]
    actions: Vec<Action>,
    /// Collections that the key is valid in; * matches any characters
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "*")]
    collections: Vec<String>,
    /// When the key expires: a time (2027-01-01, 2027-01-01T12:00:00Z) or a duration (30d, 12h)
    #[arg(long, value_name = "WHEN", value_parser = expiry)]
    expires: Option<Timestamp>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    file: Location,
}

#[derive(Args)]
struct ListKeys {
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    file: Location,
}

#[derive(Args)]
struct Revoke {
    /// The key's name
    name: String,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    file: Location,
}

/// Options that find the file of keys, as for the server.
#[derive(Args)]
struct Location {
    /// The file of keys [default: keys.json in the data directory]
    #[arg(long, value_name = "FILE")]
    keys_file: Option<PathBuf>,
    /// Where documents are kept [default: ./akin-data]
    #[arg(long, value_name = "DIRECTORY")]
    data_dir: Option<String>,
    #[command(flatten)]
    config: ConfigFile,
}

impl Location {
    fn path(self) -> Result<PathBuf, Failure> {
        let path = match self.keys_file {
            Some(path) => path,
            None => self.config.settings(flags(None, self.data_dir))?.keys_file(),
        };
        // A user who sets that variable may expect the keys of its server.
        if std::env::var_os("AKIN_URL").is_some() {
            eprintln!("keys of the file {}, not of the server in AKIN_URL", path.display());
        }
        Ok(path)
    }
}

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        KeyCommand::Create(arguments) => create(arguments),
        KeyCommand::List(arguments) => list(arguments),
        KeyCommand::Revoke(arguments) => revoke(arguments),
    }
}

fn create(arguments: CreateKey) -> Result<(), Failure> {
    let path = arguments.file.path()?;
    let key = generate()
        .map_err(|error| Failure::new(format!("the system gives no random bits: {error}")))?;
    let mut actions = arguments.actions;
    actions.sort_unstable();
    actions.dedup();
    let stored = ApiKey {
        name: arguments.name,
        sha256: Hash::of(key.as_bytes()),
        actions,
        collections: arguments.collections,
        created_at: now(),
        expires_at: arguments.expires,
    };
    let (summary, mut public) = (summary(&stored), public(&stored));
    key_file::change(&path, |keys| {
        keys.push(stored);
        match key_file::fault(keys) {
            None => Ok(()),
            Some(fault) => Err(Failure::new(fault)),
        }
    })?;
    if arguments.json {
        public["key"] = json!(key);
        return print_json(&public);
    }
    eprintln!("created {summary} in {}; the key is not shown again:", path.display());
    writeln!(stdout(), "{key}")?;
    Ok(())
}

fn list(arguments: ListKeys) -> Result<(), Failure> {
    let stored = key_file::read(&arguments.file.path()?)?;
    let keys = stored.map(|stored| stored.keys).unwrap_or_default();
    if arguments.json {
        let keys: Vec<_> = keys.iter().map(public).collect();
        return print_json(&json!({ "keys": keys }));
    }
    let mut out = stdout().lock();
    for key in &keys {
        writeln!(out, "{}", summary(key))?;
    }
    Ok(())
}

fn revoke(arguments: Revoke) -> Result<(), Failure> {
    let (path, name) = (arguments.file.path()?, arguments.name);
    let left = key_file::change(&path, |keys| {
        let before = keys.len();
        keys.retain(|key| key.name != name);
        if keys.len() == before {
            let unknown = format!("there is no key '{name}' in {}", path.display());
            return Err(Failure::with_hint(unknown, "`akin keys list` shows all"));
        }
        Ok(keys.len())
    })?;
    match arguments.json {
        true => print_json(&json!({ "revoked": name, "left": left }))?,
        false => eprintln!("revoked '{name}'; {left} left"),
    }
    Ok(())
}

/// The properties of a key, without its hash.
fn public(key: &ApiKey) -> serde_json::Value {
    json!({
        "name": key.name,
        "actions": key.actions,
        "collections": key.collections,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "expired": key.has_expired(Timestamp::now()),
    })
}

fn summary(key: &ApiKey) -> String {
    let actions: Vec<_> = key.actions.iter().map(name_of).collect();
    let expiry = match key.expires_at {
        None => String::new(),
        Some(at) if key.has_expired(Timestamp::now()) => format!(", expired {at}"),
        Some(at) => format!(", until {at}"),
    };
    format!("{}: {} in {}{expiry}", key.name, actions.join(","), key.collections.join(","))
}

/// The time now, in whole seconds.
fn now() -> Timestamp {
    Timestamp::from_second(Timestamp::now().as_second()).expect("it was one before")
}

/// A time in the future, from a date, a time or a duration.
fn expiry(text: &str) -> Result<Timestamp, String> {
    let at = time(text).or_else(|| duration(text).and_then(|after| now().checked_add(after).ok()));
    match at {
        None => {
            Err("it is a date (2027-01-01), a time (2027-01-01T12:00:00Z) or a duration (30d, \
                     12h)"
                .to_owned())
        }
        Some(at) if at <= Timestamp::now() => Err(format!("{at} has passed")),
        Some(at) => Ok(at),
    }
}

fn time(text: &str) -> Option<Timestamp> {
    let date = || text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok();
    text.parse().ok().or_else(|| date().map(|start| start.timestamp()))
}

fn duration(text: &str) -> Option<SignedDuration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let hours = match unit {
        "h" => 1,
        "d" => 24,
        _ => return None,
    };
    let number = number.parse::<u32>().ok()?;
    Some(SignedDuration::from_hours(i64::from(number) * hours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_is_in_the_future() {
        assert_eq!(expiry("2999-01-01").unwrap().to_string(), "2999-01-01T00:00:00Z");
        assert_eq!(expiry("2999-01-01T12:00:00Z").unwrap().to_string(), "2999-01-01T12:00:00Z");
        let days = expiry("30d").unwrap().duration_since(now()).as_hours();
        assert!((719..=720).contains(&days), "{days}");
        assert!(expiry("12h").is_ok());
        for bad in ["", "d", "0d", "30", "30m", "-3d", "tomorrow", "2020-01-01", "99999999999d"] {
            assert!(expiry(bad).is_err(), "{bad}");
        }
    }
}
