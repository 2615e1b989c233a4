//! Nodes that fail between the operations of a single client.

use std::sync::Arc;

use crate::backends::valkey_nodes::Valkey;
use crate::numbers::Numbers;

const MOVED_SLOTS: usize = 16;

/// Kills, pauses or replaces a master, or moves slots; returns when all nodes are whole again.
pub fn fail(nodes: &Valkey, numbers: &mut Numbers) {
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

/// As [`fail`], on a thread that may wait.
pub async fn fail_aside(nodes: &Arc<Valkey>, mut numbers: Numbers) {
    let nodes = Arc::clone(nodes);
    tokio::task::spawn_blocking(move || fail(&nodes, &mut numbers)).await.unwrap();
}
