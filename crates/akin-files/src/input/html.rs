//! The texts of HTML pages.

use super::event::Stop;
use super::formats::OpenInput;
use super::members::Value;
use super::page::page;
use super::page_encoding::decode_page;
use super::sink::Sink;
use super::text::whole_bytes;

pub fn read(input: OpenInput<'_>, sink: &mut Sink<'_, '_>) -> Result<(), Stop> {
    let (bytes, reading) = (whole_bytes(input.content)?, input.reading);
    let page = page(&decode_page(&bytes, reading.encoding), reading.extract, &mut |_| Ok(()));
    let mut page = page.map_err(|reason| Stop::Failed { line: None, reason })?;
    page.further.push(("id".into(), Value::Text(sink.file.to_string().into())));
    Ok(sink.page(None, page)?)
}
