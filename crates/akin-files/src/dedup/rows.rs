//! Copies rows of Parquet files, column by column, with their types and nested values; and writes
//! rows of clusters.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnDescriptor;

use super::annotation::Annotation;
use super::cuts::{Cuts, without};
use crate::failure::Failure;
use crate::input::{FilePart, Reading, guarded, open_parquet};
use crate::output::Output;
use akin_model::document::DocumentId;

/// The number of rows that are copied at a time.
const ROWS: usize = 256;

/// Writes rows of files that have the same schema.
pub struct RowsWriter {
    writer: SerializedFileWriter<Output>,
}

impl RowsWriter {
    /// `like`: a file that gives the output its schema and metadata.
    pub fn new(output: Output, like: &Path, reading: &Reading) -> Result<Self, Failure> {
        let reader = open(like, reading)?;
        let metadata = reader.metadata().file_metadata();
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_key_value_metadata(metadata.key_value_metadata().cloned())
            .build();
        let schema = Arc::clone(&metadata.schema_descr().root_schema_ptr());
        let writer = SerializedFileWriter::new(output, schema, properties.into());
        Ok(Self { writer: writer.map_err(|error| failed(like, &error))? })
    }

    /// Appends the rows with these numbers, ascending from 1.
    pub fn copy(
        &mut self,
        path: &Path,
        reading: &Reading,
        rows: &[u64],
        cuts: &Cuts,
    ) -> Result<(), Failure> {
        let reader = open(path, reading)?;
        if reader.metadata().file_metadata().schema() != self.writer.schema_descr().root_schema() {
            return Err(Failure::with_hint(
                format!("{} has other columns than the file before it", path.display()),
                "--output-dir writes a file for each input",
            ));
        }
        let is_text = |column: &ColumnDescriptor| column.path().string() == cuts.column;
        let mut leaves = self.writer.schema_descr().columns().iter();
        if !cuts.of_rows.is_empty() && !leaves.any(|column| is_text(column)) {
            let what = format!("{} has no column of texts {}", path.display(), cuts.column);
            return Err(Failure::new(what));
        }
        let mut left = rows;
        let mut first = 1;
        for group in 0..reader.num_row_groups() {
            let group = guarded(|| reader.get_row_group(group));
            let group = group.map_err(|error| failed(path, &error))?;
            let end = first + group.metadata().num_rows() as u64;
            let (within, after) = left.split_at(left.partition_point(|row| *row < end));
            if !within.is_empty() {
                let copied = guarded(|| self.copy_group(&*group, within, first, cuts));
                copied.map_err(|error| failed(path, &error))?;
            }
            (left, first) = (after, end);
        }
        Ok(())
    }

    fn copy_group(
        &mut self,
        from: &dyn RowGroupReader,
        rows: &[u64],
        first: u64,
        cuts: &Cuts,
    ) -> Result<(), ParquetError> {
        let mut kept = vec![false; from.metadata().num_rows() as usize];
        for row in rows {
            kept[(row - first) as usize] = true;
        }
        let mut to = self.writer.next_row_group()?;
        let mut column = 0;
        while let Some(mut writer) = to.next_column()? {
            let is_text = from.metadata().column(column).column_path().string() == cuts.column;
            macro_rules! copy {
                ($($kind:ident),*) => {
                    match from.get_column_reader(column)? {
                        ColumnReader::ByteArrayColumnReader(reader) if is_text => {
                            copy(reader, writer.typed(), &kept, |row, text| {
                                cut(text, cuts.of(first + row))
                            })?;
                        }
                        $(ColumnReader::$kind(reader) => {
                            copy(reader, writer.typed(), &kept, |_, value| Ok(value))?;
                        })*
                    }
                };
            }
            copy!(
                BoolColumnReader,
                Int32ColumnReader,
                Int64ColumnReader,
                Int96ColumnReader,
                FloatColumnReader,
                DoubleColumnReader,
                ByteArrayColumnReader,
                FixedLenByteArrayColumnReader
            );
            writer.close()?;
            column += 1;
        }
        to.close().map(drop)
    }

    pub fn finish(self) -> Result<(), Failure> {
        self.writer.into_inner()?.finish()
    }
}

/// Copies the kept rows of a column. A row begins where nothing is repeated; it has a value at each
/// level that is defined in full.
fn copy<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    writer: &mut ColumnWriterImpl<'_, T>,
    kept: &[bool],
    mut changed: impl FnMut(u64, T::T) -> Result<T::T, ParquetError>,
) -> Result<(), ParquetError> {
    let descriptor = Arc::clone(writer.get_descriptor());
    let (deepest, repeats) = (descriptor.max_def_level(), descriptor.max_rep_level() > 0);
    let mut kept = kept.iter();
    let mut is_kept = false;
    // The number of rows that have begun.
    let mut begun = 0;
    loop {
        let (mut defined, mut repeated, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let (rows, found, levels) =
            reader.read_records(ROWS, Some(&mut defined), Some(&mut repeated), &mut values)?;
        if rows == 0 {
            return Ok(());
        }
        let mut values = values.into_iter();
        let (mut its_defined, mut its_repeated, mut its_values) =
            (Vec::new(), Vec::new(), Vec::new());
        for level in 0..levels.max(found) {
            if !repeats || repeated[level] == 0 {
                is_kept = *kept.next().ok_or_else(disagree)?;
                begun += 1;
            }
            let has_value = deepest == 0 || defined[level] == deepest;
            let value = has_value.then(|| values.next().ok_or_else(disagree)).transpose()?;
            if is_kept {
                its_defined.extend(defined.get(level));
                its_repeated.extend(repeated.get(level));
                its_values.extend(value.map(|value| changed(begun - 1, value)).transpose()?);
            }
        }
        let levels = |wanted: bool, levels: Vec<i16>| wanted.then_some(levels);
        writer.write_batch(
            &its_values,
            levels(deepest > 0, its_defined).as_deref(),
            levels(repeats, its_repeated).as_deref(),
        )?;
    }
}

/// A text without these parts.
fn cut(text: ByteArray, parts: &[Range<usize>]) -> Result<ByteArray, ParquetError> {
    if parts.is_empty() {
        return Ok(text);
    }
    let left = text.as_utf8().ok().and_then(|text| without(text, parts));
    let left = left.ok_or_else(|| ParquetError::General("it changed while it was read".into()))?;
    Ok(left.into_bytes().into())
}

/// The rows of a group.
const GROUP_ROWS: usize = 122_880;

const CLUSTER_SCHEMA: &str = "message clusters {
    required binary id (STRING);
    required binary cluster (STRING);
    required int32 cluster_size (INTEGER(32, false));
    required binary representative (STRING);
    required double similarity;
}";

/// Writes a row for each document, with its cluster.
pub struct ClusterRows {
    writer: SerializedFileWriter<Output>,
    ids: Vec<ByteArray>,
    clusters: Vec<ByteArray>,
    sizes: Vec<i32>,
    representatives: Vec<ByteArray>,
    similarities: Vec<f64>,
}

impl ClusterRows {
    pub fn new(output: Output) -> Result<Self, Failure> {
        let schema = parse_message_type(CLUSTER_SCHEMA).expect("the schema is well formed");
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        Ok(Self {
            writer: SerializedFileWriter::new(output, Arc::new(schema), properties.into())?,
            ids: Vec::new(),
            clusters: Vec::new(),
            sizes: Vec::new(),
            representatives: Vec::new(),
            similarities: Vec::new(),
        })
    }

    pub fn push(&mut self, id: &DocumentId, annotation: &Annotation) -> Result<(), Failure> {
        let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
        self.ids.push(text(id.as_str()));
        self.clusters.push(text(&annotation.cluster));
        self.sizes.push(annotation.cluster_size as i32);
        self.representatives.push(text(annotation.representative.as_str()));
        self.similarities.push(annotation.similarity());
        match self.ids.len() < GROUP_ROWS {
            true => Ok(()),
            false => Ok(self.write_group()?),
        }
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        write_column::<ByteArrayType>(&mut group, &mut self.ids)?;
        write_column::<ByteArrayType>(&mut group, &mut self.clusters)?;
        write_column::<Int32Type>(&mut group, &mut self.sizes)?;
        write_column::<ByteArrayType>(&mut group, &mut self.representatives)?;
        write_column::<DoubleType>(&mut group, &mut self.similarities)?;
        group.close().map(drop)
    }

    pub fn finish(mut self) -> Result<(), Failure> {
        if !self.ids.is_empty() {
            self.write_group()?;
        }
        self.writer.into_inner()?.finish()
    }
}

/// Writes the next column, and clears it.
fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Output>,
    values: &mut Vec<T::T>,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("the schema has a column for each call");
    column.typed::<T>().write_batch(values, None, None)?;
    values.clear();
    column.close()
}

fn disagree() -> ParquetError {
    ParquetError::General("its columns have different numbers of rows".into())
}

fn open(path: &Path, reading: &Reading) -> Result<SerializedFileReader<FilePart>, Failure> {
    if !path.is_file() {
        return Err(Failure::with_hint(
            format!("the rows of {} cannot be copied: it is no file", path.display()),
            "name an output that ends in .jsonl, or inputs that are files",
        ));
    }
    let file = open_parquet(path, reading)?.ok_or_else(|| {
        Failure::with_hint(
            format!("{} is not Parquet, and the output is", path.display()),
            "name an output that ends in .jsonl, or inputs that are all Parquet",
        )
    })?;
    guarded(|| SerializedFileReader::new(file)).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &ParquetError) -> Failure {
    Failure::new(format!("cannot copy rows of {}: {error}", path.display()))
}
