//! Reads the rows of Parquet files, with the needed columns only.

use std::cell::Cell;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Once};

use parquet::basic::ConvertedType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::TreeBuilder;
use parquet::record::{Field, Row};
use parquet::schema::types::{Type, TypePtr};

use super::columns::{TextColumns, no_column};
use super::event::{ITEM_BYTES_MAX, Stop};
use super::file_part::FilePart;
use super::formats::OpenInput;
use super::members::{Values, below};
use super::open::{PARQUET_MAGIC, RATIO_MAX, decompressed, peeked};
use super::options::Reading;
use super::pages::{PAGE_BYTES_MAX, largest_page};
use super::parquet_values::{as_text, value};
use super::sink::Sink;
use crate::failure::Failure;

/// The number of rows that are decoded at a time.
const ROWS: usize = 64;
/// The rows of every file may have this size.
const ROWS_FREE_BYTES: u64 = 1 << 30;

/// The bytes of the file at this path, unpacked; `None` if it is not Parquet.
///
/// # Errors
/// It cannot be read.
pub fn open_parquet(path: &Path, reading: &Reading) -> Result<Option<FilePart>, Failure> {
    let open = || {
        let (reader, is_packed) = decompressed(reading.source(path)?)?;
        let (start, reader) = peeked(reader, PARQUET_MAGIC.len())?;
        let is_parquet = start == PARQUET_MAGIC;
        is_parquet.then(|| reading.seekable(path, reader, is_packed)).transpose()
    };
    open().map_err(|error| Failure::unreadable(path, error))
}

pub fn read(input: OpenInput<'_>, sink: &mut Sink<'_, '_>) -> Result<(), Stop> {
    let OpenInput { path, reading, mut content, is_packed, bytes_read, .. } = input;
    if let Some(copies) = reading.copies.as_ref().filter(|of| is_packed && of.keeps_unpacked) {
        // The unpacked bytes are kept once all are read, if there is room.
        io::copy(&mut content, &mut io::sink())?;
        if copies.unpacked(path).is_none() {
            content = decompressed(reading.source(path)?)?.0;
        }
    }
    let file = reading.seekable(path, content, is_packed)?;
    let pages = file.clone();
    let mut size = RowsSize { of_file: file.left(), of_rows: 0 };
    let reader = guarded(|| SerializedFileReader::new(file)).map_err(|e| failed(&e, None))?;
    let schema = reader.metadata().file_metadata().schema();
    check(sink.columns, schema)?;
    let wanted = schema.get_fields().iter().filter(|field| sink.columns.wants(field.name()));
    let wanted: Vec<_> = wanted.map(|field| (Arc::from(field.name()), field.clone())).collect();
    let fields = wanted.iter().map(|(_, field)| field.clone()).collect();
    let projection = Type::group_type_builder(schema.name()).with_fields(fields);
    let projection = projection.build().map_err(|error| failed(&error, None))?;
    let descriptor = parquet::schema::types::SchemaDescriptor::new(projection.into());
    let mut number = 0;
    for group in 0..reader.num_row_groups() {
        let at = |error: &ParquetError, number: u64| failed(error, Some(number + 1));
        let rows = guarded(|| reader.get_row_group(group)).map_err(|e| at(&e, number))?;
        let largest = largest_page(&pages, rows.metadata(), |name| sink.columns.wants(name));
        let largest = largest.map_err(|reason| Stop::Failed { line: None, reason })?;
        let tree = TreeBuilder::new().with_batch_size(rows_at_once(largest));
        let iter = guarded(|| tree.as_iter(descriptor.clone().into(), &*rows));
        let mut iter = iter.map_err(|error| at(&error, number))?;
        while let Some(row) = guarded(|| iter.next().transpose()).map_err(|e| at(&e, number))? {
            number += 1;
            let bytes = put(&row, &wanted, number, sink)?;
            size.add(bytes, number)?;
        }
        bytes_read.fetch_add(rows.metadata().compressed_size() as u64, Ordering::Relaxed);
    }
    Ok(())
}

/// A value may be as long as its page, so fewer are decoded where pages are large.
fn rows_at_once(largest_page: u64) -> usize {
    let fitting = PAGE_BYTES_MAX.checked_div(largest_page).unwrap_or(u64::MAX);
    usize::try_from(fitting).unwrap_or(usize::MAX).clamp(1, ROWS)
}

/// The size of a file and of its rows: a few bits can repeat a value many times.
struct RowsSize {
    of_file: u64,
    of_rows: u64,
}

impl RowsSize {
    fn add(&mut self, bytes: usize, number: u64) -> Result<(), Stop> {
        self.of_rows += bytes as u64;
        if self.of_rows <= ROWS_FREE_BYTES.max(self.of_file.saturating_mul(RATIO_MAX)) {
            return Ok(());
        }
        Err(Stop::at(number, format!("its rows are more than {RATIO_MAX} times its size")))
    }
}

thread_local! {
    /// Whether the library is reading a file, which may be damaged.
    static READS: Cell<bool> = const { Cell::new(false) };
}

/// The library panics over some kinds of damage. The panic becomes an error, and is not reported.
///
/// # Errors
/// Those of `read`, or the panic.
pub fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    static SILENCED: Once = Once::new();
    SILENCED.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !READS.get() {
                report(panic);
            }
        }));
    });
    let outer = READS.replace(true);
    let read = panic::catch_unwind(AssertUnwindSafe(read));
    READS.set(outer);
    read.unwrap_or_else(|_| Err(ParquetError::General("the file is damaged".into())))
}

/// Returns the size of the row.
fn put(
    row: &Row,
    columns: &[(Arc<str>, TypePtr)],
    number: u64,
    sink: &mut Sink<'_, '_>,
) -> Result<usize, Stop> {
    let too_large = |sink: &mut Sink<'_, '_>, bytes| {
        let reason = format!("the row is larger than {ITEM_BYTES_MAX} bytes");
        sink.failed(Some(number), reason)?;
        Ok(bytes)
    };
    // Checked before anything is copied.
    let texts = row.get_column_iter().map(|(_, field)| match field {
        Field::Str(text) => text.len(),
        Field::Bytes(bytes) => bytes.len(),
        _ => 0,
    });
    let bytes = texts.sum();
    if bytes > ITEM_BYTES_MAX {
        return too_large(sink, bytes);
    }
    let is_no_text = |name: &&str| match column_at(row, name) {
        Some(Field::Bytes(bytes)) => as_text(bytes.data()).is_none(),
        _ => false,
    };
    if let Some(name) = sink.columns.text_names().find(is_no_text) {
        let reason = format!("'{name}' has bytes that are not UTF-8 text");
        sink.failed(Some(number), reason)?;
        return Ok(bytes);
    }
    let fields = row.get_column_iter().zip(columns);
    let values = fields.map(|((_, field), (name, of))| (Arc::clone(name), value(field, of)));
    let values: Values = values.collect();
    let bytes = values.iter().map(|(name, value)| name.len() + value.bytes()).sum();
    if bytes > ITEM_BYTES_MAX {
        return too_large(sink, bytes);
    }
    sink.record(Some(number), values)?;
    Ok(bytes)
}

/// The value of a column; or, by a name with dots, of a nested column.
fn column_at<'r>(row: &'r Row, path: &str) -> Option<&'r Field> {
    row.get_column_iter().find_map(|(name, field)| match field {
        field if name == path => Some(field),
        Field::Group(inner) => column_at(inner, below(path, name)?),
        _ => None,
    })
}

/// A file without the columns has no documents: a single error instead of an error for each row.
fn check(columns: &TextColumns, schema: &Type) -> Result<(), Stop> {
    if !schema.is_group() {
        return Err(Stop::Failed { line: None, reason: "the file has no columns".into() });
    }
    let fields = schema.get_fields();
    let names = fields.iter().map(|field| field.name());
    match columns.required().find(|(name, _)| !has_column(fields, name)) {
        None => Ok(()),
        Some((name, option)) => {
            Err(Stop::Failed { line: None, reason: no_column(name, option, names) })
        }
    }
}

/// Whether a column has this name; or, for a name with dots, whether a nested column has it.
fn has_column(fields: &[TypePtr], name: &str) -> bool {
    let has = |field: &TypePtr| {
        let inner = below(name, field.name()).filter(|_| field.is_group());
        field.name() == name || inner.is_some_and(|inner| has_member(field, inner))
    };
    fields.iter().any(has)
}

/// A row of a list is an array, and arrays have no members. Which keys a map has differs from row
/// to row.
fn has_member(group: &Type, name: &str) -> bool {
    match group.get_basic_info().converted_type() {
        ConvertedType::LIST => false,
        ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE => true,
        _ => has_column(group.get_fields(), name),
    }
}

fn failed(error: &ParquetError, line: Option<u64>) -> Stop {
    Stop::Failed { line, reason: error.to_string() }
}

#[cfg(test)]
#[path = "tests/parquet.rs"]
mod tests;
