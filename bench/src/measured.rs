//! Times and memory.

use std::collections::HashMap;
use std::hint::black_box;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Others on a machine slow it down for seconds: whoever needs milliseconds for a round gets more.
const ROUNDS_LAST: Duration = Duration::from_secs(2);

/// The shortest time of several runs, and of as many more as begin within two seconds: what else
/// the machine does only ever adds to it.
pub fn best<T>(rounds: usize, mut run: impl FnMut() -> T) -> Duration {
    let begun = Instant::now();
    let mut shortest = Duration::MAX;
    for round in 0.. {
        if round >= rounds && begun.elapsed() >= ROUNDS_LAST {
            break;
        }
        let started = Instant::now();
        black_box(run());
        shortest = shortest.min(started.elapsed());
    }
    shortest
}

/// At a share of sorted times, in microseconds.
pub fn percentile_us(sorted: &[Duration], percent: f64) -> f64 {
    let last = sorted.len().saturating_sub(1) as f64;
    sorted.get((last * percent / 100.0) as usize).map_or(0.0, |time| time.as_secs_f64() * 1e6)
}

/// The percentiles that the plot of latencies shows.
pub fn percentiles_us(sorted: &[Duration]) -> Vec<[f64; 2]> {
    let shares = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9];
    shares.map(|percent| [percent, percentile_us(sorted, percent)]).to_vec()
}

/// Resident memory of a process now, in bytes; 0 where Linux does not tell.
pub fn resident_bytes(process: &str) -> u64 {
    status_bytes(process, "VmRSS:")
}

/// The most it ever was.
pub fn peak_bytes(process: &str) -> u64 {
    status_bytes(process, "VmHWM:")
}

/// Of each page a share, by the number of processes that have it.
fn share_bytes(process: &str) -> u64 {
    bytes_of(&format!("/proc/{process}/smaps_rollup"), "Pss:")
}

fn status_bytes(process: &str, name: &str) -> u64 {
    bytes_of(&format!("/proc/{process}/status"), name)
}

fn bytes_of(file: &str, name: &str) -> u64 {
    let status = std::fs::read_to_string(file).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Processor time that a process has used, in seconds. Linux counts it in hundredths.
pub fn processor_s(process: u32) -> f64 {
    seconds(&process.to_string(), 11)
}

/// Processor time of the ended children of this process.
pub fn children_s() -> f64 {
    seconds("self", 13)
}

/// The sum of the user and system times from this field on, behind the name of the process.
fn seconds(process: &str, field: usize) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let ticks = fields(&stat).skip(field).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// The fields behind the name of the process, which is in parentheses and may hold anything.
fn fields(stat: &str) -> impl Iterator<Item = &str> {
    stat.rsplit(") ").next().unwrap_or_default().split(' ')
}

/// A process and its descendants: how often they are looked at.
const LOOKS: Duration = Duration::from_millis(50);

/// Proportional shares of memory are told slowly: they are asked for at every so many looks.
const LOOKS_A_SHARE: u32 = 10;

/// What a process and its descendants used.
#[derive(Default)]
pub struct ProcessGroup {
    pub processor_s: f64,
    pub seconds: f64,
    /// Pages that processes share count once.
    pub peak_bytes: u64,
    /// The most that files without a name had at once.
    pub temporary_bytes: u64,
    /// Of each process that was seen, the latest.
    each_s: HashMap<String, f64>,
}

impl ProcessGroup {
    /// Runs a command to its end.
    ///
    /// # Errors
    /// It does not start, it fails, or it takes more processor time than this.
    pub fn run(command: &mut Command, processor_s_max: f64) -> Result<Self, String> {
        let (before, started) = (children_s(), Instant::now());
        let child = command.process_group(0).stdout(Stdio::null()).spawn();
        let mut child = child.map_err(|error| format!("it does not start: {error}"))?;
        let (group, mut used) = (child.id().to_string(), Self::default());
        let status = (0..).find_map(|look| {
            let ended = child.try_wait().expect("a child can be asked");
            if ended.is_none() {
                used.look(&group, look % LOOKS_A_SHARE == 0);
                if used.processor_s > processor_s_max {
                    let all = format!("-{group}");
                    let _ = Command::new("kill").args(["-KILL", "--", &all]).status();
                }
                sleep(LOOKS);
            }
            ended
        });
        used.seconds = started.elapsed().as_secs_f64();
        if used.processor_s > processor_s_max {
            return Err(format!("unfinished at {:.0} CPU seconds", used.processor_s));
        }
        // Descendants that nobody waited for were seen; those that were too short were waited for.
        used.processor_s = used.processor_s.max(children_s() - before);
        let status = status.expect("looks have no end");
        if status.success() { Ok(used) } else { Err(format!("failed: {status}")) }
    }

    fn look(&mut self, group: &str, shares: bool) {
        let (mut bytes, mut temporary) = (0, 0);
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let process = entry.file_name().to_string_lossy().into_owned();
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            if fields(&stat).nth(2) != Some(group) {
                continue;
            }
            self.peak_bytes = self.peak_bytes.max(peak_bytes(&process));
            if shares {
                bytes += share_bytes(&process);
            }
            temporary += temporary_bytes(&process);
            self.each_s.insert(process.clone(), seconds(&process, 11));
        }
        self.peak_bytes = self.peak_bytes.max(bytes);
        self.temporary_bytes = self.temporary_bytes.max(temporary);
        self.processor_s = self.each_s.values().sum();
    }
}

/// What open files without a name have on disk.
fn temporary_bytes(process: &str) -> u64 {
    let files = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let nameless = files.filter(|file| {
        let name = std::fs::read_link(file.path()).unwrap_or_default();
        name.to_string_lossy().ends_with(" (deleted)")
    });
    let blocks = nameless.filter_map(|file| std::fs::metadata(file.path()).ok());
    blocks.map(|file| file.blocks() * 512).sum()
}
