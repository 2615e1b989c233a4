use std::fs;
use std::io::Read;

use super::*;

#[test]
fn a_file_appears_only_once_it_is_finished() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out");
    let write = |overwrite: bool| {
        let mut output = Output::create(&path, overwrite).unwrap();
        output.write_all(b"new").unwrap();
        output
    };
    let unfinished = write(false);
    let entry = fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap();
    assert!(entry.file_name().to_str().unwrap().starts_with('.'), "no command reads it");
    drop(unfinished);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left of it");
    let late = write(false);
    fs::write(&path, "old").unwrap();
    assert!(late.finish().is_err(), "a file that appeared meanwhile is not overwritten");
    assert!(Output::create(&path, false).is_err());
    let output = write(true);
    assert_eq!(fs::read(&path).unwrap(), b"old");
    output.finish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left");
}

#[test]
fn a_replaced_file_keeps_its_mode() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("secret");
    for mode in [0o600, 0o640, 0o666, 0o755] {
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        Output::create(&path, true).unwrap().finish().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, mode);
    }
}

#[test]
fn the_extension_decides_the_compression() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str| {
        let path = dir.path().join(name);
        let mut output = Output::create(&path, false).unwrap();
        output.write_all(b"a line\n").unwrap();
        output.finish().unwrap();
        fs::read(path).unwrap()
    };
    let mut text = String::new();
    flate2::read::GzDecoder::new(&write("a.gz")[..]).read_to_string(&mut text).unwrap();
    assert_eq!(text, "a line\n");
    assert_eq!(zstd::stream::decode_all(&write("a.jsonl.zst")[..]).unwrap(), b"a line\n");
}

#[test]
fn devices_are_not_replaced() {
    let mut output = Output::create(Path::new("/dev/null"), false).unwrap();
    output.write_all(b"nothing").unwrap();
    output.finish().unwrap();
    assert!(!Path::new("/dev/null").is_file());
}

#[test]
fn a_pipe_may_have_the_name_of_any_compression() {
    let dir = tempfile::tempdir().unwrap();
    let check = |name: &str| {
        let output = dir.path().join(name);
        Destination { output, force: false }.check(&Inputs::default())
    };
    let pipe = dir.path().join("pipe.bz2");
    rustix::fs::mkfifoat(rustix::fs::CWD, pipe, rustix::fs::Mode::RWXU).unwrap();
    assert!(check("pipe.bz2").is_ok());
    assert!(check("file.bz2").is_err());
}

#[test]
fn a_file_behind_a_link_is_replaced_in_its_directory() {
    let dir = tempfile::tempdir().unwrap();
    let [links, files] =
        ["links", "files"].map(|name| dir.path().canonicalize().unwrap().join(name));
    for directory in [&links, &files] {
        fs::create_dir(directory).unwrap();
    }
    fs::write(files.join("out"), "old").unwrap();
    std::os::unix::fs::symlink("../files/out", links.join("out")).unwrap();
    assert_eq!(directory(&links.join("out")), files);
    assert_eq!(directory(&links.join("new")), links);
    assert_eq!(directory(Path::new("new")), Path::new("."));
    Output::create(&links.join("out"), true).unwrap().finish().unwrap();
    assert_eq!(fs::read(files.join("out")).unwrap(), b"");
}

#[test]
fn the_name_of_the_file_behind_a_link_says_the_format_and_the_compression() {
    let dir = tempfile::tempdir().unwrap();
    let behind = |link: &str, name: &str| {
        fs::write(dir.path().join(name), "old").unwrap();
        let output = dir.path().join(link);
        std::os::unix::fs::symlink(name, &output).unwrap();
        Destination { output, force: true }
    };
    let check = |destination: Destination| destination.check(&Inputs::default());
    let refused = format!("{:?}", check(behind("a.txt", "a.bz2")));
    assert!(refused.contains("its name says bz2"), "{refused}");
    check(behind("b.bz2", "b.txt")).unwrap();
    let table = behind("c.parquet", "c.csv.gz");
    assert!(table.is_csv() && !table.is_parquet());
    assert!(table.check_format(false).is_err() && table.check_format(true).is_ok());
    assert!(behind("d.csv", "d.parquet").is_parquet());
}
