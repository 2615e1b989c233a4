//! Where the documents that stay are written: one file or one for each input, as lines or rows.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::clusters::Clusters;
use super::rows::RowsWriter;
use crate::cli::corpus::disk_failed;
use crate::cli::failure::Failure;
use crate::cli::input::{Item, Selection, open_parquet};
use crate::cli::output::{Destination, Output};
use crate::join::cluster_name;

/// The output as it was asked for.
pub enum Place {
    One(Destination),
    Shards { directory: PathBuf, force: bool },
}

impl Place {
    /// # Errors
    /// The directory is an input or lies in one, or cannot be made.
    pub fn shards(directory: PathBuf, inputs: &[PathBuf], force: bool) -> Result<Self, Failure> {
        std::fs::create_dir_all(&directory).map_err(|error| {
            Failure::new(format!("cannot make {}: {error}", directory.display()))
        })?;
        Destination::to_file(directory.join("shard"), true).check(inputs)?;
        Ok(Self::Shards { directory, force })
    }

    /// Something in the directory that is written to, unless that is stdout.
    pub fn path(&self) -> Option<PathBuf> {
        match self {
            Self::One(destination) => destination.file().map(Path::to_owned),
            Self::Shards { directory, .. } => Some(directory.join("shard")),
        }
    }
}

/// Writes what is kept of each input, in their order.
pub struct Writer {
    place: Place,
    annotate: bool,
    roots: Vec<PathBuf>,
    out: Out,
    /// The input that is being read.
    current: Option<Current>,
}

enum Out {
    /// The next shard is not open yet.
    None,
    Lines(Output),
    Rows(Option<RowsWriter>),
}

struct Current {
    file: Arc<str>,
    /// The numbers of the rows that are kept, if rows are written.
    rows: Vec<u64>,
}

impl Writer {
    /// # Errors
    /// The output cannot be created, or cannot be Parquet.
    pub fn new(place: Place, selection: &Selection, annotate: bool) -> Result<Self, Failure> {
        let out = match &place {
            Place::Shards { .. } => Out::None,
            Place::One(destination) if destination.is_parquet() => Out::Rows(None),
            Place::One(destination) => Out::Lines(destination.create()?),
        };
        if annotate && matches!(out, Out::Rows(_)) {
            return Err(no_annotations());
        }
        Ok(Self { place, annotate, roots: selection.paths.clone(), out, current: None })
    }

    /// Takes the document with this number.
    pub fn take(&mut self, item: &Item, number: u32, of: &Clusters<'_>) -> Result<(), Failure> {
        if self.current.as_ref().is_none_or(|current| current.file != item.origin.file) {
            self.begin(&item.origin.file)?;
        }
        match &mut self.out {
            Out::Lines(out) if self.annotate => annotate(item, number, of, out),
            Out::Lines(out) => write_line(item, of.is_kept(number), out),
            Out::Rows(_) | Out::None => {
                let current = self.current.as_mut().expect("a file has begun");
                current.rows.extend(item.origin.line.filter(|_| of.is_kept(number)));
                Ok(())
            }
        }
    }

    /// Ends the input before, and begins another.
    fn begin(&mut self, file: &Arc<str>) -> Result<(), Failure> {
        self.end()?;
        self.current = Some(Current { file: Arc::clone(file), rows: Vec::new() });
        let Place::Shards { directory, force } = &self.place else { return Ok(()) };
        let is_parquet = open_parquet(Path::new(&**file))?.is_some();
        if is_parquet && self.annotate {
            return Err(no_annotations());
        }
        let path = directory.join(shard(Path::new(&**file), &self.roots, is_parquet));
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let output = Output::create(&path, *force)?;
        self.out = match is_parquet {
            false => Out::Lines(output),
            true => Out::Rows(Some(RowsWriter::new(output, Path::new(&**file))?)),
        };
        Ok(())
    }

    fn end(&mut self) -> Result<(), Failure> {
        let Some(Current { file, rows }) = self.current.take() else { return Ok(()) };
        if let Out::Rows(writer) = &mut self.out {
            let path = Path::new(&*file);
            if let (None, Place::One(destination)) = (&writer, &self.place) {
                *writer = Some(RowsWriter::new(destination.create()?, path)?);
            }
            writer.as_mut().expect("it was just made").copy(path, &rows)?;
        }
        match self.place {
            Place::Shards { .. } => self.close(),
            Place::One(_) => Ok(()),
        }
    }

    fn close(&mut self) -> Result<(), Failure> {
        match std::mem::replace(&mut self.out, Out::None) {
            Out::Lines(out) => out.finish(),
            Out::Rows(Some(rows)) => rows.finish(),
            Out::Rows(None) | Out::None => Ok(()),
        }
    }

    pub fn finish(mut self) -> Result<(), Failure> {
        self.end()?;
        self.close()
    }
}

fn no_annotations() -> Failure {
    Failure::with_hint("--annotate does not write Parquet", "name an output that ends in .jsonl")
}

/// The name of a file's shard: the path below the input, or the file's own name. What becomes
/// lines of JSON is called so.
fn shard(file: &Path, roots: &[PathBuf], is_parquet: bool) -> PathBuf {
    let name = || file.file_name().unwrap_or_default();
    let root = |root: &PathBuf| root.strip_prefix("./").unwrap_or(root).to_owned();
    let below = roots.iter().find_map(|path| file.strip_prefix(root(path)).ok());
    let below = below.filter(|below| !below.as_os_str().is_empty());
    let shard = below.map_or_else(|| PathBuf::from(name()), Path::to_owned);
    let text = shard.display().to_string();
    let (plain, packed) = match text.strip_suffix(".gz").map(|plain| (plain, ".gz")) {
        Some(parts) => parts,
        None => text.strip_suffix(".zst").map_or((text.as_str(), ""), |plain| (plain, ".zst")),
    };
    let is_lines = [".jsonl", ".ndjson", ".json"].iter().any(|end| plain.ends_with(end));
    match (is_parquet, is_lines) {
        (true, _) => PathBuf::from(plain),
        (false, true) => shard,
        (false, false) => PathBuf::from(format!("{plain}.jsonl{packed}")),
    }
}

fn write_line(item: &Item, is_kept: bool, out: &mut Output) -> Result<(), Failure> {
    if is_kept {
        out.write_all(item.line())?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn annotate(
    item: &Item,
    number: u32,
    clusters: &Clusters<'_>,
    out: &mut Output,
) -> Result<(), Failure> {
    let representative = clusters.representative_id(number);
    let Some(representative) = representative.map_err(|error| disk_failed(&error))? else {
        return Ok(());
    };
    // The line with two more members at its end.
    let line = item.line().trim_ascii_end();
    out.write_all(line.strip_suffix(b"}").unwrap_or(line))?;
    let name = cluster_name(&representative);
    let representative = Value::String(representative.to_string());
    Ok(writeln!(out, ",\"cluster\":\"{name}\",\"representative\":{representative}}}")?)
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
