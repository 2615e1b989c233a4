//! JSON pointers (RFC 6901).

/// The pointer to a key of the outermost object.
pub fn to(key: &str) -> String {
    format!("/{}", key.replace('~', "~0").replace('/', "~1"))
}
