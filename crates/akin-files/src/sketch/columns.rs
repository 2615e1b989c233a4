//! Sketches and their keys as Parquet: a row for each document.
//!
//! | column | type | |
//! |---|---|---|
//! | `id` | string | |
//! | `fingerprint` | int64 | equal for equal sets |
//! | `set_size` | uint32 | number of distinct shingles |
//! | `sketch` | list of uint8, uint16 or uint32 | the slots |
//! | `bands` | list of (`band` uint32, `key` uint32) | near-duplicates share a key |
//! | `set` | list of int64 | the hashed shingles, ascending as unsigned; only if wanted |
//!
//! Numbers of 64 bits are signed because Spark reads unsigned numbers as decimals. Lists are never
//! empty. A row group is collected in memory and then written column by column.

use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use crate::failure::Failure;
use crate::output::Output;
use akin_core::scheme::Key;
use akin_model::analysis::Analysis;
use akin_model::document::DocumentId;

/// Engines read a row group with one thread, so a file should have several row groups. DuckDB
/// writes 122,880 rows in each.
const GROUP_ROWS_MAX: usize = 122_880;
/// The most memory of a row group, until it is written.
const GROUP_BYTES_MAX: usize = 64 << 20;

/// The columns of the file, and its metadata.
pub struct Layout {
    /// Bits of a slot.
    pub slot_bits: u32,
    pub has_sets: bool,
    /// In the file's metadata, under the name `akin`.
    pub description: String,
}

/// Writes rows to a file.
pub struct SketchesWriter {
    writer: SerializedFileWriter<Output>,
    layout: Layout,
    group: RowGroup,
}

/// The rows of a group that is being collected.
#[derive(Default)]
struct RowGroup {
    ids: Vec<ByteArray>,
    id_bytes: usize,
    fingerprints: Vec<i64>,
    set_sizes: Vec<i32>,
    slots: ListColumn<i32>,
    bands: ListColumn<i32>,
    keys: Vec<i32>,
    elements: ListColumn<i64>,
}

/// The lists of a column, in sequence.
struct ListColumn<T> {
    values: Vec<T>,
    /// 0 where a list begins, else 1.
    repeated: Vec<i16>,
}

impl<T> Default for ListColumn<T> {
    fn default() -> Self {
        Self { values: Vec::new(), repeated: Vec::new() }
    }
}

impl<T> ListColumn<T> {
    fn push(&mut self, list: impl Iterator<Item = T>) {
        let before = self.values.len();
        self.values.extend(list);
        self.repeated.push(0);
        self.repeated.resize(self.values.len(), 1);
        debug_assert!(self.values.len() > before, "lists are never empty");
    }

    fn bytes(&self) -> usize {
        self.values.len() * (size_of::<T>() + size_of::<i16>())
    }
}

impl SketchesWriter {
    pub fn new(output: Output, layout: Layout) -> Result<Self, Failure> {
        let schema = parse_message_type(&schema(&layout)).expect("the schema is well formed");
        let description = KeyValue::new("akin".to_owned(), layout.description.clone());
        let path = |name: &str| ColumnPath::new(name.split('.').map(str::to_owned).collect());
        let hashes = path("set.list.element");
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            // Hashes are random: there is nothing to compress.
            .set_column_compression(hashes.clone(), Compression::UNCOMPRESSED)
            .set_column_dictionary_enabled(hashes, false)
            .set_column_dictionary_enabled(path("fingerprint"), false)
            .set_key_value_metadata(Some(vec![description]))
            .build();
        let writer = SerializedFileWriter::new(output, Arc::new(schema), properties.into())?;
        Ok(Self { writer, layout, group: RowGroup::default() })
    }

    pub fn push(
        &mut self,
        id: &DocumentId,
        analysis: &Analysis,
        keys: impl Iterator<Item = Key>,
    ) -> Result<(), Failure> {
        let group = &mut self.group;
        group.ids.push(id.as_str().as_bytes().to_vec().into());
        group.id_bytes += size_of::<ByteArray>() + id.as_str().len();
        group.fingerprints.push(analysis.fingerprint as i64);
        group.set_sizes.push(analysis.set.count() as i32);
        let slot_bytes = self.layout.slot_bits as usize / 8;
        group.slots.push(analysis.sketch.as_bytes().chunks_exact(slot_bytes).map(slot));
        group.bands.push(keys.map(|key| {
            group.keys.push(key.value as i32);
            key.table as i32
        }));
        if self.layout.has_sets {
            group.elements.push(analysis.set.as_slice().iter().map(|element| *element as i64));
        }
        let is_full = group.ids.len() >= GROUP_ROWS_MAX || group.bytes() >= GROUP_BYTES_MAX;
        if is_full { Ok(self.write_group()?) } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let RowGroup { ids, fingerprints, set_sizes, slots, bands, keys, elements, .. } =
            std::mem::take(&mut self.group);
        let mut group = self.writer.next_row_group()?;
        write::<ByteArrayType>(&mut group, &ids, None)?;
        write::<Int64Type>(&mut group, &fingerprints, None)?;
        write::<Int32Type>(&mut group, &set_sizes, None)?;
        write::<Int32Type>(&mut group, &slots.values, Some(&slots.repeated))?;
        write::<Int32Type>(&mut group, &bands.values, Some(&bands.repeated))?;
        write::<Int32Type>(&mut group, &keys, Some(&bands.repeated))?;
        if self.layout.has_sets {
            write::<Int64Type>(&mut group, &elements.values, Some(&elements.repeated))?;
        }
        group.close().map(drop)
    }

    pub fn finish(mut self) -> Result<(), Failure> {
        if !self.group.ids.is_empty() {
            self.write_group()?;
        }
        self.writer.into_inner()?.finish()
    }
}

impl RowGroup {
    fn bytes(&self) -> usize {
        self.id_bytes + self.slots.bytes() + 2 * self.bands.bytes() + self.elements.bytes()
    }
}

/// Writes the next column.
fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Output>,
    values: &[T::T],
    repeated: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("the schema has a column for each call");
    let defined = repeated.map(|levels| vec![1; levels.len()]);
    column.typed::<T>().write_batch(values, defined.as_deref(), repeated)?;
    column.close()
}

/// A slot of up to 32 bits, little-endian.
fn slot(bytes: &[u8]) -> i32 {
    bytes.iter().rev().fold(0, |slot, byte| slot << 8 | i32::from(*byte))
}

fn schema(layout: &Layout) -> String {
    let Layout { slot_bits, has_sets, .. } = layout;
    let list = |name: &str, element: &str| {
        format!("required group {name} (LIST) {{ repeated group list {{ {element} }} }}")
    };
    let number = |bits: u32, name: &str| format!("required int32 {name} (INTEGER({bits}, false));");
    let band = [number(32, "band"), number(32, "key")].concat();
    let mut columns = vec![
        "required binary id (STRING);".to_owned(),
        "required int64 fingerprint;".to_owned(),
        number(32, "set_size"),
        list("sketch", &number(*slot_bits, "element")),
        list("bands", &format!("required group element {{ {band} }}")),
    ];
    columns.extend(has_sets.then(|| list("set", "required int64 element;")));
    format!("message sketches {{ {} }}", columns.concat())
}
