//! A collection on disk, and the model beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use akin::backend::SetCache;
use akin::document::{Document, DocumentId};
use akin::engine::{
    Clock, ClusterPart, ClusterQuery, Collection, CollectionName, CollectionSettings, Collections,
    CollectionsSettings, Discovery, FoundPair, LimitSettings, Linkage, Lookup, Mode, Opening,
    Order, PairPart, Probe, ReindexState,
};
use akin::storage::StorageSettings;
use futures_util::StreamExt;
use tempfile::TempDir;

use crate::answers::{self, Finds, RecallTally};
use crate::contents;
use crate::numbers::Numbers;
use crate::plain::{Model, Plain, id, metadata};
use crate::plain_resemblance::{Least, score};
use crate::settings::{Setting, rule_of};
use crate::store_under_test::store_of;

const START_MS: i64 = 1_800_000_000_000;

pub const CLIENTS: usize = 4;

/// Of the documents that only a single client changes.
pub const STABLE: &str = "s";

pub struct World {
    pub setting: Setting,
    pub settings: CollectionSettings,
    pub numbers: Numbers,
    pub model: Model,
    pub recall: RecallTally,
    /// `None` for a moment, while it is reopened.
    collections: Option<Arc<Collections>>,
    now_ms: Arc<AtomicI64>,
    dir: TempDir,
}

pub fn name() -> CollectionName {
    "played".parse().unwrap()
}

/// A document with random content, metadata and expiry; with the number in its metadata.
pub fn document(
    setting: Setting,
    name: &str,
    now_ms: i64,
    numbers: &mut Numbers,
) -> (Document, Option<usize>) {
    let number = (!numbers.one_in(4)).then(|| numbers.below(50));
    let document = Document {
        id: id(name),
        content: contents::content(setting, numbers),
        metadata: number.map(|number| metadata(name, number)),
        expires_at_ms: numbers.one_in(5).then(|| now_ms + 1 + numbers.below(5_000) as i64),
    };
    (document, number)
}

impl World {
    pub async fn new(setting: Setting, numbers: Numbers) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let now_ms = Arc::new(AtomicI64::new(START_MS));
        let settings = setting.settings();
        let collections = open(&dir, &now_ms, 16 << 20).await;
        collections.create(name(), settings.clone()).await.unwrap();
        let model = Model::new(rule_of(&settings), START_MS);
        let recall = RecallTally::default();
        let collections = Some(collections);
        Self { setting, settings, numbers, model, recall, collections, now_ms, dir }
    }

    pub fn engine(&self) -> Arc<Collection> {
        self.collections().get(&name()).unwrap()
    }

    pub fn collections(&self) -> &Arc<Collections> {
        self.collections.as_ref().unwrap()
    }

    pub fn advance(&mut self, by_ms: i64) {
        self.model.now_ms += by_ms;
        self.now_ms.store(self.model.now_ms, Ordering::Relaxed);
    }

    pub fn any_id(&mut self) -> String {
        let owner = match self.numbers.below(CLIENTS + 2) {
            client if client < CLIENTS => format!("c{client}"),
            _ => STABLE.to_owned(),
        };
        format!("{owner}.{}", self.numbers.below(25))
    }

    /// Closes the collections, or drops them with what they have in memory, and opens them again.
    pub async fn restart(&mut self) {
        if self.numbers.one_in(2) {
            self.collections().close().await.unwrap();
        }
        let closing = self.collections.take().unwrap();
        assert_eq!(Arc::strong_count(&closing), 1, "nothing else has them open");
        tokio::task::spawn_blocking(move || drop(closing)).await.unwrap();
        let cache_bytes = self.numbers.pick(&[1 << 14, 16 << 20]);
        self.collections = Some(open(&self.dir, &self.now_ms, cache_bytes).await);
        assert_eq!(*self.engine().settings(), self.settings);
    }

    /// The settings that it is reindexed with next, if it can be.
    pub fn next_settings(&self) -> Option<CollectionSettings> {
        let others = self.setting.others()?;
        Some(if self.settings == others { self.setting.settings() } else { others })
    }

    pub async fn reindex(&mut self) {
        let Some(settings) = self.next_settings() else { return };
        reindex(self.collections(), settings.clone()).await;
        self.reindexed(settings);
    }

    /// What has expired is not taken over.
    pub fn reindexed(&mut self, settings: CollectionSettings) {
        self.model.sweep();
        self.model.set_rule(rule_of(&settings));
        self.settings = settings;
    }

    /// Everything there is to ask.
    pub async fn check_all(&mut self) {
        self.check_listed().await;
        let alive: Vec<String> = self.model.alive().map(|(id, _)| id.clone()).collect();
        for id in alive {
            self.check_get(&id).await;
            let least = self.numbers.pick(self.setting.leasts());
            for mode in self.setting.modes() {
                self.check_stored(&id, least, *mode).await;
            }
            self.check_most_points(&id).await;
            if id.ends_with('7') {
                self.check_passages(Some(&id)).await;
            }
        }
        self.check_discovery().await;
        self.check_stored_clusters().await;
    }

    pub async fn check_get(&self, name: &str) {
        check_get(&self.engine(), self.setting, &self.model, name).await;
    }

    pub async fn check_count(&self) {
        let documents = self.engine().stats().await.unwrap().backend.size.documents;
        assert_eq!(documents, self.model.alive().count() as u64);
    }

    pub async fn check_listed(&mut self) {
        let engine = self.engine();
        let (mut listed, limit) = (Vec::<DocumentId>::new(), 1 + self.numbers.below(60));
        loop {
            let page = engine.list(listed.last().cloned(), limit).await.unwrap();
            assert!(page.len() <= limit);
            if page.is_empty() {
                break;
            }
            listed.extend(page);
        }
        let alive: Vec<&str> = self.model.alive().map(|(id, _)| id.as_str()).collect();
        assert!(listed.iter().map(DocumentId::as_str).eq(alive.iter().copied()), "{listed:?}");
        self.check_count().await;
        let exported = engine.export(Order::Id).await;
        let exported = exported.map(|record| record.unwrap().id.to_string());
        assert_eq!(exported.collect::<Vec<_>>().await, alive);
    }

    pub async fn check_stored(&mut self, name: &str, least: Least, mode: Mode) {
        let probe = Probe::Stored(id(name));
        let answer = self.engine().similar(probe, answers::lookup(least, mode)).await;
        let Some(plain) = self.model.get(name) else {
            assert!(answer.is_err(), "{name} is no longer there");
            return;
        };
        let features = plain.features.clone();
        let answer = answer.unwrap();
        self.check_answer(&features, &answer, least, Some(name), mode);
    }

    /// The `k` records with the most points.
    pub async fn check_most_points(&mut self, name: &str) {
        let Some(plain) = self.model.get(name).filter(|_| self.setting == Setting::Records) else {
            return;
        };
        let near = self.model.near(&plain.features, Least::Points(1), Some(name));
        let k = 1 + self.numbers.below(12);
        let lookup = Lookup { k: k.try_into().ok(), ..Lookup::default() };
        let answer = self.engine().similar(Probe::Stored(id(name)), lookup).await.unwrap();
        assert!(!answer.searched.truncated, "{answer:?}");
        answers::check_most_points(&answer, &near, k).unwrap();
    }

    pub async fn check_content(&mut self, content: &Plain, least: Least, mode: Mode) {
        let probe = Probe::Content(content.content.clone());
        let answer = self.engine().similar(probe, answers::lookup(least, mode)).await.unwrap();
        self.check_answer(&content.features, &answer, least, None, mode);
    }

    fn check_answer(
        &mut self,
        features: &crate::plain_resemblance::Features,
        answer: &akin::engine::Answer,
        least: Least,
        except: Option<&str>,
        mode: Mode,
    ) {
        let near = self.model.near(features, least, except);
        assert!(!answer.searched.truncated && !answer.searched.more, "{answer:?}");
        let finds = Finds::of(self.setting.is_whole(mode), false);
        answers::check(&answer.matches, &near, finds, answers::groups_of(answer)).unwrap();
        let promised = answer.searched.reach.expected_recall().unwrap();
        self.recall.add(features, &self.model, &near, &answer.matches, promised);
    }

    /// All pairs and all clusters.
    pub async fn check_discovery(&mut self) {
        if self.setting == Setting::Records {
            return;
        }
        let least = self.numbers.pick(&[0.6, 0.8, 1.0]);
        let expected = pairs_of(&self.model, least);
        let found = pairs(&self.engine(), least).await;
        assert_eq!(found.len(), expected.len(), "each pair comes once");
        assert_eq!(by_ids(&found), expected);
        assert_eq!(clusters(&self.engine(), least).await, clusters_of(&expected));
    }
}

pub async fn check_get(engine: &Collection, setting: Setting, model: &Model, name: &str) {
    let Some(plain) = model.get(name) else {
        assert!(engine.get(&id(name)).await.is_err(), "{name} is no longer there");
        return;
    };
    let record = engine.get(&id(name)).await.unwrap();
    let content = (setting != Setting::Textless).then_some(&plain.content);
    assert_eq!(record.content.as_ref(), content, "{name}");
    assert_eq!(
        (record.metadata.as_ref(), record.expires_at_ms),
        (plain.metadata.as_ref(), plain.expires_at_ms)
    );
}

async fn open(dir: &TempDir, now_ms: &Arc<AtomicI64>, sets_cache_bytes: u64) -> Arc<Collections> {
    let (dir, now_ms) = (dir.path().to_owned(), Arc::clone(now_ms));
    let of_all = CollectionsSettings {
        collections_max: 2,
        limits_max: LimitSettings {
            checked_max: 1_000,
            duplicates_max: 1_000,
            passage_texts_max: 1_000,
            ..LimitSettings::default()
        },
        opening: Opening {
            sets: SetCache::new(sets_cache_bytes),
            clock: Clock::new(move || now_ms.load(Ordering::Relaxed)),
            ..Opening::default()
        },
    };
    let open = move || {
        let store = store_of(&dir, StorageSettings::default());
        Collections::open(store, &CollectionSettings::default(), of_all)
    };
    Arc::new(tokio::task::spawn_blocking(open).await.unwrap().unwrap())
}

pub async fn reindex(collections: &Arc<Collections>, settings: CollectionSettings) {
    let mut status = collections.reindex(&name(), settings).await.unwrap();
    while status.state == ReindexState::Running {
        tokio::task::yield_now().await;
        status = collections.reindex_status(&name()).unwrap();
    }
    assert!(status.state == ReindexState::Done, "{:?}", status.failure);
}

fn exactly(least: f64) -> Discovery {
    Discovery { threshold: Some(least.try_into().unwrap()), mode: Some(Mode::Exact) }
}

pub async fn pairs(engine: &Collection, least: f64) -> Vec<FoundPair> {
    let batches = engine.pairs(exactly(least), ()).await.unwrap();
    let parts = batches.map(Result::unwrap).collect::<Vec<_>>().await.concat();
    let pair = |part| match part {
        PairPart::Pair(pair) => pair,
        PairPart::Incomplete(incomplete) => panic!("{incomplete:?}"),
    };
    parts.into_iter().map(pair).collect()
}

pub type Pairs = BTreeMap<(String, String), f64>;

pub fn by_ids(found: &[FoundPair]) -> Pairs {
    let entry = |pair: &FoundPair| {
        ((pair.a.to_string(), pair.b.to_string()), pair.similarity.resemblance())
    };
    found.iter().map(entry).collect()
}

pub fn pairs_of(model: &Model, least: f64) -> Pairs {
    let alive: Vec<_> = model.alive().collect();
    let mut pairs = Pairs::new();
    for (at, (a, ours)) in alive.iter().enumerate() {
        for (b, its) in &alive[at + 1..] {
            let resemblance = score(&ours.features, &its.features).resemblance;
            if resemblance >= least {
                pairs.insert(((*a).clone(), (*b).clone()), resemblance);
            }
        }
    }
    pairs
}

/// The members of each cluster of several documents.
async fn clusters(engine: &Collection, least: f64) -> BTreeSet<Vec<String>> {
    let query = ClusterQuery { linkage: Linkage::Single, min_size: 2, id: None };
    let parts = engine.clusters(exactly(least), query, ()).await.unwrap();
    members_of(parts.map(Result::unwrap).collect::<Vec<_>>().await.concat())
}

/// The members of each cluster, none of which may be incomplete.
pub fn members_of(parts: Vec<ClusterPart>) -> BTreeSet<Vec<String>> {
    let (mut clusters, mut members) = (BTreeSet::new(), Vec::new());
    for part in parts {
        match part {
            ClusterPart::Begin(_) => {}
            ClusterPart::Member { id, .. } => members.push(id.to_string()),
            ClusterPart::End => assert!(clusters.insert(std::mem::take(&mut members))),
            ClusterPart::Incomplete(incomplete) => panic!("{incomplete:?}"),
        }
    }
    clusters
}

pub fn clusters_of(pairs: &Pairs) -> BTreeSet<Vec<String>> {
    let mut cluster_of = BTreeMap::<&str, &str>::new();
    for (a, b) in pairs.keys() {
        let joined = [a, b].map(|id| *cluster_of.get(id.as_str()).unwrap_or(&id.as_str()));
        cluster_of.insert(a, joined[0]);
        cluster_of.insert(b, joined[1]);
        let of_second = cluster_of.values_mut().filter(|cluster| **cluster == joined[1]);
        of_second.for_each(|cluster| *cluster = joined[0]);
    }
    let mut members = BTreeMap::<&str, Vec<String>>::new();
    for (id, cluster) in cluster_of {
        members.entry(cluster).or_default().push(id.to_owned());
    }
    members.into_values().collect()
}
