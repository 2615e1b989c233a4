//! How the commands that need no server read files.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::thread;

use clap::Args;

use super::document::NotCompared;
use super::pipeline::work_in_order;
use super::uncompared::Uncompared;
use crate::failure::Failure;
use crate::input::{
    Cancelled, Emit, Event, InputOptions, Item, Screening, Selection, read_inputs,
    refuse_stdin_twice,
};
use crate::meter::{Meter, Quantity};
use crate::output::Inputs;

/// Which files are read, and by how many threads.
#[derive(Args)]
pub struct ReadOptions {
    #[command(flatten)]
    pub input: InputOptions,
    #[command(flatten)]
    pub screening: Screening,
    /// Threads that cut texts [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// The size of the inputs, as far as it is known.
pub fn bytes_of<'s>(selections: impl IntoIterator<Item = &'s Selection>) -> u64 {
    selections.into_iter().filter_map(|selection| selection.bytes(|| true)).sum()
}

impl ReadOptions {
    /// The documents of the files at these paths and of the files in `--files-from`.
    ///
    /// # Errors
    /// A file does not exist, or the list of files cannot be read.
    pub fn selection(&self, paths: Vec<PathBuf>) -> Result<Selection, Failure> {
        self.input.texts_of(self.input.files(paths)?)
    }

    /// The files that the command reads: those of the selections, the list of files, and further
    /// files.
    pub fn inputs<'a>(
        &'a self,
        selections: impl IntoIterator<Item = &'a Selection>,
        further: impl IntoIterator<Item = &'a Path>,
    ) -> Inputs {
        let paths = selections.into_iter().flat_map(|selection| selection.paths.clone());
        let further =
            self.input.files_from.as_deref().into_iter().chain(further).map(Path::to_owned);
        paths.chain(further).collect()
    }

    /// # Errors
    /// Both selections read stdin, or one and the list of files: `what` says so.
    pub fn refuse_stdin_twice(&self, of: [&Selection; 2], what: &str) -> Result<(), Failure> {
        refuse_stdin_twice(of[0], of[1], self.input.files_from.as_deref(), what)
    }

    pub fn threads(&self) -> usize {
        self.threads.map_or_else(cores, NonZeroUsize::get)
    }

    /// The progress of reading these selections.
    pub fn meter<'s>(
        &self,
        doing: &'static str,
        selections: impl IntoIterator<Item = &'s Selection>,
    ) -> Meter {
        Meter::new(self.quiet, doing, Quantity::Bytes, bytes_of(selections))
    }

    /// Visits the texts of a selection as [`each_text`] does.
    ///
    /// # Errors
    /// The first error of `visit`; or records cannot be read, which is a failure by the options.
    pub fn each_text<T: Send>(
        &self,
        doing: &'static str,
        (selection, threads): (&Selection, usize),
        work: impl Fn(&Item) -> Result<T, NotCompared> + Sync,
        visit: impl FnMut(Item, T) -> Result<(), Failure>,
    ) -> Result<Uncompared, Failure> {
        let meter = self.meter(doing, [selection]);
        let uncompared = each_text(selection, threads, &meter, work, visit)?;
        uncompared.check(self.screening, &meter)?;
        Ok(uncompared)
    }
}

/// The number of threads that can run in parallel.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Reads every input of a selection.
pub fn read(
    selection: &Selection,
) -> impl FnOnce(&AtomicU64, &mut Emit<'_>) -> Result<(), Cancelled> + Send {
    |bytes_read, emit| read_inputs(selection, bytes_read, emit)
}

/// Visits the texts of a selection in their order, each with the result of `work`, which runs in
/// several threads. All other records are counted and reported.
///
/// # Errors
/// The first error of `visit`.
pub fn each_text<T: Send>(
    selection: &Selection,
    threads: usize,
    meter: &Meter,
    work: impl Fn(&Item) -> Result<T, NotCompared> + Sync,
    mut visit: impl FnMut(Item, T) -> Result<(), Failure>,
) -> Result<Uncompared, Failure> {
    let mut uncompared = Uncompared::default();
    work_in_order(read(selection), threads, meter, work, |event, worked| match (event, worked) {
        (Event::Item(item), Some(Ok(text))) => visit(item, text),
        (event, worked) => {
            uncompared.take(event, worked.and_then(Result::err), meter);
            Ok(())
        }
    })?;
    Ok(uncompared)
}
