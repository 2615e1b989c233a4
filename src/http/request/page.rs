//! HTML pages in bodies. What is stored and looked up is the text of a page.

use std::cell::OnceCell;
use std::sync::Arc;

use axum::http::{HeaderMap, header};
use memchr::memmem;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::background;
use crate::budget::{Reservation, cost};
use crate::http::problem::{Code, Problem, internal};
use crate::http::request::{BodyReader, Media};
use akin_files::feature::HTML;
use akin_files::input::{PageCost, charset_of, decode_page, page};
use akin_model::content::Extract;

/// How the texts of pages are found.
#[derive(Clone, Copy, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageParameters {
    /// Which text of HTML is taken: by default `text`, the visible text, without navigation; or
    /// `main`, the main content, as in a browser's reader view; of a page without an article its
    /// text. In JSON it may stand beside `html` instead.
    pub extract: Option<Extract>,
}

/// Reads the pages of a request.
pub struct PageReader {
    parameters: PageParameters,
    /// The code of a page that is not as it should be.
    invalid: Code,
    /// The memory of the request.
    memory: Option<Arc<Reservation>>,
    /// The memory and the work of the pages.
    share: OnceCell<Reservation>,
}

/// Whether JSON may have a page, whose text takes long to find. The letters of the member's name
/// may be escaped, so an escape of any letter counts.
pub fn may_be_in(json: &[u8]) -> bool {
    ["html\"", "\\u006", "\\u007"].iter().any(|part| memmem::find(json, part.as_bytes()).is_some())
}

impl PageReader {
    /// Without `memory` nothing is counted.
    pub fn new(
        parameters: PageParameters,
        invalid: Code,
        memory: Option<Arc<Reservation>>,
    ) -> Self {
        Self { parameters, invalid, memory, share: OnceCell::new() }
    }

    /// Counts the pages towards `share`, as the other work of the request.
    pub fn of_share(self, share: Reservation) -> Self {
        Self { share: OnceCell::from(share), ..self }
    }

    /// The text of a body of `text/plain`; or of `text/html`, extracted in the background. A byte
    /// order mark, the charset of the header or a declaration in the page tells its encoding.
    ///
    /// # Errors
    /// The parameter `extract` for a text; the errors of [`BodyReader::whole`] and
    /// [`Self::extracted`].
    pub async fn text_of_body(
        self,
        reader: BodyReader,
        media: Media,
        headers: &HeaderMap,
    ) -> Result<String, Problem> {
        if media != Media::Html {
            if self.parameters.extract.is_some() {
                let detail = "the parameter 'extract' is for HTML";
                return Err(Problem::new(Code::InvalidParameter, detail));
            }
            return reader.text().await;
        }
        let body = reader.whole_document().await?;
        let media = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let charset = media.and_then(charset_of);
        let extract = move || self.extracted(&decode_page(&body, charset), None);
        background::compute(extract).await.unwrap_or_else(|_| Err(internal()))
    }

    /// The text of a JSON object: its `text`, or the text of its `html`.
    ///
    /// # Errors
    /// It has both, or `extract` without `html`; and the errors of [`Self::extracted`].
    pub fn text(
        &self,
        text: Option<String>,
        html: Option<&str>,
        extract: Option<Extract>,
    ) -> Result<Option<String>, Problem> {
        let of_query = self.parameters.extract;
        let fault = match (&text, html, extract) {
            (Some(_), Some(_), _) => ("/html", "must not stand beside 'text'"),
            (_, None, Some(_)) => ("/extract", "must stand beside 'html' only"),
            (_, _, Some(own)) if of_query.is_some_and(|of_query| of_query != own) => {
                ("/extract", "has another value in the query")
            }
            (_, None, None) => return Ok(text),
            (None, Some(html), _) => {
                let text = self.extracted(html, extract).map(Some);
                return text.map_err(|problem| problem.under("/html"));
            }
        };
        Err(Problem::of_field(self.invalid, fault.0, fault.1))
    }

    /// # Errors
    /// `unsupported_media_type` without the feature `html`; that the page breaks one of the bounds
    /// of pages, or takes more memory or work than is left.
    fn extracted(&self, html: &str, extract: Option<Extract>) -> Result<String, Problem> {
        if !HTML.is_built_in {
            return Err(Problem::new(Code::UnsupportedMediaType, HTML.absent()));
        }
        let memory = self.memory.as_deref();
        let share = memory.map(|memory| self.share.get_or_init(|| memory.of_one_request()));
        share.map_or(Ok(()), |share| share.charge(html.len() / cost::HTML_BYTES))?;
        let held = share.map(|share| share.another(0)).transpose()?;
        let mut refused = None;
        let mut take = |part| {
            let taken = match (part, &held, share) {
                (PageCost::Memory(bytes), Some(held), _) => held.grow(bytes),
                (PageCost::Steps(steps), _, Some(share)) => share.charge(steps / cost::HTML_STEPS),
                _ => Ok(()),
            };
            taken.map_err(|exhausted| refused.insert(exhausted).to_string())
        };
        let extract = extract.or(self.parameters.extract).unwrap_or_default();
        page(html, extract, &mut take).map(|page| page.text).map_err(|reason| {
            refused.map_or_else(|| Problem::new(self.invalid, reason), Problem::from)
        })
    }
}
