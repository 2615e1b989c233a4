//! The database of documents.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

/// Where collections are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StorageBackend {
    /// Below the data directory.
    Local,
    /// In a database, which several servers may share.
    Postgres,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PostgresSettings {
    /// Empty unless `storage.backend` is `postgres`.
    #[schema(value_type = String)]
    pub url: DatabaseUrl,
    /// Milliseconds until a call of the database has failed.
    pub timeout_ms: u64,
}

/// A URL that may have a password, which is not shown.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    #[cfg(feature = "postgres")]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn without_password(&self) -> String {
        let Some((scheme, rest)) = self.0.split_once("://") else {
            return if self.0.is_empty() { String::new() } else { "***".to_owned() };
        };
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        let user = authority.rsplit_once('@').and_then(|(user, _)| user.split_once(':'));
        let Some((user, password)) = user else { return self.0.clone() };
        let after = &rest[user.len() + 1 + password.len()..];
        format!("{scheme}://{user}:***{after}")
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.without_password())
    }
}

impl Serialize for DatabaseUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.without_password())
    }
}

impl PostgresSettings {
    pub(super) fn faults(&self, backend: StorageBackend) -> Vec<String> {
        let mut faults = Vec::new();
        if !(100..=600_000).contains(&self.timeout_ms) {
            faults.push(format!("timeout_ms must be 100..=600000, not {}", self.timeout_ms));
        }
        #[cfg(feature = "postgres")]
        if backend == StorageBackend::Postgres
            && let Some(fault) = akin_postgres::PostgresStore::url_fault(self.url.as_str())
        {
            faults.push(format!("url {fault}"));
        }
        #[cfg(not(feature = "postgres"))]
        if backend == StorageBackend::Postgres {
            faults.push("url is of no use to an akin without the feature postgres".to_owned());
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (given, shown) in [
            ("", ""),
            ("postgres://akin@db/akin", "postgres://akin@db/akin"),
            (
                "postgres://akin:a:b@db,db2:5433/akin?x=y",
                "postgres://akin:***@db,db2:5433/akin?x=y",
            ),
            ("postgres://akin:p@ss@db/akin", "postgres://akin:***@db/akin"),
            ("host=db password=secret", "***"),
        ] {
            let url = DatabaseUrl(given.to_owned());
            assert_eq!(serde_json::to_value(&url).unwrap(), shown);
            assert_eq!(format!("{url:?}"), format!("{shown:?}"));
        }
    }
}
