//! Writes an object whose first field is a list, element by element.

use std::mem;
use std::sync::Arc;

use serde::Serialize;

use super::{Broken, ReplyWriter};
use crate::budget::Reservation;
use crate::http::problem::Problem;

/// The fields of a value go on the object before it: a comma takes the place of the value's brace,
/// if it has fields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    None,
    /// The next byte is the brace.
    Brace,
    /// The brace was left out.
    Comma,
}

/// A list that is written element by element, in an object that goes on behind it.
pub struct List<'a> {
    pub(super) writer: &'a mut ReplyWriter,
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
        self.writer.joint = Joint::Brace;
        self.writer.value(rest)
    }
}
