//! A command over files in a directory of their own, which are compared with a corpus beside them.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::inputs::put;
use crate::{Ended, akin};

pub struct ComparedCorpus {
    pub dir: TempDir,
    /// The path of the corpus.
    pub corpus: String,
    command: &'static str,
    /// The option that names the corpus.
    option: &'static str,
}

impl ComparedCorpus {
    pub fn new(command: &'static str, option: &'static str, corpus: impl AsRef<[u8]>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let corpus = put(dir.path(), "corpus.jsonl", corpus);
        Self { dir, corpus, command, option }
    }

    pub fn at(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    pub fn put(&self, name: &str, data: &str) -> String {
        put(self.dir.path(), name, data)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    pub fn run(&self, arguments: &[&str]) -> Ended {
        akin(&[&[self.command], arguments, &[self.option, &self.corpus]].concat())
    }

    /// A run that goes well.
    #[track_caller]
    pub fn done(&self, arguments: &[&str]) -> Ended {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
        ended
    }

    #[track_caller]
    pub fn refused(&self, arguments: &[&str], code: i32, why: &str) {
        let ended = self.run(arguments);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), ""), "{arguments:?}");
        assert!(ended.stderr.contains(why), "{arguments:?}: {}", ended.stderr);
    }
}

/// Lines of JSON.
pub fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
