//! Nodes that fail between the operations of a single client.

use std::sync::Arc;

use akin::document::Document;
use akin::engine::AddOptions;

use crate::backends::valkey_nodes::Valkey;
use crate::numbers::Numbers;
use crate::plain::id;
use crate::world::World;
use crate::{backends, contents};

const MOVED_SLOTS: usize = 16;

/// Kills, pauses or replaces a master, or moves slots; returns when all nodes are whole again.
fn fail(nodes: &Valkey, numbers: &mut Numbers) {
    let masters = nodes.master_numbers();
    let master = numbers.pick(&masters);
    match numbers.below(4) {
        0 => nodes.promote(nodes.partner(master)),
        1 => nodes.kill_until_replaced(master),
        2 => nodes.pause_until_replaced(master),
        _ => {
            let others: Vec<_> = masters.into_iter().filter(|to| *to != master).collect();
            (0..MOVED_SLOTS).for_each(|_| nodes.migrate_any(master, numbers.pick(&others)));
        }
    }
    nodes.await_whole();
}

impl World {
    /// Valkey closes the connections of this world, or one of its own nodes fails. Only the backend
    /// in Valkey has them.
    pub async fn disturb(&mut self) {
        let Some(nodes) = &self.nodes else { return backends::close_connections(&self.dir()) };
        let (nodes, mut numbers) = (Arc::clone(nodes), Numbers(self.numbers.next()));
        tokio::task::spawn_blocking(move || fail(&nodes, &mut numbers)).await.unwrap();
        self.settle().await;
    }

    /// Writes until nothing is refused, as a write is while the backend learns of other masters.
    async fn settle(&mut self) {
        let content = contents::fresh(self.setting, &mut self.numbers);
        let settling = id("settling");
        loop {
            let (id, content) = (settling.clone(), content.clone());
            let document = Document { id, content, metadata: None, expires_at_ms: None };
            let options = AddOptions::default();
            if self.engine().add(document, options).await.is_ok()
                && self.engine().remove(&settling).await.is_ok()
            {
                return;
            }
        }
    }
}
