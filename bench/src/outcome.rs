//! What a participant has to show, as it goes from process to process and into `results.json`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// One row of one table. Figures are named with their unit last.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    pub task: String,
    pub participant: String,
    pub version: String,
    /// How it was set up.
    pub setting: String,
    pub documents: usize,
    /// When, and of which commit, as [`crate::machine::Machine`] has them.
    pub date: String,
    pub commit: String,
    pub figures: BTreeMap<String, f64>,
    /// For plots: points of named lines.
    pub lines: BTreeMap<String, Vec<[f64; 2]>>,
    /// Why there are no figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Outcome {
    pub fn new(participant: &str, version: &str, setting: &str, documents: usize) -> Self {
        let [participant, version, setting] = [participant, version, setting].map(str::to_owned);
        Self { participant, version, setting, documents, ..Self::default() }
    }

    pub fn set(&mut self, name: &str, figure: f64) {
        // JSON has no other numbers.
        if figure.is_finite() {
            self.figures.insert(name.to_owned(), figure);
        }
    }

    pub fn get(&self, name: &str) -> Option<f64> {
        self.figures.get(name).copied()
    }

    /// Says it to whoever started this process.
    pub fn print(&self) {
        println!("{}", serde_json::to_string(self).expect("figures are finite"));
    }

    pub fn is_about_the_same(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    /// What makes another outcome take this one's place.
    fn key(&self) -> (&str, &str, &str, usize) {
        (&self.task, &self.participant, &self.setting, self.documents)
    }
}

/// Everything known of one corpus on one machine: `results.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Results {
    pub corpus: crate::corpus::Description,
    pub machine: crate::machine::Machine,
    pub outcomes: Vec<Outcome>,
}

impl Results {
    /// `None` if there are none yet.
    pub fn read(folder: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(folder.join("results.json")).ok()?;
        Some(serde_json::from_str(&text).expect("results.json is as it was written"))
    }

    pub fn write(&self, folder: &Path) {
        std::fs::create_dir_all(folder).expect("the folder of the report can be made");
        let text = serde_json::to_string_pretty(self).expect("results are plain");
        std::fs::write(folder.join("results.json"), text + "\n").expect("the report is written");
    }

    /// Takes outcomes of a task in place of those that it had before.
    pub fn replace(&mut self, task: &str, outcomes: Vec<Outcome>) {
        self.outcomes.retain(|known| known.task != task);
        self.outcomes.extend(outcomes);
        self.outcomes.dedup_by(|a, b| a.key() == b.key());
    }

    pub fn of<'a>(&'a self, task: &'a str) -> impl Iterator<Item = &'a Outcome> + 'a {
        self.outcomes.iter().filter(move |outcome| outcome.task == task)
    }
}
