//! The real server behind the real commands.

use akin_core::measure::MEASURES;

use crate::process::pause;
use crate::serving::Serving;
use crate::{akin, akin_with_stdin};

const A: &str = "the quick brown fox jumps over the lazy dog and runs away from it into the woods";
const B: &str = "the quick brown fox jumps over the lazy dog and runs away from it into the wood";

#[test]
fn imported_documents_are_found_and_the_server_stops_cleanly() {
    let serving = Serving::start();
    let lines = format!("{{\"id\":\"a\",\"text\":\"{A}\"}}\n{{\"id\":\"b\",\"text\":\"{B}\"}}\n");
    let arguments = ["import", "-", "--url", &serving.url, "--threshold", "0.5", "--json"];
    let ended = akin_with_stdin(&arguments, lines.as_bytes());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["documents"]["created"], 2);
    assert_eq!(report["with_duplicates"], 1);
    assert_eq!(akin(&["health", "--url", &serving.url]).code, Some(0));
    let similar = ["similar", "--id", "a", "--threshold", "0.5", "--url", &serving.url];
    let ended = akin(&similar);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "0.8750  b\n"), "{}", ended.stderr);
    assert_eq!(serving.stop().code(), Some(0));
}

#[test]
fn a_port_in_use_is_reported() {
    let serving = Serving::start();
    let address = serving.url.strip_prefix("http://").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let data_dir = dir.path().to_str().unwrap();
    let ended = akin(&["serve", "--listen", address, "--data-dir", data_dir]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains(&format!("error: cannot listen on {address}: ")));
    assert!(ended.stderr.contains("hint: another akin may be running"), "{}", ended.stderr);
    assert_eq!(serving.stop().code(), Some(0));
}

#[test]
fn a_directory_in_use_names_its_holder() {
    let serving = Serving::start();
    serving.wait_until_ready();
    let data_dir = serving.data_dir.to_str().unwrap();
    let second = akin(&["serve", "--listen", "127.0.0.1:0", "--data-dir", data_dir]);
    assert_eq!(second.code, Some(1));
    assert!(second.stderr.contains("hint: another akin has it open"), "{}", second.stderr);
    let verified = akin(&["verify", data_dir]);
    assert!(verified.stderr.contains("hint: another akin has it open"), "{}", verified.stderr);
    assert_eq!(serving.stop().code(), Some(0));
}

/// As in a container whose volume belongs to another user. In /sys nobody may make a directory, not
/// even root.
#[test]
fn an_unwritable_data_directory_has_a_hint() {
    let ended = akin(&["serve", "--listen", "127.0.0.1:0", "--data-dir", "/sys/akin"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("/sys/akin"), "{}", ended.stderr);
    assert!(ended.stderr.contains("must own the directory"), "{}", ended.stderr);
}

#[test]
fn two_files_are_compared_without_a_server() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b] = [("a", A), ("b", B)].map(|(name, text)| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let ended = akin(&["compare", &a, &b, "--json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let comparison: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(comparison["exact"]["intersection"], 14);
    assert_eq!(comparison["exact"]["union"], 16);
    assert!((comparison["containment"]["a_in_b"].as_f64().unwrap() - 14.0 / 15.0).abs() < 1e-9);
    assert!(comparison["exact"]["bag"].as_f64().unwrap() < 0.5);
    let names = MEASURES.map(|measure| measure.name).join(",");
    let measures = ["compare", &a, &b, "--measures", &names];
    let ended = akin(&[&measures[..], &["--json"]].concat());
    let comparison: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(comparison["measures"]["hamming"]["distance"], 2);
    assert!(comparison["measures"]["edit"]["distance"].as_u64().unwrap() > 0);
    let ended = akin(&measures);
    assert!(MEASURES.iter().all(|of| ended.stdout.contains(&format!("\n{:<10} ", of.name))));
    for measure in ["edit ", "lcs ", "hamming    2 ", "cosine     0.9", "euclidean  1.4142"] {
        assert!(ended.stdout.contains(&format!("\n{measure}")), "{}", ended.stdout);
    }
    assert_eq!(akin(&["compare", &a, &b, "--measures", "jaccard"]).code, Some(2));
    let ended = akin(&["compare", &a, &b, "--explain"]);
    assert!(ended.stdout.starts_with("exact      0.8750  14 of 16 shingles"), "{}", ended.stdout);
    for part in ["\nshared:\n", "\nonly in the first:\n", "\nonly in the second:\n"] {
        assert!(ended.stdout.contains(part), "{part} in {}", ended.stdout);
    }
    let empty = dir.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    let ended = akin(&["compare", &a, empty.to_str().unwrap()]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.starts_with(&format!("error: {}: ", empty.display())), "{}", ended.stderr);
}

#[test]
fn a_demo_without_texts_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let ended = akin(&["demo", dir.path().to_str().unwrap()]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    let told = format!("error: there is no text in {}\nhint: ", dir.path().display());
    assert!(ended.stderr.starts_with(&told), "{}", ended.stderr);
}

#[test]
fn a_demo_shows_near_duplicates() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [("one/a", A), ("two/b", B), ("three/c", A)] {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let root = dir.path().to_str().unwrap();
    let ended = akin(&["demo", root]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.stdout.contains("1 with the same shingles, 1 with nearly the same"));
    assert!(ended.stdout.contains(&format!("  0.875  {root}/two/b\n         {root}/")));
    assert!(ended.stdout.contains(&format!("similar?id={root}/two/b'")), "{}", ended.stdout);
    assert!(ended.stdout.contains("in a browser"), "{}", ended.stdout);
}

#[test]
fn a_failed_store_ends_the_server() {
    let serving = Serving::start();
    let post = |id: &str| {
        let add = ureq::post(format!("{}/documents?id={id}", serving.url));
        let add = add.config().http_status_as_error(false).build().content_type("text/plain");
        let mut response = add.send(A).unwrap();
        (response.status().as_u16(), response.body_mut().read_to_string().unwrap())
    };
    while post("a").0 == 503 {
        pause();
    }
    let store = serving.data_dir.join("collections/default/store.sqlite");
    rusqlite::Connection::open(store).unwrap().execute_batch("DROP TABLE log").unwrap();
    let (status, problem) = post("b");
    assert_eq!(status, 503);
    assert!(problem.contains("\"out_of_service\""), "{problem}");
    assert_eq!(serving.ended().code(), Some(1));
}
