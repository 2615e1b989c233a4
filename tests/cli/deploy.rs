//! What stands in `deploy` and `packaging` fits the server that it is for.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

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
    let serving = Serving::start_in(dir.path());
    serving.wait_until_ready();
    let document = b"{\"id\": \"a\", \"text\": \"one two three four\"}\n";
    assert_eq!(akin_with_stdin(&["import", "-", "--url", &serving.url], document).code, Some(0));
    let url = |path: &str| format!("{}{path}", serving.url);
    ureq::post(url("/snapshots")).send_empty().unwrap();
    for path in ["/similar?id=a", "/clusters?threshold=0.8", "/recall?sample=1"] {
        ureq::get(url(path)).call().unwrap().body_mut().read_to_string().unwrap();
    }
    let text = || ureq::get(url("/metrics")).call().unwrap().body_mut().read_to_string().unwrap();
    // The snapshot is written in the background.
    let is_taken = |text: &String| text.contains("akin_snapshot_age_seconds");
    let text = std::iter::repeat_with(text).find(is_taken);
    assert!(serving.stop().success());
    let text = text.unwrap();
    text.lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next().map(str::to_owned))
        .collect()
}

#[test]
fn dashboard_and_alerts_name_metrics_that_exist() {
    let dashboard: Value = serde_json::from_str(&read("deploy/grafana/akin.json")).unwrap();
    let rules: Value = yaml_serde::from_str(&read("deploy/prometheus/akin.rules.yml")).unwrap();
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

/// Bulk requests are measured until their end, so a title that names the head would be untrue.
#[test]
fn the_panel_of_durations_names_the_end() {
    let dashboard: Value = serde_json::from_str(&read("deploy/grafana/akin.json")).unwrap();
    let is_of_durations = |panel: &&Value| {
        let targets = panel["targets"].as_array();
        targets.is_some_and(|all| {
            all.iter().any(|target| {
                target["expr"].as_str().unwrap().contains("akin_http_request_duration_seconds")
            })
        })
    };
    let panels = dashboard["panels"].as_array().unwrap().iter().filter(is_of_durations);
    let titles: Vec<_> = panels.map(|panel| panel["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["Time to the end of the response, 99 %"]);
}

#[test]
fn settings_for_packages_and_clusters_are_valid() {
    let dir = tempfile::tempdir().unwrap();
    let resources = resources();
    let of_kind = |kind: &str| resources.iter().find(|one| one["kind"] == kind).unwrap();
    let of_cluster = of_kind("ConfigMap")["data"]["akin.toml"].as_str().unwrap();
    for settings in [of_cluster.to_owned(), read("packaging/akin.toml")] {
        let file = dir.path().join("akin.toml");
        fs::write(&file, settings).unwrap();
        let ended = akin(&["check-config", "--config", file.to_str().unwrap()]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
}

/// The last snapshot of a million documents takes seconds, on a slow disk half a minute.
const SNAPSHOT_S: u64 = 45;

/// A supervisor that kills the server earlier makes the next start replay the log.
#[test]
fn supervisors_wait_for_the_delay_the_requests_and_the_snapshot() {
    let resources = resources();
    let of_kind = |kind: &str| resources.iter().find(|one| one["kind"] == kind).unwrap();
    let pod = &of_kind("StatefulSet")["spec"]["template"]["spec"];
    let of_cluster = of_kind("ConfigMap")["data"]["akin.toml"].as_str().unwrap();
    let probe = &pod["containers"][0]["readinessProbe"];
    let failures = probe["failureThreshold"].as_u64().unwrap_or(3);
    let noticed_s = probe["periodSeconds"].as_u64().unwrap() * failures;
    assert!(stopping_s(of_cluster).0 >= noticed_s, "{noticed_s} s until the pod is not ready");

    let (offered, composed) =
        (uncommented("packaging/akin.toml"), uncommented("docker-compose.yml"));
    let composed: Value = yaml_serde::from_str(&composed).unwrap();
    let composed = &composed["services"]["akin"];
    let of_container = &composed["environment"];
    assert_eq!(of_container["AKIN__SERVER__METRICS_OPEN"], "true");
    let delay_ms = of_container["AKIN__SERVER__SHUTDOWN_DELAY_MS"].as_str().unwrap();
    let of_container = format!("[server]\nshutdown_delay_ms = {delay_ms}\n");
    let composed = composed["stop_grace_period"].as_str().unwrap();
    let unit = read("packaging/akin.service");
    let unit = unit.lines().find_map(|line| line.strip_prefix("TimeoutStopSec=")).unwrap();
    for (settings, waits_s) in [
        (of_cluster, pod["terminationGracePeriodSeconds"].as_u64().unwrap()),
        (&of_container, composed.strip_suffix('s').unwrap().parse().unwrap()),
        (&offered, unit.parse().unwrap()),
    ] {
        let (delay_s, grace_s) = stopping_s(settings);
        assert!(delay_s > 0, "no delay in {settings}");
        assert!(waits_s >= delay_s + grace_s + SNAPSHOT_S, "{waits_s} s for {settings}");
    }
}

/// A file with the settings that it only offers.
fn uncommented(file: &str) -> String {
    let line = |line: &str| {
        let (indent, rest) = line.split_once("# ").unwrap_or(("", line));
        let key = rest.split([' ', ':']).next().unwrap_or_default();
        let is_setting =
            key.starts_with("AKIN__SERVER__") || key.ends_with("_ms") || key.ends_with("_open");
        if is_setting { format!("{indent}{rest}\n") } else { format!("{line}\n") }
    };
    read(file).lines().map(line).collect()
}

/// `shutdown_delay_ms` and `shutdown_grace_ms` of these settings, in seconds.
fn stopping_s(settings: &str) -> (u64, u64) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("akin.toml");
    fs::write(&file, settings).unwrap();
    let effective = akin(&["check-config", "--config", file.to_str().unwrap()]).stdout;
    let of = |key: &str| {
        let value = effective.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        value.unwrap_or_else(|| panic!("no {key} in {effective}")).parse::<u64>().unwrap() / 1_000
    };
    (of("shutdown_delay_ms"), of("shutdown_grace_ms"))
}

fn resources() -> Vec<Value> {
    resources_of("deploy/kubernetes/akin.yaml")
}

fn resources_of(file: &str) -> Vec<Value> {
    let resources = read(file);
    let resources = yaml_serde::Deserializer::from_str(&resources);
    resources.map(|one| Value::deserialize(one).unwrap()).collect()
}

/// There is no snapshot over PostgreSQL.
#[cfg(feature = "postgres")]
#[test]
fn pods_over_postgresql_serve_until_they_are_not_ready() {
    let resources = resources_of("deploy/kubernetes/postgres.yaml");
    let of_kind = |kind: &str| resources.iter().find(|one| one["kind"] == kind).unwrap();
    let pod = &of_kind("Deployment")["spec"]["template"]["spec"];
    // The URL is in a Secret.
    let settings = of_kind("ConfigMap")["data"]["akin.toml"].as_str().unwrap().to_owned()
        + "[postgres]\nurl = \"postgres://akin@127.0.0.1/akin\"\n";
    let (delay_s, grace_s) = stopping_s(&settings);
    let probe = &pod["containers"][0]["readinessProbe"];
    assert!(delay_s >= 3 * probe["periodSeconds"].as_u64().unwrap(), "{delay_s} s");
    let waits_s = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
    assert!(waits_s > delay_s + grace_s, "{waits_s} s");
}

#[test]
fn the_pod_is_served_by_every_name() {
    let resources = resources();
    let named = |kind: &str, name: &str| {
        let is_it = |one: &&Value| one["kind"] == kind && one["metadata"]["name"] == name;
        resources.iter().find(is_it).unwrap_or_else(|| panic!("no {kind} '{name}'"))
    };
    let set = &named("StatefulSet", "akin")["spec"];
    let governing = set["serviceName"].as_str().unwrap();
    assert_eq!(named("Service", governing)["spec"]["clusterIP"], "None", "it is headless");
    let config = named("ConfigMap", "akin")["data"]["akin.toml"].as_str().unwrap();
    let hosts = config.lines().find_map(|line| line.strip_prefix("hosts = ")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("akin.toml");
    fs::write(&file, format!("[server]\nhosts = {hosts}\n")).unwrap();
    let options = ["--listen", "127.0.0.1:0", "--config", file.to_str().unwrap()];
    let serving = Serving::start_with(&dir.path().join("data"), &options);
    let pod = format!("akin-0.{governing}");
    let status = |host: &str| {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build();
        let get = agent.new_agent().get(format!("{}/healthz", serving.url)).header("host", host);
        get.call().unwrap().status().as_u16()
    };
    for service in ["akin", &pod] {
        for host in [service, &format!("{service}.search.svc.cluster.local:2546")] {
            assert_eq!(status(host), 200, "{host}");
        }
    }
    assert_eq!(status("elsewhere.example"), 421);
    assert!(serving.stop().success());
}

#[test]
fn the_nightly_job_makes_a_backup() {
    let resources = resources();
    let job = resources.iter().find(|one| one["kind"] == "CronJob").unwrap();
    let pod = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let dir = tempfile::tempdir().unwrap();
    let backup = dir.path().join("backup.tar");
    let serving = Serving::start_in(&dir.path().join("data"));
    serving.wait_until_ready();
    let given = pod["initContainers"][0]["args"].as_array().unwrap();
    let mut args: Vec<&str> = given.iter().map(|one| one.as_str().unwrap()).collect();
    let output = args.iter_mut().find(|one| **one == "/backups/$(POD_NAME).tar").unwrap();
    *output = backup.to_str().unwrap();
    args.extend(["--url", &serving.url]);
    let ended = akin(&args);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(backup.exists());
    assert!(serving.stop().success());
}

/// A Prometheus that follows the annotations of the pod has no key; everything else needs one.
#[test]
fn annotated_metrics_of_the_pod_need_no_key() {
    let resources = resources();
    let config = resources.iter().find(|one| one["kind"] == "ConfigMap").unwrap();
    let config = config["data"]["akin.toml"].as_str().unwrap();
    let open = config.lines().find(|line| line.trim().starts_with("metrics_open")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let keys = dir.path().join("keys.json");
    let actions = ["--name", "operator", "--actions", "read,write,admin"];
    let create = ["keys", "create", "--keys-file", keys.to_str().unwrap()];
    assert_eq!(akin(&[&create[..], &actions[..]].concat()).code, Some(0));
    let file = dir.path().join("akin.toml");
    let settings = format!("[server]\n{open}\nkeys_file = \"{}\"\n", keys.display());
    fs::write(&file, settings).unwrap();
    let options = ["--listen", "127.0.0.1:0", "--config", file.to_str().unwrap()];
    let serving = Serving::start_with(&dir.path().join("data"), &options);
    let status = |path: &str| {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build();
        agent.new_agent().get(format!("{}{path}", serving.url)).call().unwrap().status().as_u16()
    };
    assert_eq!((status("/metrics"), status("/stats")), (200, 401));
    assert!(serving.stop().success());
}

#[test]
fn applying_the_resources_again_keeps_keys() {
    let resources = resources();
    assert!(!resources.iter().any(|one| one["kind"] == "Secret"));
    let example = read("deploy/kubernetes/secrets.example.yaml");
    let example: Value = yaml_serde::from_str(&example).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("keys.json");
    fs::write(&file, example["stringData"]["keys.json"].as_str().unwrap()).unwrap();
    let ended = akin(&["keys", "list", "--keys-file", file.to_str().unwrap()]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let set = resources.iter().find(|one| one["kind"] == "StatefulSet").unwrap();
    let volumes = set["spec"]["template"]["spec"]["volumes"].as_array().unwrap();
    let secret = volumes.iter().find_map(|volume| volume["secret"]["secretName"].as_str());
    assert_eq!(secret, example["metadata"]["name"].as_str());
}

/// The proxy notices that a server stops while the server still serves.
#[test]
fn the_two_composed_servers_serve_until_the_proxy_has_noticed() {
    let composed: Value = yaml_serde::from_str(&read("deploy/two-servers/compose.yaml")).unwrap();
    let proxy = read("deploy/two-servers/haproxy.cfg");
    let of_checks = |name: &str| {
        let value = proxy.split_whitespace().skip_while(|word| *word != name).nth(1).unwrap();
        value.trim_end_matches("ms").parse::<u64>().unwrap()
    };
    let noticed_ms = of_checks("inter") * of_checks("fall");
    for server in ["one", "two"] {
        let server = &composed["services"][server];
        assert_eq!((&server["read_only"], &server["cap_drop"]), (&json!(true), &json!(["ALL"])));
        let delay_ms = server["environment"]["AKIN__SERVER__SHUTDOWN_DELAY_MS"].as_str().unwrap();
        assert!(delay_ms.parse::<u64>().unwrap() >= 2 * noticed_ms, "{noticed_ms} ms");
        let settings = format!("[server]\nshutdown_delay_ms = {delay_ms}\n");
        let (delay_s, grace_s) = stopping_s(&settings);
        let waits_s = server["stop_grace_period"].as_str().unwrap().strip_suffix('s').unwrap();
        assert!(waits_s.parse::<u64>().unwrap() >= delay_s + grace_s, "{waits_s} s");
    }
}

/// The composed container has limits, and nothing that it does not need.
#[test]
fn the_composed_container_is_confined() {
    let composed: Value = yaml_serde::from_str(&read("docker-compose.yml")).unwrap();
    let service = &composed["services"]["akin"];
    let passed = &service["build"]["args"];
    assert_eq!(passed, &json!(["AKIN_REVISION", "AKIN_VERSION", "AKIN_SOURCE"]), "image labels");
    assert_eq!(service["read_only"], true);
    assert_eq!(service["cap_drop"], json!(["ALL"]));
    assert_eq!(service["security_opt"], json!(["no-new-privileges:true"]));
    for limit in ["mem_limit", "pids_limit", "logging"] {
        assert!(!service[limit].is_null(), "there is no {limit}");
    }
}
