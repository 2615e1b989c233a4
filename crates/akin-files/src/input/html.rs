//! The texts of HTML pages.

use std::io::BufRead;

use encoding_rs::Encoding;

use super::event::Stop;
use super::members::Value;
use super::page::page;
use super::page_encoding::decode_page;
use super::sink::Sink;
use super::text::whole_bytes;
use akin_model::content::Extract;

pub fn read(
    reader: impl BufRead,
    named: Option<&'static Encoding>,
    extract: Extract,
    sink: &mut Sink<'_, '_>,
) -> Result<(), Stop> {
    let bytes = whole_bytes(reader)?;
    let page = page(&decode_page(&bytes, named), extract, &mut |_| Ok(()));
    let mut page = page.map_err(|reason| Stop::Failed { line: None, reason })?;
    page.further.push(("id".into(), Value::Text(sink.file.to_string().into())));
    Ok(sink.page(None, page)?)
}
