//! Tests that return early because the machine lacks something. The test harness
//! counts them as passed, so their names go to a file, which `tests/check.sh` prints at its end.

use std::fs::OpenOptions;
use std::io::Write;

/// Adds the current test to the file that `AKIN_TEST_NOT_RUN` names, if it names a file.
pub fn note(why: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    eprintln!("not run: {test}: {why}");
    if let Some(path) = std::env::var_os("AKIN_TEST_NOT_RUN") {
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        // A single write, as tests run at the same time.
        file.write_all(format!("{test}: {why}\n").as_bytes()).unwrap();
    }
}
