//! Writes an object whose first field is a list, element by element.

use std::io::{self, Write};
use std::mem;
use std::sync::Arc;

use serde::Serialize;

use super::{Broken, Writer};
use crate::budget::Reservation;
use crate::http::problem::Problem;

/// A list that is written element by element, in an object that goes on behind it.
pub struct List<'a> {
    pub(super) writer: &'a mut Writer,
    pub(super) is_empty: bool,
}

impl List<'_> {
    /// Writes one element, in this memory.
    ///
    /// # Errors
    /// [`Broken`]
    pub async fn element(
        &mut self,
        value: &impl Serialize,
        memory: &Arc<Reservation>,
    ) -> Result<(), Broken> {
        if !mem::take(&mut self.is_empty) {
            self.writer.text(",")?;
        }
        self.writer.value(value)?;
        self.writer.hold(memory);
        self.writer.send_if_full().await
    }

    /// Ends the list, and the object with the fields of `rest`.
    ///
    /// # Errors
    /// There is no memory for its text.
    pub fn end(self, rest: &impl Serialize) -> Result<(), Problem> {
        self.writer.text("]")?;
        let fields = Fields { writer: &mut *self.writer, place: Place::BeforeBrace };
        let written = serde_json::to_writer(fields, rest);
        self.writer.checked(written)
    }
}

/// Writes the fields of an object behind other fields: a comma takes the place of the brace before
/// them.
struct Fields<'a> {
    writer: &'a mut Writer,
    place: Place,
}

#[derive(Clone, Copy)]
enum Place {
    BeforeBrace,
    BehindBrace,
    Within,
}

impl Write for Fields<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(first) = bytes.first() else { return Ok(0) };
        match self.place {
            Place::BeforeBrace => {
                assert_eq!(*first, b'{', "the rest of an object is an object");
                self.place = Place::BehindBrace;
                return Ok(1);
            }
            Place::BehindBrace if *first != b'}' => self.writer.write_all(b",")?,
            Place::BehindBrace | Place::Within => {}
        }
        self.place = Place::Within;
        self.writer.write_all(bytes)?;
        Ok(bytes.len())
    }

    #[inline]
    fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if matches!(self.place, Place::Within) {
                return self.writer.write_all(bytes);
            }
            let written = self.write(bytes)?;
            bytes = &bytes[written..];
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
