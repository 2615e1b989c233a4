//! Lines of JSON.

use std::io::{BufRead, Read};

use super::event::{ITEM_BYTES_MAX, Stop};
use super::sink::Sink;

pub fn read(mut reader: impl BufRead, sink: &mut Sink<'_, '_>) -> Result<(), Stop> {
    for number in 1.. {
        let mut json = Vec::new();
        let mut limited = reader.by_ref().take(ITEM_BYTES_MAX as u64);
        let read = limited.read_until(b'\n', &mut json).map_err(|e| Stop::at(number, e))?;
        if read == 0 {
            break;
        }
        if read == ITEM_BYTES_MAX && json.last() != Some(&b'\n') {
            reader.skip_until(b'\n').map_err(|e| Stop::at(number, e))?;
            let reason = format!("the line is longer than {ITEM_BYTES_MAX} bytes");
            sink.failed(Some(number), reason)?;
            continue;
        }
        json.truncate(json.trim_ascii_end().len());
        if !json.trim_ascii_start().is_empty() {
            sink.json(number, json)?;
        }
    }
    Ok(())
}
