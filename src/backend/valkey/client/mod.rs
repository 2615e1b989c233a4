//! The client of a Valkey or Redis Cluster: it sends each command to the node that has the slot.
//!
//! | answer to a command | what follows |
//! |---|---|
//! | `MOVED` | the slot is noted for the other node, and the command goes there |
//! | `ASK` | the command goes to the other node once, after `ASKING` |
//! | `NOSCRIPT` | the command is sent with the text of its script |
//! | `TRYAGAIN` | it is sent again after a pause: some of its keys have been moved |
//! | `CLUSTERDOWN`, `LOADING`, `MASTERDOWN`, `BUSY` | the same, to who has the slot then |
//! | none, as the connection was lost | the same: the command may be executed twice |
//! | none by the deadline | the call fails, and what was not sent is never sent ([`link`]) |
//!
//! The commands of a call with the same slot are executed in their order, as far as a reader can
//! tell: if a command is sent again, the later commands with its slot are sent again, too, one
//! after the other.

#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod link;
mod reply;
mod round;
mod slots;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::command::Command;
use link::{Link, Message};
use round::{Open, Round};
use slots::Slots;
use stream::Stream;

pub use reply::Reply;
pub use slots::{Address, slot_of};
pub use stream::{Access, Fault};

/// Pauses before commands are sent again while nodes are being replaced.
const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// Nodes that are asked for the slots at a time.
const ASKED_AT_ONCE: usize = 3;

pub struct Client {
    seeds: Vec<Address>,
    access: Arc<Access>,
    runtime: Handle,
    slots: RwLock<Arc<Slots>>,
    links: Mutex<Links>,
    /// Links for commands that would delay other commands.
    links_apart: Mutex<Links>,
    /// When the nodes were last asked for the slots. Held by the call that asks.
    asked: tokio::sync::Mutex<Option<Instant>>,
}

type Links = HashMap<Address, Link>;

impl Client {
    /// Learns the slots from one of the nodes, and connects to all masters. `runtime` runs the
    /// connections.
    ///
    /// # Errors
    /// No node tells the slots, or a master is not reached.
    pub async fn open(
        seeds: Vec<Address>,
        access: Arc<Access>,
        runtime: &Handle,
    ) -> Result<Self, Fault> {
        let (told, by) = ask_for_slots(&seeds, &access).await?;
        let mut links = Links::new();
        let open = |address: &Address| Link::new(address.clone(), Arc::clone(&access), runtime);
        let link = |address: &Address| {
            links.entry(address.clone()).or_insert_with(|| open(address)).clone()
        };
        let slots = Slots::read(told, &by, link).ok_or(Fault::NoSlots)?;
        for (address, _) in &slots.nodes {
            Stream::open(address, &access).await?;
        }
        Ok(Self {
            seeds,
            access,
            runtime: runtime.clone(),
            slots: RwLock::new(Arc::new(slots)),
            links: Mutex::new(links),
            links_apart: Mutex::default(),
            asked: tokio::sync::Mutex::default(),
        })
    }

    fn slots(&self) -> Arc<Slots> {
        Arc::clone(&self.slots.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn install(&self, slots: Slots) {
        let has = |address: &Address| slots.nodes.iter().any(|(known, _)| known == address);
        for links in [&self.links, &self.links_apart] {
            lock(links).retain(|address, _| has(address));
        }
        *self.slots.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(slots);
    }

    fn link(&self, links: &Mutex<Links>, address: &Address) -> Link {
        let open = || Link::new(address.clone(), Arc::clone(&self.access), &self.runtime);
        lock(links).entry(address.clone()).or_insert_with(open).clone()
    }

    /// The nodes with slots, in order.
    pub fn masters(&self) -> Vec<Address> {
        self.slots().masters()
    }

    /// The node that has a slot.
    pub fn owner_of(&self, slot: u16) -> Option<Address> {
        let slots = self.slots();
        slots.owner(slot).map(|owner| slots.nodes[owner].0.clone())
    }

    /// Sends commands to their nodes at once. The replies are in the same order; a refusal is a
    /// reply.
    ///
    /// # Errors
    /// Commands have no reply by `end`. Any command may have been executed; none is sent later.
    pub async fn call(
        self: &Arc<Self>,
        commands: &[Command],
        end: Instant,
    ) -> Result<Vec<Reply>, Fault> {
        let mut replies = vec![Reply::Nothing; commands.len()];
        let mut round = Round::first(commands.len());
        let mut pause = PAUSE_MIN;
        loop {
            let slots = self.slots();
            let now = round.next(commands);
            let outcomes = self.send(&slots, commands, &now, end).await;
            for (sent, outcome) in now.into_iter().zip(outcomes) {
                let slot = commands[sent.at].slot;
                let node = slots.owner(slot).map_or(&self.seeds[0], |at| &slots.nodes[at].0);
                if let Some(reply) = round.note(&sent, slot, outcome, node) {
                    replies[sent.at] = reply;
                }
            }
            if round.is_over() {
                return Ok(replies);
            }
            self.recover(&mut round, end, pause).await?;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Sends commands to a node as they are: none is sent again. `apart`: on a connection that
    /// others do not use.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub async fn call_at(
        &self,
        node: &Address,
        commands: &[Command],
        end: Instant,
        apart: bool,
    ) -> Result<Vec<Reply>, Fault> {
        let link = self.link(if apart { &self.links_apart } else { &self.links }, node);
        let mut part = Part::new(link);
        for command in commands {
            part.add(command, false, false);
        }
        match part.send(end).await.unwrap_or((Vec::new(), Some(Fault::Silent))) {
            (replies, None) => Ok(replies),
            (_, Some(fault)) => Err(fault),
        }
    }

    /// For each command its reply, or why there is none.
    async fn send(
        &self,
        slots: &Slots,
        commands: &[Command],
        now: &[Open],
        end: Instant,
    ) -> Vec<Result<Reply, Fault>> {
        let mut parts: Vec<Part> = Vec::with_capacity(slots.nodes.len().min(now.len()));
        let mut part_of_node = vec![usize::MAX; slots.nodes.len()];
        let mut places = Vec::with_capacity(now.len());
        for Open { at, ask, with_text } in now {
            let command = &commands[*at];
            let part = match (ask, slots.owner(command.slot)) {
                (Some(other), _) => {
                    parts.push(Part::new(self.link(&self.links, other)));
                    parts.len() - 1
                }
                (None, Some(node)) => {
                    if part_of_node[node] == usize::MAX {
                        part_of_node[node] = parts.len();
                        parts.push(Part::new(slots.nodes[node].1.clone()));
                    }
                    part_of_node[node]
                }
                (None, None) => {
                    places.push(None);
                    continue;
                }
            };
            places.push(Some((part, parts[part].add(command, ask.is_some(), *with_text))));
        }
        let sent: Vec<_> = parts.into_iter().map(|part| part.send(end)).collect();
        let mut results = Vec::with_capacity(sent.len());
        for sent in sent {
            // Nobody answers for a message that was dropped, as its deadline was over.
            results.push(sent.await.unwrap_or((Vec::new(), Some(Fault::Silent))));
        }
        let mut reply_at = |(part, at): (usize, usize)| {
            let (replies, fault): &mut (Vec<Reply>, Option<Fault>) = &mut results[part];
            match replies.get_mut(at) {
                Some(reply) => Ok(std::mem::replace(reply, Reply::Nothing)),
                None => Err(fault.clone().unwrap_or(Fault::Silent)),
            }
        };
        let of = |place: Option<_>| place.map_or(Err(Fault::NoSlots), &mut reply_at);
        places.into_iter().map(of).collect()
    }

    /// Before commands are sent again: notes which slots have moved, learns the slots anew if a
    /// node has failed, and pauses.
    async fn recover(
        self: &Arc<Self>,
        round: &mut Round,
        end: Instant,
        pause: Duration,
    ) -> Result<(), Fault> {
        let is_moved = !round.moved.is_empty();
        if is_moved {
            let mut slots = (*self.slots()).clone();
            for (slot, to) in round.moved.drain(..) {
                slots.move_slot(slot, &to, |address| self.link(&self.links, address));
            }
            self.install(slots);
        }
        let fault = round.fault.take();
        let now = Instant::now();
        // One slot that has moved is known; others may have moved with it.
        let refresh = (is_moved || fault.is_some()).then(|| self.learn_slots());
        let pause = round.pause(fault.as_ref().map(|_| pause));
        if now + pause.unwrap_or_default() >= end {
            return Err(fault.unwrap_or(Fault::Silent));
        }
        if let Some(refresh) = refresh.filter(|_| fault.is_some()) {
            let _ = refresh.await;
        }
        if let Some(pause) = pause {
            let _ = self.runtime.spawn(sleep(pause)).await;
        }
        Ok(())
    }

    /// Begins to learn the slots anew.
    pub fn learn_slots(self: &Arc<Self>) -> JoinHandle<()> {
        let (this, now) = (Arc::clone(self), Instant::now());
        self.runtime.spawn(async move { this.refresh(now).await })
    }

    /// Asks the nodes for the slots, unless another call has asked the nodes since.
    async fn refresh(&self, since: Instant) {
        let mut asked = self.asked.lock().await;
        if asked.is_some_and(|asked| asked >= since) {
            return;
        }
        *asked = Some(Instant::now());
        let slots = self.slots();
        let nodes = slots.nodes.iter().map(|(address, _)| address).chain(&self.seeds);
        let nodes: BTreeSet<_> = nodes.cloned().collect();
        let mut nodes = Vec::from_iter(nodes);
        let start = getrandom::u64().unwrap_or(0) as usize % nodes.len();
        nodes.rotate_left(start);
        match ask_for_slots(&nodes, &self.access).await {
            Ok((told, by)) => {
                let link = |address: &Address| self.link(&self.links, address);
                if let Some(slots) = Slots::read(told, &by, link) {
                    self.install(slots);
                }
            }
            Err(error) => tracing::warn!(%error, "no Valkey node tells the slots"),
        }
    }
}

fn lock(links: &Mutex<Links>) -> MutexGuard<'_, Links> {
    links.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The reply to `CLUSTER SLOTS` of the node that answers first, and this node.
///
/// # Errors
/// The error of a node if no node answers: an error that does not pass, if there is such an error.
async fn ask_for_slots(nodes: &[Address], access: &Access) -> Result<(Reply, Address), Fault> {
    let mut fault = Fault::NoSlots;
    for nodes in nodes.chunks(ASKED_AT_ONCE) {
        let ask = |node: &Address| {
            let node = node.clone();
            async move {
                let asking = async {
                    let slots = [Bytes::from_static(b"SLOTS")];
                    let mut stream = Stream::open(&node, access).await?;
                    stream.call(&Command::to_node("CLUSTER", slots)).await
                };
                match timeout(access.within, asking).await.unwrap_or(Err(Fault::Silent))? {
                    Reply::Array(ranges) if !ranges.is_empty() => Ok((Reply::Array(ranges), node)),
                    _ => Err(Fault::NoSlots),
                }
            }
        };
        let mut asked: FuturesUnordered<_> = nodes.iter().map(ask).collect();
        while let Some(told) = asked.next().await {
            match told {
                Ok(told) => return Ok(told),
                Err(other) if fault.may_pass() => fault = other,
                Err(_) => {}
            }
        }
    }
    Err(fault)
}

/// The commands of a call for a node.
struct Part {
    link: Link,
    bytes: Vec<u8>,
    count: usize,
}

impl Part {
    fn new(link: Link) -> Self {
        Self { link, bytes: Vec::new(), count: 0 }
    }

    /// Returns the number of the command's reply.
    fn add(&mut self, command: &Command, asking: bool, with_text: bool) -> usize {
        if asking {
            Command::to_node("ASKING", []).encode(false, &mut self.bytes);
            self.count += 1;
        }
        command.encode(with_text, &mut self.bytes);
        self.count += 1;
        self.count - 1
    }

    fn send(self, end: Instant) -> oneshot::Receiver<(Vec<Reply>, Option<Fault>)> {
        let (done, replies) = oneshot::channel();
        let Self { link, bytes, count } = self;
        link.send(Message { bytes, count, end, done });
        replies
    }
}
