//! Who does what, on how many documents.

use crate::corpus::Description;

/// In this order.
pub const TASKS: [&str; 9] =
    ["limits", "text", "dedup", "index", "join", "growth", "filing", "http", "server"];

/// Texts of this size are enough for a rate, and the slowest peer is through in seconds.
const TEXT_BYTES: u64 = 20_000_000;

/// Documents that go through every service.
const HTTP_DOCUMENTS: usize = 20_000;

/// Few enough for an exact join in Python.
const JOINED_MIN: usize = 5_000;

pub struct Planned {
    pub task: String,
    pub participant: String,
    pub setting: String,
    pub documents: usize,
}

impl Planned {
    /// Whether it is akin at its largest, whose time is worth looking into.
    pub fn is_profiled(&self, corpus: &Description) -> bool {
        let sized = ["index", "join", "growth", "filing"].contains(&self.task.as_str());
        self.participant == "akin" && (!sized || self.documents == corpus.documents)
    }

    /// The programs that a participant in Python runs.
    pub fn script(&self) -> Option<String> {
        let python = ["datasketch", "rensa", "SetSimilaritySearch"];
        let is_python = python.contains(&self.participant.as_str()) && self.task != "dedup";
        is_python.then(|| format!("{}.py", self.task))
    }
}

pub fn of(task: &str, corpus: &Description, python_max: usize) -> Vec<Planned> {
    let all = corpus.documents;
    let common = all.min(python_max);
    match task {
        "limits" => vec![planned(task, "the machine", "one core", 0)],
        "text" => text(corpus),
        "dedup" => dedup(all, common),
        "index" => index(all, common),
        "join" => join(all, common),
        "growth" => growth(task, corpus, &["verified", "exact"]),
        "filing" => growth(task, corpus, &["an index"]),
        "http" => http(all.min(HTTP_DOCUMENTS)),
        "server" => vec![planned(task, "akin", "bulk, crash, restart", all)],
        _ => panic!("there is no part called {task}; there are {}", TASKS.join(", ")),
    }
}

fn planned(task: &str, participant: &str, setting: &str, documents: usize) -> Planned {
    let [task, participant, setting] = [task, participant, setting].map(str::to_owned);
    Planned { task, participant, setting, documents }
}

fn text(corpus: &Description) -> Vec<Planned> {
    let each = corpus.text_bytes / corpus.documents.max(1) as u64;
    let documents = corpus.documents.min((TEXT_BYTES / each.max(1)) as usize);
    let setting = "3 words, 128 slots";
    let of = |participant| planned("text", participant, setting, documents);
    let of_level = |level| planned("text", "akin", &format!("{level} only"), documents);
    let mut all = vec![of("akin"), of_level("Avx2"), of_level("Portable")];
    all.extend(["gaoya", "rensa", "datasketch"].map(of));
    all
}

/// By this rule no shingle is lost.
pub const CONTAINED: &str = "rule contained";

fn dedup(all: usize, common: usize) -> Vec<Planned> {
    let who = [
        ("akin", "verified"),
        ("akin", "exact"),
        ("akin", CONTAINED),
        ("text-dedup", "own bands"),
        ("text-dedup", "21 bands of 6 rows"),
        ("datatrove", "own bands"),
        ("datatrove", "21 bands of 6 rows"),
        ("datasketch", "own bands"),
        ("datasketch", "checked exactly"),
        ("rensa", "own bands"),
        ("rensa", "checked exactly"),
    ];
    let of =
        |documents| move |(participant, setting)| planned("dedup", participant, setting, documents);
    let of_all = who.into_iter().filter(|(participant, _)| all > common && *participant == "akin");
    who.map(of(common)).into_iter().chain(of_all.map(of(all))).collect()
}

fn index(all: usize, common: usize) -> Vec<Planned> {
    let rust = [
        ("akin", "sketches compared"),
        ("akin", "checked exactly"),
        ("akin", "keys for 0.8 only"),
        ("gaoya", "own: estimated"),
        ("gaoya", "checked exactly"),
    ];
    let python = [
        ("rensa", "own: 8 bands"),
        ("rensa", "checked exactly"),
        ("datasketch", "own"),
        ("datasketch", "checked exactly"),
    ];
    let mut list = Vec::new();
    let mut add = |(participant, setting), documents| {
        list.push(planned("index", participant, setting, documents));
    };
    for which in rust.into_iter().chain(python) {
        add(which, common);
    }
    if all > common {
        for which in rust {
            add(which, all);
        }
    }
    list
}

fn join(all: usize, common: usize) -> Vec<Planned> {
    let mut sizes = vec![JOINED_MIN, common / 4, common, all / 4, all];
    sizes.retain(|size| (JOINED_MIN.min(all)..=all).contains(size));
    sizes.sort_unstable();
    sizes.dedup();
    let who = [
        ("akin", "verified", all),
        ("akin", "exact", all),
        ("gaoya", "checked exactly", all),
        ("SetSimilaritySearch", "exact", common),
    ];
    let of = |(participant, setting, most): (&str, &str, usize)| {
        let sizes = sizes.iter().filter(|size| **size <= most);
        sizes.map(|size| planned("join", participant, setting, *size)).collect::<Vec<_>>()
    };
    who.into_iter().flat_map(of).collect()
}

/// Of made-up documents there are as many as are wanted: a tenth, as many, and ten times as many.
fn growth(task: &str, corpus: &Description, settings: &[&str]) -> Vec<Planned> {
    let all = corpus.documents;
    let sizes = if corpus.is_made_up() { vec![all / 10, all, 10 * all] } else { Vec::new() };
    let of = |setting: &&str| {
        let setting = *setting;
        sizes.iter().map(move |size| planned(task, "akin", setting, *size)).collect::<Vec<_>>()
    };
    settings.iter().flat_map(of).collect()
}

fn http(documents: usize) -> Vec<Planned> {
    let who = [
        ("axum", "echo, not a peer but the limit"),
        ("akin", "durable: every answer synced"),
        ("akin", "durable, passages of 32 words"),
        ("akin", "sync in an interval of 1 s"),
        ("FastAPI + rensa", "in memory, one worker"),
        ("FastAPI + datasketch", "in memory, one worker"),
    ];
    who.map(|(participant, setting)| planned("http", participant, setting, documents)).into()
}
