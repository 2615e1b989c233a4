//! A view as the corpus of a join.

use std::ops::ControlFlow;

use super::{Interrupted, Work};
use crate::backend::{BackendError, View};
use crate::document::Ordinal;
use crate::engine::Mode;
use crate::join::{Corpus, Documents, Gathering, Join, Keys, Progress, Scoring, Sets, Stage};
use crate::scheme::Scheme;
use crate::sketch::Estimator;
use crate::text::ShingleSet;

/// The sets of a view by the numbers of its corpus.
pub(super) struct ViewSets<'v> {
    pub view: &'v mut dyn View,
    pub documents: &'v Documents,
}

impl Sets for ViewSets<'_> {
    type Error = BackendError;

    fn set(&mut self, number: u32) -> Result<ShingleSet, BackendError> {
        let (_, ordinal) = self.documents.of(number)[0];
        self.view.set(Ordinal(ordinal))
    }
}

impl Work {
    pub(super) fn estimator(&self) -> Estimator {
        self.analyser.estimator
    }

    pub(super) fn progress(&self) -> &Progress {
        self.running.progress()
    }

    pub(super) fn corpus(&mut self) -> Result<(Corpus, Documents), Interrupted> {
        let progress = self.running.progress();
        progress.begin(Stage::Reading, self.view.documents());
        let mut gathering = Gathering::new(self.analyser.sketch_bytes());
        let mut visit = |row: crate::storage::FilingRow<'_>| {
            let document = (row.id, row.ordinal.0);
            gathering.push(document, row.fingerprint, row.shingles, row.sketch);
            match progress.advance(1) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        };
        self.view.filings(&mut visit).map_err(Interrupted::Sets)?;
        progress.go_on()?;
        Ok(gathering.finish())
    }

    pub(super) fn join<'c>(
        &mut self,
        corpus: &'c Corpus,
        documents: &Documents,
    ) -> Result<Join<'c>, Interrupted> {
        let judged = (self.estimator(), self.threshold);
        let scoring = match self.mode {
            // Where there are no keys, `verified` finds by elements, too.
            Mode::Exact | Mode::Verified if self.finds_by_elements() => {
                let mut sets = ViewSets { view: &mut *self.view, documents };
                return Join::exact(corpus, judged, &mut sets, self.running.progress());
            }
            Mode::Estimated => Scoring::Estimated,
            Mode::Exact | Mode::Verified => Scoring::Verified,
        };
        let scheme = &self.analyser.scheme;
        let plan = scheme.plan(self.threshold);
        let value = |sketch: &[u8], table| scheme.value(sketch, table);
        let keys = Keys { tables: plan.bands, value, agreeing_min: plan.agreeing_min };
        Ok(Join::by_keys(corpus, &keys, judged, scoring, self.progress())?)
    }

    fn finds_by_elements(&self) -> bool {
        self.mode == Mode::Exact || matches!(self.analyser.scheme, Scheme::Prefix(_))
    }
}
