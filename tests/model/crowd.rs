//! Several clients at once, each with ids of its own, while snapshots, removals of expired
//! documents, discoveries and a reindex go on. A client knows what became of its own documents and
//! of those that nobody changes; of the others it knows nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use akin::document::{Content, Document, DocumentId};
use akin::engine::{AddStatus, Collection, Collections, Match, Probe};
use futures_util::future::join_all;
use tokio::task::JoinHandle;

use crate::answers::{Finds, check_known, lookup};
use crate::collection::{
    self, CLIENTS, STABLE, World, by_ids, check_get, document, pairs, pairs_of,
};
use crate::contents;
use crate::numbers::Numbers;
use crate::plain::{Model, id, owner};
use crate::plain_resemblance::{Least, Rule};
use crate::settings::{Setting, rule_of};
use crate::single_client::{below, options, status};

const STEPS: usize = 30;

/// The stable documents and those of one client, as one rule sees them.
struct Client {
    setting: Setting,
    collections: Arc<Collections>,
    name: String,
    numbers: Numbers,
    /// One for each rule that answers may follow: two while a reindex goes on.
    models: Vec<Model>,
}

pub async fn play(world: &mut World) {
    world.advance(700);
    let next = world.next_settings().filter(|_| world.numbers.one_in(2));
    let mut rules = vec![world.model.rule];
    rules.extend(next.as_ref().map(rule_of));
    let clients: Vec<_> = (0..CLIENTS).map(|client| client_of(world, client, &rules)).collect();
    let stable = world.model.part(world.model.rule, |owner| owner == STABLE);
    let is_over = Arc::new(AtomicBool::new(false));
    let is_reindexed = next.is_some();
    let around = [
        tokio::spawn(maintain(world.collections().clone(), is_over.clone())),
        tokio::spawn(discover(world.collections().clone(), is_over.clone(), stable, is_reindexed)),
    ];
    let playing: Vec<JoinHandle<Client>> =
        clients.into_iter().map(|client| tokio::spawn(client.play())).collect();
    if let Some(settings) = next {
        collection::reindex(world.collections(), settings.clone()).await;
        world.reindexed(settings);
    }
    let clients: Vec<Client> = join_all(playing).await.into_iter().map(Result::unwrap).collect();
    is_over.store(true, Ordering::Relaxed);
    join_all(around).await.into_iter().for_each(Result::unwrap);
    gather(world, &clients);
    drop(clients);
    world.engine().remove_expired().await.unwrap();
    world.model.sweep();
    race(world).await;
}

fn client_of(world: &mut World, client: usize, rules: &[Rule]) -> Client {
    let name = format!("c{client}");
    let is_known = |owner: &str| owner == name || owner == STABLE;
    let models = rules.iter().map(|rule| world.model.part(*rule, is_known)).collect();
    let numbers = Numbers(world.numbers.next());
    let collections = Arc::clone(world.collections());
    Client { setting: world.setting, collections, name, numbers, models }
}

/// The clients' documents become the world's.
fn gather(world: &mut World, clients: &[Client]) {
    world.model.documents.retain(|id, _| owner(id) == STABLE);
    for client in clients {
        let own = client.models[0].part(world.model.rule, |owner| owner == client.name);
        world.model.documents.extend(own.documents);
    }
}

async fn maintain(collections: Arc<Collections>, is_over: Arc<AtomicBool>) {
    while !is_over.load(Ordering::Relaxed) {
        let engine = collections.get(&collection::name()).unwrap();
        // The snapshot of a collection that is being replaced may be refused.
        let _ = engine.snapshot().await;
        let _ = engine.remove_expired().await;
        tokio::task::yield_now().await;
    }
}

async fn discover(
    collections: Arc<Collections>,
    is_over: Arc<AtomicBool>,
    stable: Model,
    is_reindexed: bool,
) {
    let is_records = matches!(
        stable.documents.values().next().map(|plain| &plain.content),
        Some(Content::Fields(_)) | None
    );
    let expected = pairs_of(&stable, 0.7);
    while !is_over.load(Ordering::Relaxed) && !is_records && !is_reindexed {
        let engine = collections.get(&collection::name()).unwrap();
        let found = pairs(&engine, 0.7).await;
        let mut of_stable = by_ids(&found);
        assert_eq!(of_stable.len(), found.len(), "each pair comes once");
        of_stable.retain(|(a, b), _| owner(a) == STABLE && owner(b) == STABLE);
        assert_eq!(of_stable, expected);
        tokio::task::yield_now().await;
    }
}

impl Client {
    async fn play(mut self) -> Self {
        for _ in 0..STEPS {
            self.step().await;
        }
        self
    }

    fn engine(&self) -> Arc<Collection> {
        self.collections.get(&collection::name()).unwrap()
    }

    fn any_id(&mut self) -> String {
        format!("{}.{}", self.name, self.numbers.below(25))
    }

    async fn step(&mut self) {
        let name = self.any_id();
        match self.numbers.below(20) {
            0..7 => self.add(&name).await,
            7..9 => self.bulk().await,
            9..11 => {
                let removed = self.engine().remove(&id(&name)).await.is_ok();
                for model in &mut self.models {
                    assert_eq!(removed, model.remove(&name), "{name}");
                }
            }
            11 => self.remove_below().await,
            12 => self.check_page().await,
            13..15 => {
                let content = contents::content(self.setting, &mut self.numbers);
                self.look_up(Probe::Content(content)).await;
            }
            _ => self.look_up(Probe::Stored(id(&name))).await,
        }
        check_get(&self.engine(), self.setting, &self.models[0], &name).await;
    }

    async fn add(&mut self, name: &str) {
        let now_ms = self.models[0].now_ms;
        let (document, number) = document(self.setting, name, now_ms, &mut self.numbers);
        let skip = self.numbers.one_in(3);
        let added = self.engine().add(document.clone(), options(skip)).await.unwrap();
        let (content, least) = (&document.content, self.setting.usual_least());
        let finds = Finds::of(self.setting == Setting::Prefix, added.truncated);
        self.check_found(&added.duplicates, content, least, Some(name), finds);
        let any = !added.duplicates.is_empty();
        self.put(&document, number, added.status, skip && any);
    }

    /// Two versions of one id and another document, in one body.
    async fn bulk(&mut self) {
        let (engine, now_ms) = (self.engine(), self.models[0].now_ms);
        let (first, second) = (self.any_id(), self.any_id());
        let (mut documents, mut arrived) = (Vec::new(), Vec::new());
        for name in [&first, &second, &first] {
            let (document, number) = document(self.setting, name, now_ms, &mut self.numbers);
            let prepared = engine.prepare(document.clone()).unwrap();
            documents.push((prepared, options(false)));
            arrived.push((document, number));
        }
        for ((document, number), added) in arrived.iter().zip(engine.add_all(documents).await) {
            self.put(document, *number, added.unwrap().status, false);
        }
    }

    fn put(&mut self, document: &Document, number: Option<usize>, told: AddStatus, skips: bool) {
        let is_skipped = skips && self.models[0].get(document.id.as_str()).is_none();
        let expected =
            if is_skipped { AddStatus::Skipped } else { status(&self.models[0], document) };
        assert_eq!(told, expected, "{document:?}");
        if !is_skipped {
            for model in &mut self.models {
                model.put(document, number);
            }
        }
    }

    async fn remove_below(&mut self) {
        let number = self.numbers.below(20);
        let removed = self.engine().remove_where(below(&self.name, number)).await.unwrap();
        for model in &mut self.models {
            let expected = model.remove_below(&self.name, number);
            assert_eq!((removed.matched, removed.removed), (expected, expected));
        }
    }

    async fn check_page(&mut self) {
        let after = (!self.numbers.one_in(3)).then(|| self.any_id());
        let limit = 1 + self.numbers.below(80);
        let page = self.engine().list(after.as_deref().map(id), limit).await.unwrap();
        let page: Vec<&str> = page.iter().map(DocumentId::as_str).collect();
        assert!(page.is_sorted() && page.len() <= limit);
        let end = page.last().filter(|_| page.len() == limit);
        let after = after.as_deref().unwrap_or("");
        let within = |id: &str| id > after && end.is_none_or(|end| id <= *end);
        let is_known = |id: &&&str| self.knows(owner(id));
        let known: Vec<&str> = page.iter().filter(is_known).copied().collect();
        let alive = self.models[0].alive().map(|(id, _)| id.as_str());
        assert_eq!(known, alive.filter(|id| within(id)).collect::<Vec<_>>());
    }

    fn knows(&self, owner: &str) -> bool {
        owner == self.name || owner == STABLE
    }

    async fn look_up(&mut self, probe: Probe) {
        let least = self.numbers.pick(self.setting.leasts());
        let mode = self.numbers.pick(self.setting.modes());
        let answer = self.engine().similar(probe.clone(), lookup(least, mode)).await;
        let (content, except) = match &probe {
            Probe::Content(content) => (content.clone(), None),
            Probe::Stored(id) => match self.models[0].get(id.as_str()) {
                Some(plain) => (plain.content.clone(), Some(id.as_str())),
                None => return assert!(answer.is_err(), "{id} is no longer there"),
            },
        };
        let answer = answer.unwrap();
        let finds = Finds::of(self.setting.is_whole(mode), answer.searched.truncated);
        self.check_found(&answer.matches, &content, least, except, finds);
    }

    /// What was found is right by one of the rules.
    fn check_found(
        &self,
        found: &[Match],
        content: &Content,
        least: Least,
        except: Option<&str>,
        finds: Finds,
    ) {
        let known = [self.name.as_str(), STABLE];
        let outcomes = self.models.iter().map(|model| {
            let near = model.near(&model.rule.features(content), least, except);
            check_known(found, &near, &known, finds)
        });
        let outcomes: Vec<_> = outcomes.collect();
        assert!(outcomes.iter().any(Result::is_ok), "{outcomes:?}");
    }
}

/// Equal documents posted at once: with `skip` one of the new ids is stored; otherwise of any two
/// one knows of the other.
async fn race(world: &mut World) {
    for skip in [true, false] {
        let content = contents::fresh(world.setting, &mut world.numbers);
        let document = |client: usize| Document {
            id: id(&format!("c{client}.race")),
            content: content.clone(),
            metadata: None,
            expires_at_ms: None,
        };
        for document in (0..CLIENTS).map(document).filter(|_| skip) {
            let removed = world.engine().remove(&document.id).await.is_ok();
            assert_eq!(removed, world.model.remove(document.id.as_str()));
        }
        let posts = (0..CLIENTS).map(|client| {
            let (engine, document) = (world.engine(), document(client));
            tokio::spawn(async move { engine.add(document, options(skip)).await.unwrap() })
        });
        let posts: Vec<_> = posts.collect();
        let added: Vec<_> = join_all(posts).await.into_iter().map(Result::unwrap).collect();
        let mut known: Vec<usize> = added.iter().map(|added| added.duplicates.len()).collect();
        known.sort_unstable();
        let stored: Vec<usize> =
            (0..CLIENTS).filter(|at| added[*at].status != AddStatus::Skipped).collect();
        match skip {
            true => assert_eq!((stored.len(), known[0], known[1]), (1, 0, 1), "{added:?}"),
            false => assert!(known.iter().enumerate().all(|(at, known)| *known >= at), "{known:?}"),
        }
        for client in stored {
            world.model.put(&document(client), None);
        }
    }
}
