//! Which commands of a call are sent in a round, and which are sent again.

use std::collections::HashSet;
use std::time::Duration;

use super::reply::Reply;
use super::slots::Address;
use super::stream::{Fault, is_passing};
use crate::backend::valkey::command::Command;

/// The pause before a command is sent again because its keys are being moved.
const MOVE_PAUSE: Duration = Duration::from_millis(5);

/// Rounds without a pause: a command that is sent from node to node for longer is slowed down.
const ROUNDS_AT_ONCE: u32 = 3;

/// A command without a reply.
#[derive(Clone, Debug, Default)]
pub struct Open {
    /// Its number in the call.
    pub at: usize,
    /// The node that executes it this time, although another node has the slot.
    pub ask: Option<Address>,
    /// It is a script that the node did not have.
    pub with_text: bool,
}

#[derive(Default)]
pub struct Round {
    number: u32,
    open: Vec<Open>,
    /// The slots with a command that is sent again.
    held: HashSet<u16>,
    /// Slots that have moved since the slots were read.
    pub moved: Vec<(u16, Address)>,
    /// Why a command has no reply.
    pub fault: Option<Fault>,
    is_moving: bool,
}

impl Round {
    pub fn first(count: usize) -> Self {
        let open = (0..count).map(|at| Open { at, ..Open::default() }).collect();
        Self { open, ..Self::default() }
    }

    /// The commands to send: at first all, later the first of each slot.
    pub fn next(&mut self, commands: &[Command]) -> Vec<Open> {
        self.number += 1;
        self.is_moving = false;
        self.held.clear();
        if self.number == 1 {
            return std::mem::take(&mut self.open);
        }
        let mut open = std::mem::take(&mut self.open);
        open.sort_unstable_by_key(|open| open.at);
        let mut slots = HashSet::new();
        let (now, later) = open.into_iter().partition(|open| slots.insert(commands[open.at].slot));
        self.open = later;
        now
    }

    /// Takes the reply to a command, or notes how it is sent again. `node` has the slot.
    pub fn note(
        &mut self,
        sent: &Open,
        slot: u16,
        outcome: Result<Reply, Fault>,
        node: &Address,
    ) -> Option<Reply> {
        let mut again = Open { at: sent.at, ..Open::default() };
        match outcome {
            Ok(Reply::Error(text)) => {
                let other = || Address::parse(text.rsplit(' ').next()?, node);
                match (text.split(' ').next(), other()) {
                    (Some("MOVED"), Some(other)) => self.moved.push((slot, other)),
                    (Some("ASK"), Some(other)) => again.ask = Some(other),
                    (Some("NOSCRIPT"), _) => {
                        again.ask.clone_from(&sent.ask);
                        again.with_text = true;
                    }
                    (Some("TRYAGAIN"), _) => self.is_moving = true,
                    _ if is_passing(&text) => self.fault = Some(Fault::Refused(text)),
                    _ if !self.held.contains(&slot) => return Some(Reply::Error(text)),
                    _ => {}
                }
            }
            // Unless an earlier command with the slot is sent again.
            Ok(reply) if !self.held.contains(&slot) => return Some(reply),
            Ok(_) => {}
            Err(fault) => self.fault = Some(fault),
        }
        self.held.insert(slot);
        self.open.push(again);
        None
    }

    pub fn is_over(&self) -> bool {
        self.open.is_empty()
    }

    /// How long to wait before the next round. `while_replaced`: because a node has failed.
    pub fn pause(&self, while_replaced: Option<Duration>) -> Option<Duration> {
        let must_wait = self.is_moving || self.number >= ROUNDS_AT_ONCE;
        while_replaced.or_else(|| must_wait.then_some(MOVE_PAUSE))
    }
}
