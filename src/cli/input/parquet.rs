//! The rows of Parquet files, of which only the columns that are needed are read.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::TreeBuilder;
use parquet::record::{Field, Row};
use parquet::schema::types::Type;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

use super::columns::{Columns, Member, no_column, text_member};
use super::event::{ITEM_BYTES_MAX, Stop};
use super::open::{open_file, peeked};
use super::sink::Sink;
use crate::cli::failure::Failure;

/// Rows are decoded so many at a time.
const ROWS: usize = 64;
const MAGIC: &[u8] = b"PAR1";

/// A file that can be read at any place: this one, or an unnamed copy of what it unpacks to.
pub fn seekable(path: Option<&Path>, mut unpacked: impl BufRead) -> io::Result<File> {
    if let Some(path) = path {
        let mut file = File::open(path)?;
        let mut start = [0; MAGIC.len()];
        if file.metadata()?.is_file() && file.read_exact(&mut start).is_ok() && start == *MAGIC {
            return Ok(file);
        }
    }
    let mut copy = tempfile::tempfile()?;
    io::copy(&mut unpacked, &mut copy)?;
    Ok(copy)
}

/// The file, unpacked; `None` if it is not Parquet.
///
/// # Errors
/// It cannot be read.
pub fn open_parquet(path: &Path) -> Result<Option<File>, Failure> {
    let open = || {
        let (start, reader) = peeked(open_file(path)?, MAGIC.len())?;
        (start == MAGIC).then(|| seekable(Some(path), reader)).transpose()
    };
    open().map_err(|error| Failure::unreadable(path, error))
}

pub fn read(file: File, bytes_read: &AtomicU64, sink: &mut Sink<'_, '_>) -> Result<(), Stop> {
    let reader = guarded(|| SerializedFileReader::new(file)).map_err(|e| failed(&e, None))?;
    let schema = reader.metadata().file_metadata().schema();
    check(sink.columns, schema)?;
    let wanted = schema.get_fields().iter().filter(|field| sink.columns.wants(field.name()));
    let projection = Type::group_type_builder(schema.name()).with_fields(wanted.cloned().collect());
    let projection = projection.build().map_err(|error| failed(&error, None))?;
    let descriptor = parquet::schema::types::SchemaDescriptor::new(projection.into());
    let mut number = 0;
    for group in 0..reader.num_row_groups() {
        let at = |error: &ParquetError, number: u64| failed(error, Some(number + 1));
        let rows = reader.get_row_group(group).map_err(|error| at(&error, number))?;
        let tree = TreeBuilder::new().with_batch_size(ROWS);
        let iter = guarded(|| tree.as_iter(descriptor.clone().into(), &*rows));
        let mut iter = iter.map_err(|error| at(&error, number))?;
        while let Some(row) = guarded(|| iter.next().transpose()).map_err(|e| at(&e, number))? {
            number += 1;
            put(&row, number, sink)?;
        }
        bytes_read.fetch_add(rows.metadata().compressed_size() as u64, Ordering::Relaxed);
    }
    Ok(())
}

/// The library panics at some damages of a file.
fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    std::panic::catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(ParquetError::General("the file is damaged".into())))
}

fn put(row: &Row, number: u64, sink: &mut Sink<'_, '_>) -> Result<(), Stop> {
    let members: Vec<Member<'_>> =
        row.get_column_iter().map(|(name, field)| member(name, field)).collect();
    if members.iter().map(|(_, value)| value.get().len()).sum::<usize>() > ITEM_BYTES_MAX {
        let reason = format!("the row is larger than {ITEM_BYTES_MAX} bytes");
        return Ok(sink.failed(Some(number), reason)?);
    }
    Ok(sink.record(Some(number), &members)?)
}

/// A file without the columns has no document at all, which is said once.
fn check(columns: &Columns, schema: &Type) -> Result<(), Stop> {
    let names = || schema.get_fields().iter().map(|field| field.name());
    let id = columns.id.as_deref().map(|id| (id, "--id-column"));
    let metadata = columns.metadata.iter().flatten();
    let wanted = [(columns.text_name(), "--text-column")].into_iter().chain(id);
    let mut wanted = wanted.chain(metadata.map(|name| (name.as_str(), "--metadata-columns")));
    match wanted.find(|(name, _)| !names().any(|known| known == *name)) {
        None => Ok(()),
        Some((name, option)) => {
            Err(Stop::Failed { line: None, reason: no_column(name, option, names()) })
        }
    }
}

fn failed(error: &ParquetError, line: Option<u64>) -> Stop {
    Stop::Failed { line, reason: error.to_string() }
}

fn member<'a>(name: &'a str, field: &Field) -> Member<'a> {
    match field {
        Field::Str(text) => text_member(name, text),
        field => {
            let json = to_raw_value(&json(field)).expect("a value always makes JSON");
            (name.into(), std::borrow::Cow::Owned(json))
        }
    }
}

fn json(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(value) => (*value).into(),
        Field::Byte(value) => (*value).into(),
        Field::Short(value) => (*value).into(),
        Field::Int(value) | Field::TimeMillis(value) => (*value).into(),
        Field::Long(value) | Field::TimeMicros(value) => (*value).into(),
        Field::UByte(value) => (*value).into(),
        Field::UShort(value) => (*value).into(),
        Field::UInt(value) => (*value).into(),
        Field::ULong(value) => (*value).into(),
        Field::Float16(value) => f32::from(*value).into(),
        // By its own digits: 0.1 and not 0.10000000149011612.
        Field::Float(value) => value.to_string().parse::<f64>().map_or(Value::Null, Value::from),
        Field::Double(value) => (*value).into(),
        Field::Str(text) => text.as_str().into(),
        Field::Bytes(bytes) => String::from_utf8_lossy(bytes.data()).into(),
        Field::Date(days) => Date::constant(1970, 1, 1)
            .checked_add(i64::from(*days).days())
            .map_or(Value::Null, |date| date.to_string().into()),
        Field::TimestampMillis(time) => time_text(Timestamp::from_millisecond(*time)),
        Field::TimestampMicros(time) => time_text(Timestamp::from_microsecond(*time)),
        Field::Group(row) => row
            .get_column_iter()
            .map(|(name, field)| (name.clone(), json(field)))
            .collect::<Map<_, _>>()
            .into(),
        Field::ListInternal(list) => list.elements().iter().map(json).collect(),
        Field::MapInternal(map) => {
            let name = |field: &Field| match field {
                Field::Str(text) => text.clone(),
                field => field.to_string(),
            };
            map.entries()
                .iter()
                .map(|(key, value)| (name(key), json(value)))
                .collect::<Map<_, _>>()
                .into()
        }
        field @ Field::Decimal(_) => field.to_string().into(),
    }
}

fn time_text(time: Result<Timestamp, jiff::Error>) -> Value {
    time.map_or(Value::Null, |time| time.to_string().into())
}
