//! Where collections are kept: the backends, their settings, and how each is opened.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

use super::Settings;
use crate::backend::{BackendError, CollectionStore, LocalCollections};

/// Where collections are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StorageBackend {
    /// Below the data directory.
    Local,
    /// In a database, which several servers may share.
    Postgres,
}

impl StorageBackend {
    /// What to do if the store cannot be opened; `None` if the failure decides.
    pub(crate) fn hint(self) -> Option<&'static str> {
        match self {
            Self::Local => None,
            Self::Postgres => Some("postgres.url, or AKIN__POSTGRES__URL, names the database"),
        }
    }
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
        // The password is a parameter, or has a slash or a question mark that is not escaped.
        if rest.contains("password") || rest[authority.len()..].contains('@') {
            return format!("{scheme}://***");
        }
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

/// The directory of all collections of a data directory.
#[must_use]
pub fn collections_dir(data_dir: &Path) -> PathBuf {
    data_dir.join("collections")
}

impl Settings {
    /// Where the collections are, for the log and for messages.
    #[must_use]
    pub fn place(&self) -> String {
        match self.storage.backend {
            StorageBackend::Local => self.storage.data_dir.display().to_string(),
            StorageBackend::Postgres => self.postgres.url.without_password(),
        }
    }

    /// Blocks, within a runtime.
    ///
    /// # Errors
    /// Of a database: `OutOfService` if it cannot be reached, `OtherSettings` if it lacks
    /// something.
    pub fn open_store(&self) -> Result<Arc<dyn CollectionStore>, BackendError> {
        let storage = &self.storage;
        match storage.backend {
            StorageBackend::Local => {
                let root = collections_dir(&storage.data_dir);
                Ok(Arc::new(LocalCollections::new(root, storage.store.clone())))
            }
            #[cfg(feature = "postgres")]
            StorageBackend::Postgres => {
                let connections = akin_postgres::ConnectionSettings {
                    deadline: std::time::Duration::from_millis(self.postgres.timeout_ms),
                    scans_max: storage.store.scans_max as usize,
                    changes_kept: storage.store.changes_kept,
                    compression_level: storage.store.compression_level,
                };
                let url = self.postgres.url.as_str();
                let open = akin_postgres::PostgresStore::open(url, &connections);
                Ok(Arc::new(tokio::runtime::Handle::current().block_on(open)?))
            }
            #[cfg(not(feature = "postgres"))]
            StorageBackend::Postgres => {
                let reason = "this akin has no PostgreSQL (feature `postgres`)".to_owned();
                Err(BackendError::OutOfService { reason })
            }
        }
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
            ("postgres://akin:p/ss@db/akin", "postgres://***"),
            ("postgres://db/akin?user=akin&password=secret", "postgres://***"),
            ("host=db password=secret", "***"),
        ] {
            let url = DatabaseUrl(given.to_owned());
            assert_eq!(serde_json::to_value(&url).unwrap(), shown);
            assert_eq!(format!("{url:?}"), format!("{shown:?}"));
        }
    }
}
