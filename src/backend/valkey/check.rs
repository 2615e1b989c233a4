//! Warnings of settings of the nodes that may lose acknowledged documents.

use super::connection::Connection;

/// A setting of the nodes.
struct Wanted {
    name: &'static str,
    is_right: fn(&str) -> bool,
    /// What the operator should do, and why.
    advice: &'static str,
}

const WANTED: [Wanted; 4] = [
    Wanted {
        name: "appendonly",
        is_right: |value| value == "yes",
        advice: "a restarted node has lost what it had since its last dump: set it to yes",
    },
    Wanted {
        name: "appendfsync",
        is_right: |value| value == "everysec" || value == "always",
        advice: "a power failure may lose any number of seconds: set it to everysec or always",
    },
    Wanted {
        name: "min-replicas-to-write",
        is_right: |value| value.parse::<u32>().is_ok_and(|replicas| replicas > 0),
        advice: "a master cut off from its replicas takes writes that are lost: set it to 1",
    },
    Wanted {
        name: "maxmemory-policy",
        is_right: |value| value == "noeviction",
        advice: "a full node evicts keys, and so loses documents: set it to noeviction",
    },
];

pub(super) async fn warn_of_settings(connection: &Connection) {
    for Wanted { name, is_right, advice } in WANTED {
        for (node, value) in connection.setting_of_nodes(name).await {
            match value {
                Some(value) if is_right(&value) => {}
                Some(value) => tracing::warn!(%node, setting = name, %value, "{advice}"),
                None => tracing::warn!(%node, setting = name, "cannot read node setting"),
            }
        }
    }
}
