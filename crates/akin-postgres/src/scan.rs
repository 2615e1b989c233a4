//! Reads of whole collections, each from one snapshot: exports, exact lookups, and scans of all
//! sketches.

use std::pin::pin;
use std::sync::atomic::Ordering;

use akin_core::index::{BestSets, ExactSearch};
use akin_core::measure::Overlap;
use akin_engine::backend::{
    Backend, BackendError, Candidate, Candidates, Records, Scan, Scanned, SketchScanning,
    SketchSearch, SketchView,
};
use akin_engine::background::turns;
use akin_engine::stored::{Detail, Order};
use async_trait::async_trait;
use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio_postgres::Row;

use crate::backend::PostgresCollection;
use crate::lookup::complete;
use crate::pool::parameters;
use crate::rows::COLUMNS;
use crate::view::PostgresView;

/// Records that are read ahead of their reader.
const RECORDS_AHEAD: usize = 16;

const DOCUMENTS: &str = "FROM akin.documents d JOIN akin.entries e ON e.entry = d.entry
    WHERE d.collection = $1 AND (d.expires_at IS NULL OR d.expires_at > $2)";

impl PostgresCollection {
    pub(crate) fn records(&self, detail: Detail, order: Order) -> Records {
        let order = match order {
            Order::Stored => "d.ordinal",
            Order::Id => "d.id",
        };
        let sql = format!("SELECT {COLUMNS} {DOCUMENTS} ORDER BY {order}");
        let (sender, receiver) = mpsc::channel(RECORDS_AHEAD);
        let this = self.clone();
        let read = async move {
            let (rows, now_ms) = (sender.clone(), this.now_ms());
            let parameters = parameters![this.number, now_ms];
            let read = async {
                let scans = &this.shared.scans;
                let taken = scans.take().await?;
                let mut stream = pin!(scans.stream(taken.client(), &sql, parameters).await?);
                while let Some(row) = scans.next(stream.as_mut()).await? {
                    if rows.send(this.record(&row, detail)).await.is_err() {
                        return Ok(());
                    }
                }
                scans.give_back(taken);
                Ok(())
            };
            if let Err(error) = read.await {
                let _ = sender.send(Err(error)).await;
            }
        };
        tokio::spawn(turns::on_behalf_of(turns::current(), read));
        let next = |mut records: mpsc::Receiver<_>| async move {
            records.recv().await.map(|record| (record, records))
        };
        futures_util::stream::unfold(receiver, next).fuse().boxed()
    }

    /// Compares every set with a size that allows the threshold.
    pub(crate) async fn scan_sets(&self, search: &ExactSearch) -> Result<Scan, BackendError> {
        let (size, threshold) = (search.set.count(), search.threshold.get());
        // Sizes are compared again below: the bounds may be too wide by 1.
        let (least, most) = (size as f64 * threshold - 1.0, size as f64 / threshold + 1.0);
        let sql = format!("SELECT {COLUMNS} {DOCUMENTS} AND e.shingles BETWEEN $3 AND $4");
        let (least, most) = (least.max(0.0) as i32, most.min(f64::from(i32::MAX)) as i32);
        let now_ms = self.now_ms();
        let parameters = parameters![self.number, now_ms, least, most];
        let mut scan = Scan::default();
        let visit = |row: Row| {
            if !Overlap::can_reach(size, row.get::<_, i32>(3) as usize, threshold) {
                return Ok(true);
            }
            let record = self.record(&row, Detail::Set)?;
            let overlap = record.set.as_ref();
            let overlap = overlap.and_then(|set| Overlap::reaching(&search.set, set, threshold));
            if let Some(overlap) = overlap {
                let sketched = self.sketched_of(&row, record.metadata.is_some())?;
                let (ours, its) = (search.sketch.as_bytes(), sketched.sketch.as_bytes());
                let agreeing = self.estimator.agreeing(ours, its);
                let candidate = Candidate { agreeing, ..sketched.candidate };
                scan.found.push(Scanned { candidate, overlap });
            }
            Ok(true)
        };
        self.shared.scans.visit(&sql, parameters, visit).await?;
        scan.seen = self.stats().await?.size.documents as usize;
        Ok(scan)
    }
}

#[async_trait]
impl SketchScanning for PostgresCollection {
    async fn scan_sketches(&self, search: SketchSearch) -> Result<Candidates, BackendError> {
        let sql = "SELECT e.entry, e.shingles, e.sketch FROM akin.entries e
            WHERE e.entry IN (SELECT entry FROM akin.documents WHERE collection = $1)";
        let SketchSearch { sketch, limits, each_max, .. } = search;
        let (mut best, mut seen) = (BestSets::new(limits), 0);
        let visit = |row: Row| {
            seen += 1;
            let agreeing = self.estimator.agreeing(sketch.as_bytes(), row.get(2));
            let shingles = row.get::<_, i32>(1) as u32;
            if agreeing >= best.agreeing_min() {
                best.add(self.candidate(row.get(0), shingles, agreeing, 0));
            }
            Ok(true)
        };
        self.shared.scans.visit(sql, parameters![self.number], visit).await?;
        let (sets, left_out) = best.finish();
        let listed: Vec<&Candidate> = sets.iter().collect();
        let read = self.read(&listed, each_max, 0).await?;
        let selected = complete(sets, seen);
        Ok(Candidates { left_out, ..self.with_members(selected, &read, each_max) })
    }

    /// At most as many as documents.
    fn distinct_sets(&self) -> usize {
        self.followed.documents.load(Ordering::Relaxed).max(0) as usize
    }

    async fn view(&self) -> Result<Box<dyn SketchView>, BackendError> {
        Ok(Box::new(PostgresView::open(self).await?))
    }
}
