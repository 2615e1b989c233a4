//! Keys: made by a command, followed by a running server, sent by the other commands.

use std::fs;
use std::process::Output;

use crate::serving::Serving;
use crate::{Ended, akin, command};

fn create(dir: &str, options: &[&str]) -> Ended {
    akin(&[&["keys", "create", "--data-dir", dir], options].concat())
}

/// Runs akin with a key in the environment.
fn akin_with_key(key: &str, arguments: &[&str]) -> Output {
    command(arguments).env("AKIN_API_KEY", key).output().unwrap()
}

#[test]
fn keys_are_created_listed_and_revoked() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let data = data.to_str().unwrap();
    let options = ["--actions", "write,read", "--collections", "web-*,news", "--expires", "30d"];
    let made = create(data, &[&["--name", "crawler"], &options[..]].concat());
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let key = made.stdout.trim_end();
    assert!(key.starts_with("akin_") && key.len() == 69, "{key}");
    assert!(made.stderr.contains("crawler: read,write in web-*,news, until "), "{}", made.stderr);
    let stored = fs::read_to_string(dir.path().join("data/keys.json")).unwrap();
    assert!(!stored.contains(key) && !stored.contains(&key[5..]), "only its hash is stored");

    let again = create(data, &["--name", "crawler", "--actions", "read"]);
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("there is a key 'crawler' already"), "{}", again.stderr);
    assert_eq!(create(data, &["--name", "b", "--actions", "read"]).code, Some(0));
    let listed = akin(&["keys", "list", "--data-dir", data]);
    let lines: Vec<_> = listed.stdout.lines().collect();
    assert!(lines[0].starts_with("crawler: read,write in web-*,news, until "), "{lines:?}");
    assert_eq!(&lines[1..], ["b: read in *"]);
    let json = akin(&["keys", "list", "--json", "--data-dir", data]).stdout;
    assert!(!json.contains("sha256"), "{json}");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["keys"][0]["actions"], serde_json::json!(["read", "write"]));

    assert_eq!(akin(&["keys", "revoke", "crawler", "--data-dir", data]).code, Some(0));
    let unknown = akin(&["keys", "revoke", "crawler", "--data-dir", data]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("there is no key 'crawler'"), "{}", unknown.stderr);
    assert_eq!(akin(&["keys", "list", "--data-dir", data]).stdout, "b: read in *\n");
    for wrong in [
        &["--name", "c", "--actions", "reed"][..],
        &["--name", "c"],
        &["--actions", "read"],
        &["--name", "c", "--actions", "read", "--expires", "2020-01-01"],
    ] {
        assert_eq!(create(data, wrong).code, Some(2), "{wrong:?}");
    }
    let unfit = create(data, &["--name", "a b", "--actions", "read"]);
    assert_eq!(unfit.code, Some(1), "{}", unfit.stderr);
}

/// The server looks at its keys each second; here it does so within a thousand commands.
fn until_refused(command: impl Fn() -> Output) {
    assert!((0..1_000).any(|_| !command().status.success()), "it is never refused");
}

#[test]
fn a_list_of_keys_names_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    let list = ["keys", "list", "--data-dir", data];
    let listed = command(&list).env("AKIN_URL", "https://akin.example").output().unwrap();
    let told = String::from_utf8(listed.stderr).unwrap();
    let file = dir.path().join("keys.json");
    assert!(told.contains(file.to_str().unwrap()) && told.contains("AKIN_URL"), "{told}");
    assert_eq!(akin(&list).stderr, "");
}

#[test]
fn a_running_server_follows_its_keys() {
    let serving = Serving::start();
    serving.wait_until_ready();
    let data = serving.data_dir.to_str().unwrap().to_owned();
    let url = ["--url", &serving.url];
    let export = |key: &str| akin_with_key(key, &[&["export"], &url[..]].concat());
    assert_eq!(export("").status.code(), Some(0), "without keys everyone on this machine may");

    let key = create(&data, &["--name", "reader", "--actions", "read"]).stdout;
    let key = key.trim_end();
    until_refused(|| export(""));
    assert!(export(key).status.success());
    let refused = String::from_utf8(export("akin_wrong").stderr).unwrap();
    assert!(refused.contains("the key is unknown"), "{refused}");
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), format!("{key}\n")).unwrap();
    let path = file.path().to_str().unwrap();
    let by_file = akin(&["export", "--url", &serving.url, "--key-file", path]);
    assert_eq!(by_file.code, Some(0), "{}", by_file.stderr);
    let write = akin_with_key(key, &["backup", "--url", &serving.url]);
    let refused = String::from_utf8(write.stderr).unwrap();
    assert!(refused.contains("does not permit the action `admin`"), "{refused}");
    assert!(refused.contains("hint: `akin keys list`"), "{refused}");
    let import = akin_with_key(key, &["import", "--url", &serving.url, path]);
    let refused = String::from_utf8(import.stderr).unwrap();
    assert!(refused.contains("hint: `akin keys list`"), "{refused}");
    let none = String::from_utf8(export("").stderr).unwrap();
    assert!(none.contains("hint: put the key into AKIN_API_KEY"), "{none}");
    assert_eq!(akin(&["health", "--url", &serving.url]).code, Some(0), "probes are open");

    assert_eq!(akin(&["keys", "revoke", "reader", "--data-dir", &data]).code, Some(0));
    until_refused(|| export(key));
    serving.stop();
}

#[test]
fn other_machines_need_keys_by_default() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    let arguments = ["serve", "--listen", "0.0.0.0:0", "--data-dir", data];
    let refused = akin(&arguments);
    assert_eq!(refused.code, Some(1));
    // Also where the data directory is not the default one.
    let create_there = format!("--keys-file {data}/keys.json`");
    for said in
        ["can be reached from other machines", "akin keys create", &create_there, "--no-keys"]
    {
        assert!(refused.stderr.contains(said), "{said}: {}", refused.stderr);
    }
    for options in [&["--listen", "0.0.0.0:0", "--no-keys"][..], &["--listen", "127.0.0.1:0"]] {
        let serving = Serving::start_with(dir.path(), options);
        assert!(serving.stop().success());
    }
    assert_eq!(create(data, &["--name", "a", "--actions", "read"]).code, Some(0));
    let serving = Serving::start_with(dir.path(), &["--listen", "0.0.0.0:0"]);
    assert!(serving.stop().success());
    akin(&["keys", "revoke", "a", "--data-dir", data]);
    assert_eq!(akin(&arguments).code, Some(1), "the last key is revoked");
    fs::write(dir.path().join("keys.json"), "{").unwrap();
    let damaged = akin(&["serve", "--listen", "127.0.0.1:0", "--data-dir", data]);
    assert_eq!(damaged.code, Some(1));
    assert!(damaged.stderr.contains("is damaged"), "{}", damaged.stderr);
}

#[test]
fn sighup_does_not_end_a_server() {
    let serving = Serving::start();
    serving.signal("HUP");
    serving.wait_until_ready();
    serving.signal("HUP");
    assert_eq!(akin(&["health", "--url", &serving.url]).code, Some(0));
    assert!(serving.stop().success());
}

#[test]
fn the_log_has_names_of_keys_only() {
    let serving = Serving::start();
    serving.wait_until_ready();
    let data = serving.data_dir.to_str().unwrap();
    let key = create(data, &["--name", "crawler", "--actions", "read"]).stdout;
    let key = key.trim_end();
    until_refused(|| akin_with_key("", &["export", "--url", &serving.url]));
    for wrong in [&key[..key.len() - 1], "akin_wrong"] {
        assert!(!akin_with_key(wrong, &["export", "--url", &serving.url]).status.success());
    }
    assert!(akin_with_key(key, &["export", "--url", &serving.url]).status.success());
    assert!(!akin_with_key(key, &["delete", "a", "--url", &serving.url]).status.success());
    // The line of the request.
    serving.wait_for_log(r#""key":"crawler","method":"POST","route":"/remove","status":403"#);
    let log = serving.log();
    assert!(!log.contains(&key["akin_".len()..key.len() - 1]) && !log.contains("akin_wrong"));
    assert!(serving.stop().success());
}
