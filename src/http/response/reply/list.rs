//! Writes an object whose first field is a list, element by element.

use std::mem;
use std::sync::Arc;

use serde::Serialize;

use super::{Broken, ReplyWriter};
use crate::budget::Reservation;
use crate::http::problem::Problem;

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

    /// Ends the list, and the object with the fields of `rest`, another object.
    ///
    /// # Errors
    /// There is no memory for its text.
    pub fn end(self, rest: &impl Serialize) -> Result<(), Problem> {
        self.writer.text("]")?;
        let rest = serde_json::to_string(rest).expect("replies are plain JSON");
        if rest != "{}" {
            self.writer.text(",")?;
        }
        self.writer.text(rest.strip_prefix('{').expect("it is an object"))
    }
}
