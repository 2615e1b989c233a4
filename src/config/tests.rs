use std::io::Write;

use super::*;
use crate::engine::{CollectionSettings, LimitSettings, StartProgress};
use crate::storage::StorageSettings;
use akin_core::scheme::Threshold;

fn environment(variables: &[(&str, &str)]) -> SettingSources {
    let environment =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    SettingSources { environment, ..SettingSources::default() }
}

fn file(toml: &str) -> (tempfile::NamedTempFile, SettingSources) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(toml.as_bytes()).unwrap();
    let sources =
        SettingSources { file: Some(file.path().to_owned()), ..SettingSources::default() };
    (file, sources)
}

fn faults(sources: &SettingSources) -> Vec<Fault> {
    match sources.load().unwrap_err() {
        ConfigError::Faults(faults) => faults,
        error @ ConfigError::File { .. } => panic!("{error}"),
    }
}

#[test]
fn the_default_file_has_the_default_settings() {
    let defaults = SettingSources::default().load().unwrap();
    assert_eq!(defaults, Settings::default());
    assert_eq!(defaults.collection, CollectionSettings::default());
    assert_eq!(defaults.storage.store, StorageSettings::default());
}

#[test]
fn later_layers_override_earlier_ones() {
    let (_file, mut sources) = file(
        "[server]\nlisten = '0.0.0.0:1'\nlimit_max = 7\n[collection.scheme]\nbands = 16\n\
         threshold = 0.5\n[log]\nformat = 'json'",
    );
    sources.environment = [
        ("AKIN__SERVER__LISTEN", "0.0.0.0:2"),
        ("AKIN__STORAGE__DATA_DIR", "123"),
        ("AKIN__COLLECTION__SCHEME__ROWS", "2"),
        ("AKIN__COLLECTION__STORE__TEXT", "false"),
        ("AKIN__LOG__LEVEL", ""),
        ("AKIN_CONFIG", "ignored"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    sources.flags = vec![SettingEntry::of_flag("--listen", "server.listen", "0.0.0.0:3".into())];
    let settings = sources.load().unwrap();
    assert_eq!(settings.server.listen, "0.0.0.0:3");
    assert_eq!(settings.server.limit_max, 7);
    assert_eq!(settings.storage.data_dir, PathBuf::from("123"));
    assert_eq!(settings.collection.scheme.bands, Some(16));
    assert_eq!(settings.collection.scheme.rows, Some(2));
    assert!((settings.collection.scheme.threshold.get() - 0.5).abs() < 1e-9);
    assert!(!settings.collection.store.text);
    assert_eq!(settings.log.format, LogFormat::Json);
    assert_eq!(settings.log.level, "info");
}

#[test]
fn former_keys_are_unknown_like_any_other() {
    let keys = [
        "rate_burst_s",
        "connections_reserve",
        "body_bytes_per_s_min",
        "bulk_documents_in_flight_max",
        "filter_bytes_max",
        "collapse_ids_max",
        "probes_max",
        "recall_sample_max",
    ];
    let lines = keys.map(|key| format!("{key} = 3\n")).concat();
    let (_file, sources) = file(&format!("[server]\n{lines}"));
    let faults: Vec<String> = faults(&sources).iter().map(ToString::to_string).collect();
    assert_eq!(faults.len(), keys.len(), "{faults:#?}");
    for key in keys {
        let unknown = format!("server.{key}: unknown key");
        assert!(faults.iter().any(|fault| fault.starts_with(&unknown)), "{key}: {faults:#?}");
    }
}

#[test]
fn all_faults_are_reported_with_key_and_origin() {
    let (file, mut sources) = file(
        "[sever]\nlisten = ':1'\n[server]\nlimit_max = 'many'\n[log]\nlevel = 'a=b=c'\n\
         [collection.scheme]\nthreshold = 1.5\n",
    );
    sources.environment = environment(&[
        ("AKIN__STORAGE__SYNK", "always"),
        ("AKIN__STORAGE__READERS", "0"),
        ("AKIN__ENTIRELY__ELSE", "1"),
        ("AKIN__SCHEME__BANDS", "3"),
        ("AKIN__SERVER", "1"),
    ])
    .environment;
    let faults: Vec<String> = faults(&sources).iter().map(ToString::to_string).collect();
    let path = file.path().display();
    let has = |start: &str, end: &str| {
        assert!(
            faults.iter().any(|fault| fault.starts_with(start) && fault.ends_with(end)),
            "{start} … {end} not in {faults:#?}"
        );
    };
    has("sever.listen: unknown key, did you mean server.listen?", &format!(" (in {path})"));
    has("server.limit_max: invalid type: string \"many\"", &format!(" (in {path})"));
    has("collection.scheme.threshold: a threshold must be above 0", &format!(" (in {path})"));
    has("log.level: ", &format!(" (in {path})"));
    has("storage.synk: unknown key, did you mean storage.sync?", "as AKIN__STORAGE__SYNK)");
    has("storage.readers: ", " (in the environment as AKIN__STORAGE__READERS)");
    has("scheme.bands: unknown key, did you mean collection.scheme.bands?", "BANDS)");
    has("entirely.else: unknown key (in the environment as AKIN__ENTIRELY__ELSE)", ")");
    has("server: is a section, it takes no value itself", "as AKIN__SERVER)");
    assert_eq!(faults.len(), 9, "{faults:#?}");
}

#[test]
fn an_unreadable_configuration_file_is_named() {
    let absent =
        SettingSources { file: Some("/nowhere/akin.toml".into()), ..SettingSources::default() };
    let error = absent.load().unwrap_err().to_string();
    assert!(error.starts_with("cannot read the configuration file /nowhere/akin.toml: "));
    let (_file, broken) = file("[server\nlisten = 3");
    let error = broken.load().unwrap_err().to_string();
    assert!(error.contains("line 1"), "{error}");
}

#[test]
fn the_defaults_as_a_file_change_nothing() {
    let (_file, sources) = file(DEFAULT_TOML);
    assert_eq!(sources.load().unwrap(), Settings::default());
}

#[test]
fn records_are_set_up_in_a_file() {
    let (_file, mut sources) = file(
        "[collection.shingles]\nunit = 'field'\nequivalents = [['william', 'bill']]\n\
         [collection.scheme]\nkind = 'fields'\nfields = ['name', 'phone']\npenalty = 9",
    );
    sources.environment = environment(&[("AKIN__COLLECTION__SCHEME__POINTS", "150")]).environment;
    let scheme = sources.load().unwrap().collection.scheme;
    assert_eq!((scheme.fields.len(), scheme.points_min(), scheme.edit_penalty()), (2, 150, 9));
    sources.environment = environment(&[("AKIN__COLLECTION__STORE__TEXT", "false")]).environment;
    let faults = faults(&sources);
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(faults[0].key, "collection.store.text");
}

#[test]
fn keys_without_a_default_can_be_set() {
    let (_file, mut sources) = file("[collection.scheme]\nexact_from = 0.7");
    let exact_from =
        |sources: &SettingSources| sources.load().unwrap().collection.scheme.exact_from();
    assert_eq!(exact_from(&sources).map(Threshold::get), Some(0.7));
    sources.environment =
        environment(&[("AKIN__COLLECTION__SCHEME__EXACT_FROM", "0.75")]).environment;
    assert_eq!(exact_from(&sources).map(Threshold::get), Some(0.75));
}

#[test]
fn one_factor_bounds_the_limits_of_new_collections() {
    let (_file, sources) =
        file("[storage]\nlimits_factor_max = 3\n[collection.limits]\nduplicates_max = 7\n");
    let limits_max = sources.load().unwrap().of_collections(StartProgress::default()).limits_max;
    let usual = LimitSettings { duplicates_max: 7, ..LimitSettings::default() };
    assert_eq!((limits_max.duplicates_max, &limits_max), (21, &usual.times(3)));
    let (_file, sources) = file("[storage]\nlimits_factor_max = 0\n");
    let [fault] = &faults(&sources)[..] else { panic!("it is the only fault") };
    assert!(
        fault.to_string().starts_with("storage.limits_factor_max: must be 1..=10000"),
        "{fault}"
    );
}
