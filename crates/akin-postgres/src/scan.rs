//! Reads of whole collections, each from one snapshot: exports, exact lookups, and scans of all
//! sketches.

use std::cmp::Reverse;
use std::pin::pin;
use std::sync::atomic::Ordering;

use akin_core::index::{ExactSearch, ScanLimits};
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
use tokio_postgres::types::Type;

use crate::backend::PostgresCollection;
use crate::lookup::complete;
use crate::pool::Parameters;
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
            let parameters: Parameters<'_> = &[(&this.number, Type::INT4), (&now_ms, Type::INT8)];
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
        let bounds = [least.max(0.0) as i32, most.min(f64::from(i32::MAX)) as i32];
        let parameters: Parameters<'_> = &[
            (&self.number, Type::INT4),
            (&self.now_ms(), Type::INT8),
            (&bounds[0], Type::INT4),
            (&bounds[1], Type::INT4),
        ];
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
            best.add(agreeing, || self.candidate(row.get(0), shingles, agreeing, 0));
            Ok(true)
        };
        let parameters: Parameters<'_> = &[(&self.number, Type::INT4)];
        self.shared.scans.visit(sql, parameters, visit).await?;
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

/// The sets that agree best with a sketch, among those scanned so far.
struct BestSets {
    limits: ScanLimits,
    sets: Vec<Candidate>,
    /// Sets that agree in fewer slots are not kept.
    agreeing_min: u32,
    left_out: u32,
}

impl BestSets {
    fn new(limits: ScanLimits) -> Self {
        let agreeing_min = if limits.kept_max > 0 { 1 } else { limits.near_min.max(1) };
        Self { limits, sets: Vec::new(), agreeing_min, left_out: 0 }
    }

    fn add(&mut self, agreeing: u32, set: impl FnOnce() -> Candidate) {
        if agreeing < self.agreeing_min {
            return;
        }
        self.sets.push(set());
        if self.sets.len() > 2 * self.limits.near_max.max(self.limits.kept_max) {
            self.cut();
        }
    }

    /// Keeps the near sets, and further sets if they are few.
    fn cut(&mut self) {
        let ScanLimits { near_min, near_max, kept_max } = self.limits;
        self.sets.sort_unstable_by_key(|of| (Reverse(of.agreeing), of.fingerprint));
        let near = self.sets.partition_point(|of| of.agreeing >= near_min);
        let kept = near.min(near_max).max(kept_max.min(near_max));
        if let Some(first) = self.sets.get(kept) {
            self.agreeing_min = self.agreeing_min.max(first.agreeing);
            if first.agreeing >= near_min {
                self.left_out = self.left_out.max(first.agreeing);
            }
        }
        self.sets.truncate(kept);
    }

    /// Best first; and the highest agreement of a near set that was left out.
    fn finish(mut self) -> (Vec<Candidate>, u32) {
        self.cut();
        (self.sets, self.left_out)
    }
}
