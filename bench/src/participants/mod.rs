//! Who is measured, each in a process of its own.

mod akin_index;
mod akin_join;
mod dedup;
mod gaoya;
mod growth;
mod http;
mod limits;
mod lookups;
mod server;
mod servers;
mod text;

pub use http::is_scored;
pub use servers::Server;

use std::path::PathBuf;

use clap::Args;

use crate::outcome::Outcome;

/// What one process is to do.
#[derive(Args, Clone, Debug)]
pub struct Job {
    pub task: String,
    pub participant: String,
    pub setting: String,
    /// A prepared corpus.
    #[arg(long)]
    pub corpus: PathBuf,
    /// Take so many of its documents.
    #[arg(long)]
    pub documents: usize,
    /// Write the pairs that are found here.
    #[arg(long)]
    pub found: PathBuf,
    /// The akin to serve with.
    #[arg(long, default_value = "akin")]
    pub akin: PathBuf,
    #[arg(long, default_value = "python3")]
    pub python: PathBuf,
    /// Where the peers in Python are.
    #[arg(long, default_value = "bench/peers")]
    pub peers: PathBuf,
}

impl Job {
    /// An outcome of this job, without figures yet.
    pub fn outcome(&self, version: &str) -> Outcome {
        Outcome::new(&self.participant, version, &self.setting, self.documents)
    }
}

/// Does the job and prints what came of it.
pub fn take(job: &Job) {
    if job.task == "echo" {
        return servers::echo();
    }
    let mut outcome = match (job.task.as_str(), job.participant.as_str()) {
        ("text", _) => text::measure(job),
        ("index", "akin") => akin_index::measure(job),
        ("index", "gaoya") => gaoya::index(job),
        ("join", "akin") => akin_join::measure(job),
        ("join", "gaoya") => gaoya::join(job),
        ("dedup", _) => dedup::measure(job),
        ("growth", _) => growth::pairs(job),
        ("filing", _) => growth::filing(job),
        ("http", _) => http::measure(job),
        ("server", _) => server::measure(job),
        ("limits", _) => limits::measure(job),
        (task, participant) => panic!("nobody called {participant} does {task}"),
    };
    if !outcome.figures.contains_key("peak_bytes") {
        outcome.set("peak_bytes", crate::measured::peak_bytes("self") as f64);
    }
    outcome.print();
}
