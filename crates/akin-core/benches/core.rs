//! The cost of the pure core: `cargo bench -p akin-core --bench core -- [FILE]`.
//!
//! Each figure is the median of several rounds over the whole corpus: the lines of the file (a
//! text or a JSONL), or made-up documents of the size of a manual page.

mod corpus;
#[path = "corpus/scripts.rs"]
mod scripts;

use std::hint::black_box;
use std::time::{Duration, Instant};

use akin_core::measure::Overlap;
use akin_core::scheme::{Bands, Curve, IndexBytes, Kind, SchemeSettings, Threshold};
use akin_core::simd::Level;
use akin_core::sketch::{Estimator, Method, Sketch, SketchSettings, Sketcher};
use akin_core::text::{Normalize, ShingleError, ShingleSet, ShingleSettings, Shingler, Unit};
use xxhash_rust::xxh3::xxh3_64;

const ROUNDS: usize = 7;
const DOCUMENTS: usize = 2_000;
const DOCUMENT_BYTES: usize = 5_800;

/// More shingles than any document here has.
const SHINGLES_MAX: usize = 100_000_000;

/// Lines of a file are joined to documents of at least this size.
const JOINED_BYTES_MIN: usize = 1_000;

fn main() {
    // Cargo itself passes `--bench`.
    let file = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let documents = match file {
        Some(path) => read_documents(&path),
        None => corpus::each_document(DOCUMENT_BYTES).take(DOCUMENTS).collect(),
    };
    let bytes: usize = documents.iter().map(String::len).sum();
    println!(
        "{} documents, {:.1} MB; median of {ROUNDS} rounds",
        documents.len(),
        bytes as f64 / 1e6
    );

    let limit = median(|| documents.iter().map(|text| xxh3_64(text.as_bytes())).sum::<u64>());
    print_rate("xxh3 of the bytes (a limit)", bytes as f64 / 1e6, "MB/s", limit);
    let copy = median(|| documents.concat().len());
    print_rate("memcpy of the bytes (a limit)", bytes as f64 / 1e6, "MB/s", copy);
    for level in Level::available() {
        time_level(level, &documents, bytes);
    }
    time_text(&documents, bytes);
    time_scripts();

    let shingler = Shingler::new(ShingleSettings::default(), 0, SHINGLES_MAX);
    let sets: Vec<ShingleSet> =
        documents.iter().filter_map(|text| Some(shingler.text(text).ok()?.set)).collect();
    time_sets(&sets);
    time_sketches(&sets);
    time_small_sets();
}

fn read_documents(path: &str) -> Vec<String> {
    let text = std::fs::read(path).expect("the corpus can be read");
    let text = String::from_utf8_lossy(&text);
    let mut documents = vec![String::new()];
    for line in text.split_inclusive('\n') {
        let last = documents.last_mut().expect("there is always one");
        if last.len() < JOINED_BYTES_MIN {
            last.push_str(line);
        } else {
            documents.push(line.to_owned());
        }
    }
    documents
}

/// The way of most texts, with no more than a level's instructions.
fn time_level(level: Level, documents: &[String], bytes: usize) {
    let megabytes = bytes as f64 / 1e6;
    let of = |size| {
        let settings = ShingleSettings { size, ..ShingleSettings::default() };
        Shingler::new(settings, 0, SHINGLES_MAX).with_level(level)
    };
    let (words, shingler) = (of(1), of(3));
    let sketcher = Sketcher::new(SketchSettings::default()).with_level(level);
    let count = |cut: &dyn Fn(&str) -> usize| {
        median(|| documents.iter().map(|text| cut(text)).sum::<usize>())
    };
    let print = |what: &str, took| {
        print_rate(&format!("{what}, {level:?}"), megabytes, "MB/s", took);
    };
    print("text → words", count(&|text| words.shingles(text).map_or(0, |it| it.len())));
    print("text → shingles", count(&|text| shingler.shingles(text).map_or(0, |it| it.len())));
    print("text → set", count(&|text| shingler.text(text).map_or(0, |it| it.set.count())));
    let sketch = |text: &str| {
        let shingles = shingler.shingles(text)?;
        Ok::<_, ShingleError>(sketcher.sketch_shingles(&shingles).as_bytes().len())
    };
    print("text → sketch", count(&|text| sketch(text).unwrap_or(0)));
    let mut random = corpus::Numbers(3);
    for size in [100, 725, 8_192, 65_536] {
        let shingles: Vec<Vec<u64>> =
            (0..200_000 / size).map(|_| (0..size).map(|_| random.next()).collect()).collect();
        let bytes = |it: &Vec<u64>| sketcher.sketch_shingles(it).as_bytes().len();
        let took = median(|| shingles.iter().map(bytes).sum::<usize>());
        let shingled = shingles.len() * size;
        print_each(&format!("{size} shingles → sketch, {level:?}"), shingled, "shingle", took);
    }
}

fn time_text(documents: &[String], bytes: usize) {
    let megabytes = bytes as f64 / 1e6;
    let of_words = [1, 5, 8].map(|size| (Unit::Word, size));
    let cuts = Unit::of_texts().map(|unit| (unit, 3)).chain(of_words);
    for (unit, size) in cuts {
        let settings = ShingleSettings { unit, size, ..ShingleSettings::default() };
        let shingler = Shingler::new(settings.clone(), 0, SHINGLES_MAX);
        let cut = median(|| {
            documents
                .iter()
                .map(|text| shingler.shingles(text).map_or(0, |it| it.len()))
                .sum::<usize>()
        });
        print_rate(&format!("text → shingles, {unit:?} × {size}"), megabytes, "MB/s", cut);
        let sets = median(|| {
            documents
                .iter()
                .filter_map(|text| shingler.text(text).ok())
                .map(|it| it.set.count())
                .sum::<usize>()
        });
        print_rate(&format!("text → set, {unit:?} × {size}"), megabytes, "MB/s", sets);
        let multiset = ShingleSettings { multiset: true, ..settings };
        let shingler = Shingler::new(multiset, 0, SHINGLES_MAX);
        let sets = median(|| documents.iter().filter_map(|text| shingler.text(text).ok()).count());
        print_rate(&format!("text → multiset, {unit:?} × {size}"), megabytes, "MB/s", sets);
    }
}

/// The cost of normalisation in each script: rounds of the three settings by turns.
fn time_scripts() {
    for (script, text) in scripts::each_script(500_000) {
        let forms = [Normalize::None, Normalize::Nfc, Normalize::Nfkc];
        let shinglers = forms.map(|normalize| {
            let settings = ShingleSettings { normalize, ..ShingleSettings::default() };
            Shingler::new(settings, 0, SHINGLES_MAX)
        });
        let mut least = [Duration::MAX; 3];
        for _ in 0..3 * ROUNDS {
            for (shingler, least) in shinglers.iter().zip(&mut least) {
                let begun = Instant::now();
                black_box(shingler.shingles(&text)).expect("it is short");
                *least = begun.elapsed().min(*least);
            }
        }
        for (form, took) in forms.iter().zip(least) {
            let what = format!("text → shingles, {script}, {form:?}");
            print_rate(&what, text.len() as f64 / 1e6, "MB/s", took);
        }
    }
}

fn time_sets(sets: &[ShingleSet]) {
    let shingles: usize = sets.iter().map(ShingleSet::count).sum();
    println!("{} sets of {} shingles on average", sets.len(), shingles / sets.len());
    for method in [Method::Fast32, Method::Permutations] {
        let sketcher = Sketcher::new(SketchSettings { method, ..SketchSettings::default() });
        let took = median(|| sets.iter().map(|set| sketcher.sketch(set)).collect::<Vec<_>>().len());
        print_rate(
            &format!("set → sketch, {method:?}"),
            shingles as f64 / 1e6,
            "M shingles/s",
            took,
        );
        print_each(&format!("set → sketch, {method:?}"), shingles, "shingle", took);
    }
    let fingerprints =
        median(|| sets.iter().map(ShingleSet::fingerprint).fold(0, u64::wrapping_add));
    print_each("fingerprint", shingles, "shingle", fingerprints);
    let pairs: Vec<_> = sets.windows(2).map(|pair| (&pair[0], &pair[1])).collect();
    let elements: usize = pairs.iter().map(|(a, b)| a.count() + b.count()).sum();
    let overlap = median(|| pairs.iter().map(|(a, b)| Overlap::of(a, b).shared).sum::<usize>());
    print_each("overlap of two sets", elements, "element", overlap);
    let reaching =
        median(|| pairs.iter().filter_map(|(a, b)| Overlap::reaching(a, b, 0.8)).count());
    print_each("the same, given up under 0.8", elements, "element", reaching);
}

fn time_sketches(sets: &[ShingleSet]) {
    for bits in [8, 16, 32] {
        let settings = SketchSettings { bits, ..SketchSettings::default() };
        let maker = Sketcher::new(settings.clone());
        let sketches: Vec<Sketch> = sets.iter().map(|set| maker.sketch(set)).collect();
        let estimator = Estimator::new(&settings);
        let probe = sketches[0].as_bytes();
        let agreeing = median(|| {
            sketches
                .iter()
                .map(|sketch| estimator.agreeing(black_box(probe), sketch.as_bytes()))
                .sum::<u32>()
        });
        print_each(&format!("agreeing slots, 128 × {bits} bits"), sketches.len(), "pair", agreeing);
        for kind in [Kind::Bands, Kind::RandomRows] {
            let scheme = SchemeSettings { kind, ..SchemeSettings::default() };
            let bands = Bands::new(&scheme, &settings);
            let keys = median(|| {
                let keys =
                    sketches.iter().flat_map(|sketch| bands.keys(sketch.as_bytes(), bands.bands));
                keys.map(|key| u64::from(key.value)).sum::<u64>()
            });
            let what = format!("{} keys of a sketch, {kind:?}, {bits} bits", bands.bands);
            print_each(&what, sketches.len(), "sketch", keys);
        }
    }
    time_plans();
}

fn time_plans() {
    for slots in [128, 1024] {
        let settings = SketchSettings { slots, ..SketchSettings::default() };
        let bands = Bands::new(&SchemeSettings::default(), &settings);
        let threshold = |n: usize| Threshold::new(0.6 + n as f64 / 1e4).expect("0.6 to 0.7");
        let begun = Instant::now();
        let probed: u32 = (0..100).map(|n| bands.plan(threshold(n)).bands).sum();
        print_each(&format!("a new plan, {slots} slots"), black_box(100), "plan", begun.elapsed());
        black_box(probed);
        let again = median(|| (0..1000).map(|n| bands.plan(threshold(n % 50)).bands).sum::<u32>());
        print_each(&format!("a known plan, {slots} slots"), 1000, "plan", again);
        let (at, index) = (threshold(0), IndexBytes { key: 8.0, entry: 0.0 });
        let curve = median(|| Curve::of(&bands, at, &bands.plan_all(at), index));
        print_each(&format!("a curve, {slots} slots"), 1, "curve", curve);
    }
}

/// Small sets leave bins empty, which costs a pass over the set for each.
fn time_small_sets() {
    let mut random = corpus::Numbers(2);
    let sketcher = Sketcher::new(SketchSettings::default());
    for count in [10, 50, 128, 256, 512, 1024, 8192] {
        let mut set = || ShingleSet::from_shingles((0..count).map(|_| random.next()).collect());
        let sets: Vec<ShingleSet> = (0..100).filter_map(|_| set()).collect();
        let took = median(|| sets.iter().map(|set| sketcher.sketch(set)).collect::<Vec<_>>().len());
        print_each(&format!("set of {count} → sketch, Fast"), sets.len(), "sketch", took);
    }
}

/// The median time of several runs, after a run that does not count.
fn median<T>(mut run: impl FnMut() -> T) -> Duration {
    black_box(run());
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            black_box(run());
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[ROUNDS / 2]
}

fn print_rate(what: &str, amount: f64, unit: &str, took: Duration) {
    println!("{what:<44} {:>10.1} {unit}", amount / took.as_secs_f64());
}

fn print_each(what: &str, count: usize, unit: &str, took: Duration) {
    println!("{what:<44} {:>10.2} ns/{unit}", took.as_secs_f64() * 1e9 / count as f64);
}
