//! Takes records from the readers of formats, and emits them.

use std::sync::Arc;

use super::columns::TextColumns;
use super::event::{Cancelled, Emit, Event};
use super::lines::Line;
use super::members::{Value, Values};
use super::record::{Item, Origin, Source};

/// Takes the records of one file, and passes them on.
pub struct Sink<'a, 'e> {
    pub file: Arc<str>,
    /// Whether a record without an id gets its file and line as its id; not for stdin.
    pub names_places: bool,
    pub columns: &'a Arc<TextColumns>,
    pub emit: &'a mut Emit<'e>,
}

/// A page, or a text of a crawl.
pub struct Page {
    pub text: String,
    /// The other columns.
    pub further: Values,
    /// False where the article was wanted, and the page has none.
    pub has_article: bool,
}

/// What reading a page is about to take.
#[derive(Clone, Copy)]
pub enum PageCost {
    /// Bytes of memory.
    Memory(usize),
    /// Steps of the search for the main text.
    Steps(usize),
}

/// Is called before something is taken, and may refuse it.
pub type PageBudget<'m> = dyn FnMut(PageCost) -> Result<(), String> + 'm;

impl Sink<'_, '_> {
    /// Takes a line of JSON.
    pub fn json(&mut self, number: u64, line: Line) -> Result<(), Cancelled> {
        self.take(Some(number), Source::Line(line))
    }

    /// Takes a page.
    pub fn page(&mut self, number: Option<u64>, page: Page) -> Result<(), Cancelled> {
        if !page.has_article {
            (self.emit)(Event::WithoutArticle)?;
        }
        let mut values = vec![("text".into(), Value::Text(page.text.into()))];
        values.extend(page.further);
        self.record(number, values)
    }

    /// Takes a record of another format.
    pub fn record(&mut self, number: Option<u64>, values: Values) -> Result<(), Cancelled> {
        self.take(number, Source::Values(values))
    }

    fn take(&mut self, number: Option<u64>, source: Source) -> Result<(), Cancelled> {
        let (columns, is_named_by_place) = (Arc::clone(self.columns), self.names_places);
        let origin = self.origin(number);
        (self.emit)(Event::Item(Item { source, origin, columns, is_named_by_place }))
    }

    /// Reports a record that cannot be read. The records after it may be readable.
    pub fn failed(&mut self, number: Option<u64>, reason: String) -> Result<(), Cancelled> {
        let origin = self.origin(number);
        (self.emit)(Event::Failed { origin, reason })
    }

    fn origin(&self, line: Option<u64>) -> Origin {
        Origin { file: Arc::clone(&self.file), line }
    }
}
