//! The other commands: what they print, and how they end.

use std::io::{Read, Write};

use axum::body::Body;
use axum::http::{Response, StatusCode};

use crate::server::{Server, problem};
use crate::{akin, akin_with_stdin, command};

const ANSWER: &str = r#"{"matches": [
    {"id": "https://example.org/a", "resemblance": 0.91, "estimated": 0.9, "exact": 0.91,
     "containment": {"of_probe": 0.95, "of_match": 0.955}, "shared": 91, "union": 100,
     "keys_shared": 9},
    {"id": "b", "resemblance": 0.8, "estimated": 0.79, "exact": 0.8,
     "containment": {"of_probe": 0.89, "of_match": 0.89}, "shared": 80, "union": 100,
     "keys_shared": 3}],
    "candidates": 14, "more": false, "truncated": true, "expected_recall": 0.997, "threshold": 0.8,
    "mode": "verified", "found_by": "keys", "took_us": 85}"#;

#[test]
fn similar_shows_matches_as_a_table() {
    let server = Server::scripted(|_, _| Some(Response::new(Body::from(ANSWER))));
    let url = server.url();
    let options = ["--threshold", "0.7", "--limit", "5", "--mode", "estimated"];
    let ended = akin(&[&["similar", "--id", "a b/c&d", "--url", &url], &options[..]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout, "0.9100  https://example.org/a\n0.8000  b\n");
    assert!(ended.stderr.contains("2 near-duplicates among 14 candidates"), "{}", ended.stderr);
    assert!(ended.stderr.contains("some may be missing"), "{}", ended.stderr);
    assert_eq!(
        server.received()[0].uri,
        "/similar?id=a%20b/c%26d&threshold=0.7&limit=5&mode=estimated"
    );
}

#[test]
fn similar_shows_the_most_similar() {
    let server = Server::scripted(|_, _| {
        let answer = ANSWER.replace(r#""threshold": 0.8"#, r#""floor": 0.15"#);
        Some(Response::new(Body::from(answer)))
    });
    let url = server.url();
    let ended = akin(&["similar", "--id", "a", "-k", "2", "--url", &url]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("the 2 most similar among 14 candidates"), "{}", ended.stderr);
    assert!(ended.stderr.contains("each of the nearest from 0.15 on"), "{}", ended.stderr);
    assert_eq!(server.received()[0].uri, "/similar?id=a&k=2");
    let both = akin(&["similar", "--id", "a", "-k", "2", "--threshold", "0.5", "--url", &url]);
    assert_eq!(both.code, Some(2), "{}", both.stderr);
}

#[test]
fn similar_looks_up_a_text_without_storing_it() {
    let server = Server::scripted(|_, _| Some(Response::new(Body::from(ANSWER))));
    let ended = akin_with_stdin(&["similar", "-", "--json", "--url", &server.url()], b"a text");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout.trim_end(), ANSWER);
    assert_eq!(ended.stderr, "");
    let received = server.received()[0].clone();
    assert_eq!((received.uri.as_str(), received.content_type.as_str()), ("/similar", "text/plain"));
    assert_eq!(received.body, b"a text");
}

#[test]
fn similar_uses_the_named_collection() {
    let server = Server::scripted(|_, _| Some(Response::new(Body::from(ANSWER))));
    let url = server.url();
    let ended =
        akin(&["similar", "--id", "a", "--collection", "news", "--mode", "exact", "--url", &url]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(server.received()[0].uri, "/collections/news/similar?id=a&mode=exact");
    let ended = akin(&["similar", "--id", "a", "--collection", "../x", "--url", &url]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("begins with a letter or a digit"), "{}", ended.stderr);
}

#[test]
fn a_problem_is_one_line() {
    let server = Server::scripted(|_, _| {
        Some(problem(StatusCode::NOT_FOUND, "there is no document 'x'", None))
    });
    let ended = akin(&["similar", "--id", "x", "--url", &server.url()]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert_eq!(ended.stderr, "error: there is no document 'x'\n");
}

#[test]
fn wrong_arguments_exit_with_2() {
    for arguments in [
        &["similar"][..],
        &["similar", "file", "--id", "x"],
        &["import"],
        &["import", "-", "--threshold", "1.5"],
        &["import", "-", "--no-check", "--threshold", "0.5"],
        &["nonsense"],
        &[],
    ] {
        assert_eq!(akin(arguments).code, Some(2), "{arguments:?}");
    }
}

#[test]
fn check_config_shows_settings_that_can_be_read_back() {
    let shown = akin(&["check-config"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    for line in
        ["[server]", "listen = \"127.0.0.1:2546\"", "[collection.scheme]", "threshold = 0.8"]
    {
        assert!(shown.stdout.lines().any(|shown| shown == line), "{line} in {}", shown.stdout);
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), shown.stdout.replace("threshold = 0.8", "threshold = 0.5"))
        .unwrap();
    let again = akin(&["check-config", "--config", file.path().to_str().unwrap(), "--json"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let settings: serde_json::Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(settings["collection"]["scheme"]["threshold"], 0.5);
    assert_eq!(settings["storage"]["data_dir"], "./akin-data");
}

#[test]
fn check_config_reports_every_fault() {
    let faulty = command(&["check-config"])
        .env("AKIN__SERVER__LISTN", "127.0.0.1:1")
        .env("AKIN__SERVER__LIMIT_MAX", "0")
        .output()
        .unwrap();
    assert_eq!(faulty.status.code(), Some(1));
    let stderr = String::from_utf8(faulty.stderr).unwrap();
    assert!(stderr.starts_with("error: the configuration has 2 faults:\n"), "{stderr}");
    assert!(stderr.contains("server.listn: unknown key, did you mean server.listen?"), "{stderr}");
    assert!(stderr.contains("server.limit_max: must be at least 1"), "{stderr}");
}

#[test]
fn health_is_an_exit_code() {
    let server = Server::start();
    assert_eq!(akin(&["health", "--url", &server.url()]).code, Some(0));
    let url = server.url();
    drop(server);
    let ended = akin(&["health", "--url", &url]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.starts_with("error: "), "{}", ended.stderr);
}

#[test]
fn completions_are_written() {
    let ended = akin(&["completions", "bash"]);
    assert_eq!(ended.code, Some(0));
    assert!(ended.stdout.contains("check-config"));
}

#[test]
fn manual_pages_have_the_texts_of_help() {
    let dir = tempfile::tempdir().unwrap();
    let pages = dir.path().join("man1");
    let ended = akin(&["man", pages.to_str().unwrap()]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let help = akin(&["keys", "create", "--help"]).stdout;
    let page = std::fs::read_to_string(pages.join("akin-keys-create.1")).unwrap();
    assert!(page.starts_with(".ie") && page.contains("\n.TH AKIN-KEYS-CREATE 1 \"\" \"akin "));
    let examples = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    let page = page.replace("\\-", "-");
    assert!(page.contains(".SH EXAMPLES\n"), "{page}");
    for line in examples {
        assert!(page.contains(line), "{line} in {page}");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = command(&["completions", "bash"]).stdout(writer).output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert!(ended.stderr.is_empty());
}

#[test]
fn ctrl_c_removes_partial_outputs() {
    let dir = tempfile::tempdir().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // A server whose answer begins and never ends, held until the test ends.
    let (hold, held) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let _ = connection.read(&mut [0; 4096]);
            let _ =
                connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\nbegun");
            hold.send(connection).unwrap();
        }
    });
    let path = dir.path().join("backup.tar");
    let child = command(&["backup", "--url", &url, "--output", path.to_str().unwrap()])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    while std::fs::read_dir(dir.path()).unwrap().next().is_none() {
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    let kill = std::process::Command::new("sh").args(["-c", "kill -INT \"$0\"", &pid]).status();
    assert!(kill.unwrap().success());
    let ended = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(130), "{stderr}");
    assert!(stderr.starts_with("interrupted: saving: "), "{stderr}");
    assert!(stderr.ends_with("the partial output is removed\n"), "{stderr}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    drop(held);
}
