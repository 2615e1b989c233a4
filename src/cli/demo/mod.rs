//! `akin demo`: a server, an import and the near-duplicates it found, in one process.

mod pairs;

use std::io::{self, Write, stderr, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use clap::Args;
use indicatif::HumanCount;
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use self::pairs::{DemoPair, Pairs};
use super::client::{Client, Trust, query_value};
use super::failure::Failure;
use super::import::{Import, ImportReport, import};
use super::interrupt;
use super::serve::flags;
use crate::app::{self, AppError};
use crate::config::{SettingSources, Settings};
use crate::telemetry;
use akin_files::input::{InputOptions, Selection};
use akin_files::meter::{Meter, Quantity};
use akin_files::output::print_json;

const PAIRS_SHOWN: usize = 10;
/// A directory of texts that most machines have.
const DOCUMENTATION: &str = "/usr/share/doc";
const NAME_A_DIRECTORY: &str = "name a directory of texts: `akin demo ~/Documents`";
const READY_POLL: Duration = Duration::from_millis(20);
/// The exit code that a shell reports for a process that SIGINT ended.
const EXIT_INTERRUPTED: u8 = 130;

/// Find near-duplicates among the files of this machine: server and import in one command
#[derive(Args)]
pub struct Arguments {
    /// Files or directories of texts [default: /usr/share/doc]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Address and port to listen on [default: a free port of 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Where documents are kept [default: a directory that is removed at the end]
    #[arg(long, value_name = "DIRECTORY")]
    data_dir: Option<String>,
    #[command(flatten)]
    input: InputOptions,
    /// Go on serving until Ctrl-C
    #[arg(long)]
    keep: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(mut arguments: Arguments) -> Result<ExitCode, Failure> {
    arguments.paths = arguments.input.files(arguments.paths)?;
    if arguments.paths.is_empty() {
        arguments.paths.push(DOCUMENTATION.into());
    }
    for path in &arguments.paths {
        path.metadata().map_err(|error| {
            Failure::with_hint(format!("cannot read {}: {error}", path.display()), NAME_A_DIRECTORY)
        })?;
    }
    let scratch = TempDir::with_prefix("akin-demo-")
        .map_err(|error| Failure::new(format!("cannot make a temporary directory: {error}")))?;
    let settings = settings(&arguments, &scratch)?;
    let _logs = telemetry::start_logs(&settings.log);
    let runtime = Runtime::new().map_err(AppError::Start)?;
    let done = runtime.block_on(show(arguments, settings));
    runtime.shutdown_background();
    done
}

/// The environment's settings, with a demo's own address, directory and log level.
fn settings(arguments: &Arguments, scratch: &TempDir) -> Result<Settings, Failure> {
    let listen = arguments.listen.clone().unwrap_or_else(|| "127.0.0.1:0".into());
    let data_dir =
        arguments.data_dir.clone().unwrap_or_else(|| scratch.path().display().to_string());
    let mut settings = SettingSources::new(None, flags(Some(listen), Some(data_dir))).load()?;
    // The demo polls until the server is ready; each refusal would be a warning.
    settings.log.level = "warn,akin::http::problem=error".into();
    Ok(settings)
}

/// A server in the background.
struct Serving {
    url: String,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<Result<(), AppError>>,
}

impl Serving {
    async fn start(settings: Settings) -> Result<Self, AppError> {
        let listener = app::bind(&settings.server).await?;
        let address = listener.local_addr().map_err(AppError::Serve)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async {
            // A message or the end of the sender: both mean stop.
            let _ = stopped.await;
        };
        let metrics = telemetry::metrics();
        let ended = tokio::spawn(app::run(settings, listener, metrics, shutdown, None));
        Ok(Self { url: format!("http://{address}"), stop, ended })
    }

    async fn end(self) -> Result<(), Failure> {
        // Fails only if the server has ended by itself, which the next line reports.
        let _ = self.stop.send(());
        let ended = self.ended.await;
        Ok(ended.map_err(|_| Failure::new("the server panicked, see the log"))??)
    }
}

async fn show(arguments: Arguments, settings: Settings) -> Result<ExitCode, Failure> {
    let stop_signal = app::stop_signal().map_err(AppError::Start)?;
    interrupt::leave_to_command();
    tokio::pin!(stop_signal);
    let mut serving = Serving::start(settings).await?;
    let meter = Arc::new(Meter::new(arguments.quiet, "importing", Quantity::Bytes, 0));
    let import = tokio::task::spawn_blocking({
        let selection = arguments.input.selection(arguments.paths.clone());
        let url = serving.url.clone();
        let meter = Arc::clone(&meter);
        move || find_pairs(&selection, &url, &meter)
    });
    let found = tokio::select! {
        found = import => found.map_err(|_| Failure::new("the import panicked, see the log"))?,
        () = &mut stop_signal => {
            // The import fails once the server stops, which is not worth a message.
            meter.end();
            serving.end().await?;
            return Ok(ExitCode::from(EXIT_INTERRUPTED));
        }
        ended = &mut serving.ended => {
            ended.map_err(|_| Failure::new("the server panicked, see the log"))??;
            return Err(Failure::new("the server ended too early"));
        }
    };
    let (report, pairs) = found?;
    if report.documents.accepted() == 0 {
        report.write_failures(&mut stderr().lock())?;
        serving.end().await?;
        return Err(nothing_to_show(&arguments.paths));
    }
    // Of files that nobody has named, the number of failures is enough.
    if arguments.paths != [PathBuf::from(DOCUMENTATION)] {
        report.write_failures(&mut stderr().lock())?;
    }
    match arguments.json {
        true => print_as_json(&report, &pairs, &serving.url)?,
        false => print(&report, &pairs, &serving.url, arguments.keep)?,
    }
    if arguments.keep {
        eprintln!("serving on {} until Ctrl-C", serving.url);
        tokio::select! {
            () = &mut stop_signal => {}
            ended = &mut serving.ended => {
                ended.map_err(|_| Failure::new("the server panicked, see the log"))??;
                return Ok(ExitCode::SUCCESS);
            }
        }
    }
    serving.end().await?;
    Ok(ExitCode::SUCCESS)
}

fn nothing_to_show(paths: &[PathBuf]) -> Failure {
    let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    Failure::with_hint(format!("there is no text in {}", names.join(", ")), NAME_A_DIRECTORY)
}

/// Imports over HTTP, as any client would, and collects the pairs that were found.
fn find_pairs(
    selection: &Selection,
    url: &str,
    meter: &Meter,
) -> Result<(ImportReport, Pairs), Failure> {
    let client = Client::new(url, &Trust::Platform)?;
    // If the server cannot become ready the process ends, and this thread with it.
    while !client.get("/readyz").is_ok_and(|response| response.status().is_success()) {
        thread::sleep(READY_POLL);
    }
    let roots = selection.paths.iter().map(|path| path.display().to_string()).collect();
    let pairs = Arc::new(Mutex::new(Pairs::new(roots)));
    let (report, ended) = import(&Import {
        client: &client,
        path: "/documents",
        selection,
        min_words: 0,
        jobs: 2,
        patience: Duration::from_secs(60),
        meter,
        verbose: false,
        on_answer: &|answer| {
            let matches =
                answer.duplicates.iter().map(|found| (found.id.as_str(), found.resemblance()));
            pairs.lock().expect("nothing panics under the lock").add(answer.id.as_str(), matches);
        },
    });
    ended?;
    let pairs = std::mem::take(&mut *pairs.lock().expect("nothing panics under the lock"));
    Ok((report, pairs))
}

fn print(report: &ImportReport, pairs: &Pairs, url: &str, keep: bool) -> Result<(), Failure> {
    let mut out = stdout().lock();
    report.write_text(&mut out)?;
    writeln!(
        out,
        "           {} with the same shingles, {} with nearly the same",
        HumanCount(pairs.identical()),
        HumanCount(pairs.nearly_identical())
    )?;
    let chosen = pairs.choose(PAIRS_SHOWN);
    if !chosen.is_empty() {
        writeln!(out, "\nNearly the same, but not quite:")?;
    }
    for pair in &chosen {
        // Rounded down, so that no pair is shown as 1.000.
        let resemblance = (pair.resemblance * 1000.0).floor() / 1000.0;
        writeln!(out, "  {resemblance:.3}  {}\n         {}", pair.a, pair.b)?;
    }
    Ok(write_commands(&mut out, chosen.first(), url, keep)?)
}

fn print_as_json(report: &ImportReport, pairs: &Pairs, url: &str) -> Result<(), Failure> {
    print_json(&json!({
        "url": url,
        "import": report,
        "identical": pairs.identical(),
        "nearly_identical": pairs.nearly_identical(),
        "pairs": pairs.choose(PAIRS_SHOWN),
    }))
}

fn write_commands(
    out: &mut impl Write,
    example: Option<&DemoPair>,
    url: &str,
    keep: bool,
) -> io::Result<()> {
    if keep {
        writeln!(out, "\nTry:")?;
    } else {
        writeln!(
            out,
            "\nThe server ends now. With --keep --listen {} it goes on, for:",
            &url[7..]
        )?;
    }
    if let Some(DemoPair { a, b, .. }) = example {
        let (a, b) = (query_value(a), query_value(b));
        writeln!(out, "  curl '{url}/similar?id={a}'")?;
        writeln!(out, "  curl '{url}/resemblance?a={a}&b={b}&explain=true'")?;
    }
    writeln!(out, "  curl -H 'content-type: text/plain' --data-binary @FILE '{url}/similar'")?;
    writeln!(out, "  curl '{url}/stats'")?;
    writeln!(out, "  {url}/ in a browser, which has the console")
}
