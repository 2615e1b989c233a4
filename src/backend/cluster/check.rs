//! Warnings of settings of the nodes that may lose acknowledged documents.

use super::connection::Connection;

/// A setting, the values that are right, and why.
const WANTED: [(&str, fn(&str) -> bool, &str); 4] = [
    (
        "appendonly",
        |value| value == "yes",
        "without it a restarted node has lost what it had since its last dump: set it to yes",
    ),
    (
        "appendfsync",
        |value| value == "everysec" || value == "always",
        "a power failure may lose any number of seconds: set it to everysec or always",
    ),
    (
        "min-replicas-to-write",
        |value| value.parse::<u32>().is_ok_and(|replicas| replicas > 0),
        "a master cut off from its replicas accepts writes that a failover loses: set it to 1",
    ),
    (
        "maxmemory-policy",
        |value| value == "noeviction",
        "a full node evicts keys, and so loses documents: set it to noeviction",
    ),
];

pub(super) async fn warn_of_settings(connection: &Connection) {
    for (name, is_right, why) in WANTED {
        for (node, value) in connection.setting_of_nodes(name).await {
            match value {
                Some(value) if is_right(&value) => {}
                Some(value) => tracing::warn!(%node, setting = name, %value, "{why}"),
                None => tracing::warn!(%node, setting = name, "its value cannot be read"),
            }
        }
    }
}
