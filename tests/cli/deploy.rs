//! What stands in `deploy` and `packaging` fits the server that it is for.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use crate::serving::Serving;
use crate::{akin, akin_with_stdin};

fn read(path: &str) -> String {
    fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// Names of metrics in an expression or a text.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let metrics = words.filter(|word| word.starts_with("akin_") || word.starts_with("process_"));
    metrics.map(|name| name.strip_suffix("_bucket").unwrap_or(name).to_owned()).collect()
}

/// Every metric that a server shows which has done everything that is counted.
fn exposed() -> BTreeSet<String> {
    let dir = tempfile::tempdir().unwrap();
    let backups = dir.path().join("backups");
    fs::create_dir(&backups).unwrap();
    let config = dir.path().join("akin.toml");
    let settings =
        format!("[storage]\nexpiry_interval_s = 1\n[backup]\ndir = \"{}\"\n", backups.display());
    fs::write(&config, settings).unwrap();
    let options = ["--listen", "127.0.0.1:0", "--config", config.to_str().unwrap()];
    let serving = Serving::start_with(&dir.path().join("data"), &options);
    serving.wait_until_ready();
    let document = b"{\"id\": \"a\", \"text\": \"one two three four\"}\n";
    assert_eq!(akin_with_stdin(&["import", "-", "--url", &serving.url], document).code, Some(0));
    let url = |path: &str| format!("{}{path}", serving.url);
    ureq::post(url("/snapshots")).send_empty().unwrap();
    for path in ["/similar?id=a", "/clusters?threshold=0.8", "/recall?sample=1"] {
        ureq::get(url(path)).call().unwrap().body_mut().read_to_string().unwrap();
    }
    serving.wait_for_log("made a scheduled backup");
    let text = || ureq::get(url("/metrics")).call().unwrap().body_mut().read_to_string().unwrap();
    // The snapshot is written in the background, and the clock is looked at every second.
    let later = ["akin_snapshot_age_seconds", "akin_clock_jump_seconds"];
    let text = std::iter::repeat_with(text).find(|text| later.iter().all(|one| text.contains(one)));
    assert!(serving.stop().success());
    let text = text.unwrap();
    text.lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next().map(str::to_owned))
        .collect()
}

#[test]
fn dashboard_and_alerts_name_metrics_that_exist() {
    let dashboard: Value = serde_json::from_str(&read("deploy/grafana/akin.json")).unwrap();
    let rules: Value = serde_norway::from_str(&read("deploy/prometheus/akin.rules.yml")).unwrap();
    let mut named = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            named.append(&mut metrics_in(target["expr"].as_str().unwrap()));
        }
    }
    for rule in rules["groups"][0]["rules"].as_array().unwrap() {
        named.append(&mut metrics_in(rule["expr"].as_str().unwrap()));
    }
    assert!(named.len() > 30, "{named:?}");
    let exposed = exposed();
    let unknown: Vec<_> = named.difference(&exposed).collect();
    assert!(unknown.is_empty(), "no metrics: {unknown:?}");
}

#[test]
fn settings_for_packages_and_clusters_are_valid() {
    let dir = tempfile::tempdir().unwrap();
    let resources = read("deploy/kubernetes/akin.yaml");
    let resources = serde_norway::Deserializer::from_str(&resources);
    let resources: Vec<Value> = resources.map(|one| Value::deserialize(one).unwrap()).collect();
    let of_kind = |kind: &str| resources.iter().find(|one| one["kind"] == kind).unwrap();
    let of_cluster = of_kind("ConfigMap")["data"]["akin.toml"].as_str().unwrap();
    for settings in [of_cluster.to_owned(), read("packaging/akin.toml")] {
        let file = dir.path().join("akin.toml");
        fs::write(&file, settings).unwrap();
        let ended = akin(&["check-config", "--config", file.to_str().unwrap()]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    let backup = &of_kind("CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let command = backup["containers"][0]["args"][0].as_str().unwrap();
    // Without a server it fails for that alone: 2 would be wrong arguments.
    let words = command.replace('"', "").replace("$(date +%a)", "Mon");
    let words: Vec<&str> = words.split(' ').skip(1).collect();
    let words: Vec<String> =
        words.iter().map(|word| word.replace("/backups", dir.path().to_str().unwrap())).collect();
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    words.extend(["--url", "http://127.0.0.1:1"]);
    let ended = akin(&words);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("http://127.0.0.1:1"), "{}", ended.stderr);
}
