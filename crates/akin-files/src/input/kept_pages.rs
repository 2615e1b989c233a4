//! The findings of a reader of pages, kept for the next time that the input is read: to find the
//! text of a page takes longer than to write and read it.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::copies::InputCopy;
use super::event::{Event, Stop};
use super::members::Value;
use super::open::BUFFER_BYTES;
use super::record::Source;
use super::sink::Sink;

/// An event of reading pages, with the number of its record. All values of a page are texts.
#[derive(Serialize, Deserialize)]
enum Finding {
    Page(Option<u64>, Vec<(String, String)>),
    WithoutArticle,
    Failed(Option<u64>, String),
}

impl Finding {
    /// `None` of an event that is none of pages.
    fn of(event: &Event) -> Option<Self> {
        match event {
            Event::Item(item) => {
                let Source::Values(values) = &item.source else { return None };
                let text = |(name, value): &(Arc<str>, Value<'_>)| {
                    Some((String::from(&**name), value.text().ok()??.into_owned()))
                };
                let values = values.iter().map(text).collect::<Option<_>>()?;
                Some(Self::Page(item.origin.line, values))
            }
            Event::WithoutArticle => Some(Self::WithoutArticle),
            Event::Failed { origin, reason } => Some(Self::Failed(origin.line, reason.clone())),
            Event::Skipped { .. } | Event::FileRead => None,
        }
    }
}

/// Reads pages by `read`, and keeps its findings in the copy for [`read`].
///
/// # Errors
/// The errors of `read`: then nothing is kept.
pub fn keeping(
    mut copy: Option<InputCopy<'_>>,
    sink: &mut Sink<'_, '_>,
    read: impl FnOnce(&mut Sink<'_, '_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    if copy.is_none() {
        return read(sink);
    }
    let mut emit = |event: Event| {
        copy = copy.take().and_then(|copy| written(copy, &event));
        (sink.emit)(event)
    };
    let (columns, names_places) = (sink.columns, sink.names_places);
    read(&mut Sink { file: sink.file.clone(), names_places, columns, emit: &mut emit })?;
    if let Some(copy) = copy {
        copy.end();
    }
    Ok(())
}

/// The copy with this event; `None` if it cannot be written.
fn written<'c>(mut copy: InputCopy<'c>, event: &Event) -> Option<InputCopy<'c>> {
    let mut line = serde_json::to_vec(&Finding::of(event)?).ok()?;
    line.push(b'\n');
    copy.write(&line).is_ok().then_some(copy)
}

/// Reads kept findings.
///
/// # Errors
/// The copy cannot be read.
pub fn read(copy: impl Read, sink: &mut Sink<'_, '_>) -> Result<(), Stop> {
    let mut lines = BufReader::with_capacity(BUFFER_BYTES, copy);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        let finding = serde_json::from_slice(&line);
        line.clear();
        match finding.map_err(io::Error::from)? {
            Finding::Page(number, values) => {
                let value =
                    |(name, text): (String, String)| (name.into(), Value::Text(text.into()));
                sink.record(number, values.into_iter().map(value).collect())
            }
            Finding::WithoutArticle => (sink.emit)(Event::WithoutArticle),
            Finding::Failed(number, reason) => sink.failed(number, reason),
        }?;
    }
    Ok(())
}
