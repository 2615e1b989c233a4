//! Makes a join's corpus of a view.

use std::ops::ControlFlow;

use quick_cache::unsync::Cache;

use super::{Interrupted, Work};
use crate::backend::{BackendError, SetBytes, SketchView};
use crate::document::Ordinal;
use akin_core::join::{Corpus, CorpusBuilder, Documents, JoinProgress, Sets, Stage};
use akin_core::sketch::Estimator;
use akin_core::text::ShingleSet;

/// Memory for the sets of a view. Separate from the cache of lookups, which a view would flush.
const SETS_CACHE_BYTES: u64 = 64 << 20;

/// Sets of about a thousand shingles that fit into the cache.
const SETS_EXPECTED: usize = 8_192;

/// The sets of a view, by their numbers in the corpus.
pub(crate) struct ViewSets<'v> {
    view: &'v mut dyn SketchView,
    corpus: &'v Corpus,
    pub documents: &'v Documents,
    read: Cache<u32, ShingleSet, SetBytes>,
}

impl<'v> ViewSets<'v> {
    pub fn new(view: &'v mut dyn SketchView, corpus: &'v Corpus, documents: &'v Documents) -> Self {
        let read = Cache::with_weighter(SETS_EXPECTED, SETS_CACHE_BYTES, SetBytes);
        Self { view, corpus, documents, read }
    }
}

impl Sets for ViewSets<'_> {
    type Error = BackendError;

    fn count(&self) -> u32 {
        self.corpus.count()
    }

    fn shingles(&self, number: u32) -> usize {
        self.corpus.shingles(number)
    }

    fn sketch(&mut self, number: u32) -> Result<&[u8], BackendError> {
        Ok(self.corpus.sketch(number))
    }

    fn set(&mut self, number: u32) -> Result<ShingleSet, BackendError> {
        if let Some(set) = self.read.get(&number) {
            return Ok(set.clone());
        }
        let (_, ordinal) = self.documents.of(number)[0];
        let ordinal = Ordinal::try_from(ordinal).expect("it was one when it was pushed");
        let set = self.view.set(ordinal)?;
        self.read.insert(number, set.clone());
        Ok(set)
    }
}

impl Work {
    pub(crate) fn estimator(&self) -> Estimator {
        self.analyser.estimator
    }

    pub(crate) fn progress(&self) -> &JoinProgress {
        self.running.progress()
    }

    pub(crate) fn corpus(&mut self) -> Result<(Corpus, Documents), Interrupted> {
        let progress = self.running.progress();
        progress.begin(Stage::Reading, self.view.documents());
        let mut builder = CorpusBuilder::new(self.analyser.sketch_bytes());
        let read = self.view.sketches(&mut |row| {
            let document = (row.id, row.ordinal.get());
            builder.push(document, row.fingerprint, row.shingles, row.sketch);
            match progress.advance(1) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
        read.map_err(Interrupted::Sets)?;
        progress.go_on()?;
        Ok(builder.finish())
    }
}
