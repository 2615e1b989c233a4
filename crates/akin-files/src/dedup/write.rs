//! Writes the documents that are kept: to one file or to a file for each input, as lines or rows.

use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::annotation::{ClusterTable, annotate};
use super::clusters::Representatives;
use super::cuts::Cuts;
use super::rows::RowsWriter;
use crate::failure::Failure;
use crate::feature::PARQUET;
use crate::input::{Item, Reading, Selection, is_parquet, split_compression};
use crate::output::{Destination, Inputs, Output, refuse_overwriting};

/// The requested output.
#[derive(Clone)]
pub enum OutputPlace {
    One(Destination),
    Shards { directory: PathBuf, force: bool },
}

impl OutputPlace {
    /// `report`: a further file that the command writes; `json`: whether stdout is for a summary.
    ///
    /// # Errors
    /// An output is an input or lies in one, would be written twice, exists and must not be
    /// overwritten, or cannot be made.
    pub fn new(
        destination: Destination,
        output_dir: Option<PathBuf>,
        report: Option<&Path>,
        json: bool,
        selection: &Selection,
        inputs: &Inputs,
    ) -> Result<Self, Failure> {
        let is_stdout = output_dir.is_none() && destination.is_stdout();
        refuse_mixing(report, is_stdout || json)?;
        if let Some(directory) = output_dir {
            if let Some(report) = report {
                refuse_overwriting(report, destination.force)?;
            }
            return Self::shards(directory, selection, inputs, report, destination.force);
        }
        if destination.is_parquet() {
            PARQUET.require()?;
        }
        destination.check_beside(report, inputs)?;
        destination.check_summary(json)?;
        Ok(Self::One(destination))
    }

    /// # Errors
    /// The name of the output says a format that is not written; or rows of Parquet, which are
    /// copied, would be annotated.
    pub fn check(&self, selection: &Selection, annotate: bool) -> Result<(), Failure> {
        match self {
            Self::One(destination) => return destination.check_format(annotate),
            Self::Shards { .. } if !annotate => return Ok(()),
            Self::Shards { .. } => {}
        }
        for input in selection.inputs().flatten().filter_map(|input| input.path) {
            if is_parquet_file(&input)? {
                let input = input.display();
                return Err(Failure::with_hint(
                    format!("--annotate with --output-dir does not write rows: {input}"),
                    "-o clusters.parquet writes a table of all clusters",
                ));
            }
        }
        Ok(())
    }

    fn shards(
        directory: PathBuf,
        selection: &Selection,
        inputs: &Inputs,
        report: Option<&Path>,
        force: bool,
    ) -> Result<Self, Failure> {
        let mut shards = Vec::new();
        for input in selection.inputs().flatten() {
            // An unreadable input has no shard; reading reports it.
            let Ok(shard) = shard_of(&input.name, &selection.paths) else { continue };
            let shard = directory.join(shard);
            refuse_overwriting(&shard, force)?;
            shards.push(shard);
        }
        inputs.protect(shards.iter().map(PathBuf::as_path).chain(report))?;
        if directory.is_file() {
            return Err(Failure::with_hint(
                format!("{} is a file", directory.display()),
                "--output-dir names a directory; -o names a file",
            ));
        }
        std::fs::create_dir_all(&directory).map_err(|error| {
            Failure::new(format!("cannot make {}: {error}", directory.display()))
        })?;
        Ok(Self::Shards { directory, force })
    }

    /// A path in the directory of the output; `None` for stdout.
    pub fn path(&self) -> Option<PathBuf> {
        match self {
            Self::One(destination) => destination.file().map(Path::to_owned),
            Self::Shards { directory, .. } => Some(directory.join("shard")),
        }
    }
}

/// # Errors
/// The report would go to stdout, and something else, too.
pub fn refuse_mixing(report: Option<&Path>, is_stdout_taken: bool) -> Result<(), Failure> {
    match report == Some(Path::new("-")) && is_stdout_taken {
        true => Err(Failure::with_hint(
            "the report would be mixed with other output on stdout",
            "name a file by --report",
        )),
        false => Ok(()),
    }
}

/// Writes the kept documents of each input, in the order of the inputs.
pub struct KeptWriter {
    place: OutputPlace,
    annotate: bool,
    roots: Vec<PathBuf>,
    reading: Reading,
    out: Out,
    /// The input that is being read.
    current: Option<Current>,
}

enum Out {
    /// The next shard is not open yet.
    None,
    Lines(Box<Output>),
    Rows(Option<Box<RowsWriter>>),
    /// The clusters of documents, without the documents.
    Table(ClusterTable),
}

struct Current {
    file: Arc<str>,
    /// The numbers of the rows that are kept, if rows are written.
    rows: Vec<u64>,
    cuts: Cuts,
}

impl KeptWriter {
    /// # Errors
    /// The output cannot be created, or cannot be Parquet.
    pub fn new(place: OutputPlace, selection: &Selection, annotate: bool) -> Result<Self, Failure> {
        let table = match &place {
            OutputPlace::One(destination) if annotate => ClusterTable::create(destination)?,
            _ => None,
        };
        let out = match (&place, table) {
            (_, Some(table)) => Out::Table(table),
            (OutputPlace::Shards { .. }, _) => Out::None,
            (OutputPlace::One(destination), _) if destination.is_parquet() => Out::Rows(None),
            (OutputPlace::One(destination), _) => Out::Lines(Box::new(destination.create()?)),
        };
        let (roots, reading) = (selection.paths.clone(), selection.reading.clone());
        Ok(Self { place, annotate, roots, reading, out, current: None })
    }

    /// Writes the line, or row, of the document with this number, if it is kept.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn take(
        &mut self,
        item: &Item,
        number: u32,
        of: &mut Representatives<'_>,
    ) -> Result<(), Failure> {
        self.begin(&item.origin.file)?;
        match &mut self.out {
            Out::Lines(out) if self.annotate => annotate(&item.line(), number, of, out),
            Out::Table(table) => table.push(number, of),
            _ if of.is_kept(number) => self.copy(item),
            _ => Ok(()),
        }
    }

    /// Writes a line, or row, unchanged.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn copy(&mut self, item: &Item) -> Result<(), Failure> {
        self.begin(&item.origin.file)?;
        match &mut self.out {
            Out::Lines(out) => write_line(out, &item.line()),
            Out::Table(_) => Ok(()),
            Out::Rows(_) | Out::None => {
                let current = self.current.as_mut().expect("a file has begun");
                current.rows.extend(item.origin.line);
                Ok(())
            }
        }
    }

    /// Writes a line without parts of its text, which were cut out of it, or a row without these
    /// parts, which are ranges of bytes of its text.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn copy_cut(
        &mut self,
        item: &Item,
        line: &[u8],
        parts: Vec<Range<usize>>,
    ) -> Result<(), Failure> {
        self.begin(&item.origin.file)?;
        if let Out::Lines(out) = &mut self.out {
            return write_line(out, line);
        }
        let current = self.current.as_mut().expect("a file has begun");
        current.rows.extend(item.origin.line);
        current.cuts.of_rows.extend(item.origin.line.map(|row| (row, parts)));
        Ok(())
    }

    /// Makes `file` the current input: ends the previous input, if it is another file.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn begin(&mut self, file: &Arc<str>) -> Result<(), Failure> {
        if self.current.as_ref().is_some_and(|current| current.file == *file) {
            return Ok(());
        }
        self.end()?;
        let column = self.reading.columns.text_name().unwrap_or_default().to_owned();
        let cuts = Cuts { column, of_rows: Vec::new() };
        self.current = Some(Current { file: Arc::clone(file), rows: Vec::new(), cuts });
        let OutputPlace::Shards { directory, force } = &self.place else { return Ok(()) };
        let is_parquet = is_parquet_file(Path::new(&**file))?;
        let path = directory.join(shard_of(file, &self.roots)?);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let output = Output::create(&path, *force)?;
        self.out = match is_parquet {
            false => Out::Lines(Box::new(output)),
            true => {
                let rows = RowsWriter::new(output, Path::new(&**file), &self.reading)?;
                Out::Rows(Some(Box::new(rows)))
            }
        };
        Ok(())
    }

    fn end(&mut self) -> Result<(), Failure> {
        let Some(Current { file, rows, cuts }) = self.current.take() else { return Ok(()) };
        if let Out::Rows(writer) = &mut self.out {
            let path = Path::new(&*file);
            if let (None, OutputPlace::One(destination)) = (&writer, &self.place) {
                let output = destination.create()?;
                *writer = Some(Box::new(RowsWriter::new(output, path, &self.reading)?));
            }
            let writer = writer.as_mut().expect("it was just made");
            writer.copy(path, &self.reading, &rows, &cuts)?;
        }
        match self.place {
            OutputPlace::Shards { .. } => self.close(),
            OutputPlace::One(_) => Ok(()),
        }
    }

    fn close(&mut self) -> Result<(), Failure> {
        match std::mem::replace(&mut self.out, Out::None) {
            Out::Lines(out) => out.finish(),
            Out::Rows(Some(rows)) => rows.finish(),
            Out::Table(table) => table.finish(),
            Out::Rows(None) | Out::None => Ok(()),
        }
    }

    /// # Errors
    /// The output cannot be written.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.end()?;
        self.close()
    }
}

fn write_line(out: &mut Output, line: &[u8]) -> Result<(), Failure> {
    out.write_all(line)?;
    Ok(out.write_all(b"\n")?)
}

/// The name of the shard of an input. Of a pipe only lines are copied.
fn shard_of(file: &str, roots: &[PathBuf]) -> Result<PathBuf, Failure> {
    let file = Path::new(file);
    Ok(shard(file, roots, is_parquet_file(file)?))
}

fn is_parquet_file(file: &Path) -> Result<bool, Failure> {
    if file.is_file() { is_parquet(file) } else { Ok(false) }
}

/// The name of a file's shard: the path below the input, or the file's own name. A shard of
/// lines has the extension `.jsonl`.
fn shard(file: &Path, roots: &[PathBuf], is_parquet: bool) -> PathBuf {
    let name = || file.file_name().unwrap_or_default();
    let root = |root: &PathBuf| root.strip_prefix("./").unwrap_or(root).to_owned();
    let below = roots.iter().find_map(|path| file.strip_prefix(root(path)).ok());
    let below = below.filter(|below| !below.as_os_str().is_empty());
    let shard = below.map_or_else(|| PathBuf::from(name()), Path::to_owned);
    let text = shard.display().to_string();
    let (plain, packed) = split_compression(&text);
    let is_lines = [".jsonl", ".ndjson", ".json"].iter().any(|end| plain.ends_with(end));
    match (is_parquet, is_lines) {
        (true, _) => PathBuf::from(plain),
        (false, true) => shard,
        (false, false) => PathBuf::from(format!("{plain}.jsonl{packed}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_called_like_their_inputs() {
        let roots = ["in", "one.csv.gz"].map(PathBuf::from);
        for (file, is_parquet, expected) in [
            ("in/a/b.jsonl.gz", false, "a/b.jsonl.gz"),
            ("in/c.json", false, "c.json"),
            ("in/d.parquet", true, "d.parquet"),
            ("in/d.parquet.zst", true, "d.parquet"),
            ("one.csv.gz", false, "one.csv.jsonl.gz"),
        ] {
            assert_eq!(shard(Path::new(file), &roots, is_parquet), Path::new(expected));
        }
    }
}
