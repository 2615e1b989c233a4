//! The collections of a database, which several servers may share.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use akin_core::scheme::{Kind, Scheme};
use akin_engine::backend::{
    Backend, BackendError, CollectionStore, ListedCollection, Opening, Removal, StoredCollection,
    seeded,
};
use akin_model::name::CollectionName;
use akin_model::settings::CollectionSettings;
use tokio::runtime::Handle;
use tokio_postgres::Row;

use crate::backend::PostgresCollection;
use crate::database::Database;
use crate::maintenance::FollowedCollection;
use crate::pool::{Parameters, parameters};
use crate::shared::{ConnectionSettings, SharedDatabase};

/// The collections of a database. Its methods block, within a runtime.
#[derive(Clone)]
pub struct PostgresStore {
    shared: Arc<SharedDatabase>,
    runtime: Handle,
}

/// A row of `collections`. Until it has a name, dropping it removes it.
struct PostgresStored {
    store: PostgresStore,
    number: i32,
    created_at: i64,
    name: CollectionName,
    settings: CollectionSettings,
    /// The settings that decided the stored data.
    identity: String,
    replaces: Option<i32>,
    followed: Arc<FollowedCollection>,
}

impl PostgresStore {
    /// Connects, checks the database, and brings its schema up to date.
    ///
    /// # Errors
    /// `OtherSettings`: the URL is wrong, or the database lacks something; `OutOfService`: it
    /// cannot be reached.
    pub async fn open(url: &str, settings: &ConnectionSettings) -> Result<Self, BackendError> {
        let database = Database::parse(url).map_err(|fault| BackendError::OtherSettings {
            reason: format!("postgres.url {fault}"),
        })?;
        let shared = SharedDatabase::open(database, settings).await?;
        Ok(Self { shared, runtime: Handle::current() })
    }

    /// The fault of a URL, if there is one.
    pub fn url_fault(url: &str) -> Option<String> {
        Database::parse(url).err()
    }

    fn query(&self, sql: &str, parameters: Parameters<'_>) -> Result<Vec<Row>, BackendError> {
        self.runtime.block_on(self.shared.reads.query(sql, parameters))
    }

    /// Whether the first row of a query has the value true.
    fn call(&self, sql: &str, parameters: Parameters<'_>) -> Result<bool, BackendError> {
        Ok(self.query(sql, parameters)?.first().is_some_and(|row| row.get(0)))
    }

    /// Of a row that begins with the number, the time of the creation and the identity.
    fn stored(
        &self,
        name: CollectionName,
        settings: CollectionSettings,
        row: &Row,
    ) -> PostgresStored {
        PostgresStored {
            store: self.clone(),
            number: row.get(0),
            created_at: row.get(1),
            name,
            settings,
            identity: row.get(2),
            replaces: None,
            followed: Arc::default(),
        }
    }

    /// A collection without a name, which is to replace another or none.
    fn create_for(
        &self,
        name: &CollectionName,
        settings: &CollectionSettings,
        replaces: Option<i32>,
    ) -> Result<PostgresStored, BackendError> {
        check_supported(settings)?;
        let identity = identity(&seeded(settings, None)?);
        let json = serde_json::to_string(settings).expect("settings are plain JSON");
        let sql = "INSERT INTO akin.collections (settings, identity, replaces) VALUES ($1, $2, $3)
            RETURNING collection, created_at, identity";
        let rows = self.query(sql, parameters![json, identity, replaces])?;
        let row = rows.first().ok_or(BackendError::Closed)?;
        let mut stored = self.stored(name.clone(), settings.clone(), row);
        stored.replaces = replaces;
        stored.followed.is_building.store(true, Ordering::Relaxed);
        self.shared.followed.add(stored.number, &stored.followed);
        Ok(stored)
    }

    fn by_name(&self, name: &CollectionName) -> Result<Option<Row>, BackendError> {
        let sql = "SELECT collection, created_at, identity FROM akin.collections WHERE name = $1";
        let rows = self.query(sql, parameters![name.as_str()])?;
        Ok(rows.into_iter().next())
    }
}

impl CollectionStore for PostgresStore {
    fn default_collection(
        &self,
        settings: &CollectionSettings,
    ) -> Result<Arc<dyn StoredCollection>, BackendError> {
        let name = CollectionName::default();
        loop {
            if let Some(row) = self.by_name(&name)? {
                return Ok(Arc::new(self.stored(name, settings.clone(), &row)));
            }
            let created = self.create(&name, settings)?;
            match created.take_name() {
                // Another server that starts now was first.
                Err(BackendError::Superseded) => {}
                taken => return taken.map(|()| created),
            }
        }
    }

    fn list(&self) -> Result<Vec<ListedCollection>, BackendError> {
        let sql = "SELECT collection, created_at, identity, settings, name FROM akin.collections
            WHERE name IS NOT NULL ORDER BY name";
        let mut listed = Vec::new();
        for row in self.query(sql, &[])? {
            let Ok(name) = row.get::<_, &str>(4).parse::<CollectionName>() else { continue };
            let settings = serde_json::from_str(row.get(3));
            let stored = match settings {
                Ok(settings) => Ok(Arc::new(self.stored(name.clone(), settings, &row)) as Arc<_>),
                Err(error) => Err(BackendError::OtherSettings {
                    reason: format!("this version does not know the settings of '{name}': {error}"),
                }),
            };
            listed.push(ListedCollection { name, stored });
        }
        Ok(listed)
    }

    fn create(
        &self,
        name: &CollectionName,
        settings: &CollectionSettings,
    ) -> Result<Arc<dyn StoredCollection>, BackendError> {
        Ok(Arc::new(self.create_for(name, settings, None)?))
    }

    fn generation(&self) -> Result<Option<u64>, BackendError> {
        // The last number, too: a name may come and go between two looks.
        let sql =
            "SELECT coalesce(sum(hashtextextended(name, collection)::numeric) % 4294967296, 0)
            ::int8 + (SELECT last_value FROM akin.collections_collection_seq)
            FROM akin.collections WHERE name IS NOT NULL";
        let rows = self.query(sql, &[])?;
        Ok(rows.first().map(|row| row.get::<_, i64>(0).cast_unsigned()))
    }
}

fn identity(seeded: &CollectionSettings) -> String {
    seeded.identity(&Scheme::new(&seeded.scheme, &seeded.sketch))
}

/// # Errors
/// `Unsupported`: the settings of local collections alone.
fn check_supported(settings: &CollectionSettings) -> Result<(), BackendError> {
    let unsupported = |what| Err(BackendError::Unsupported { what });
    if settings.passages.settings().is_some() {
        return unsupported("indexes of passages (passages.words)");
    }
    if settings.clusters.threshold.is_some() {
        return unsupported("kept clusters (clusters.threshold)");
    }
    if settings.scheme.kind == Kind::Prefix {
        return unsupported("prefix filters (scheme.kind = prefix)");
    }
    Ok(())
}

impl StoredCollection for PostgresStored {
    fn number(&self) -> u64 {
        self.number as u64
    }

    fn settings(&self) -> &CollectionSettings {
        &self.settings
    }

    fn open(
        &self,
        opening: &Opening,
    ) -> Result<(Arc<dyn Backend>, CollectionSettings), BackendError> {
        check_supported(&self.settings)?;
        let seeded = seeded(&self.settings, Some(&self.identity))?;
        let given = identity(&seeded);
        if given != self.identity {
            let (name, stored) = (&self.name, &self.identity);
            return Err(BackendError::OtherSettings {
                reason: format!(
                    "the collection '{name}' was made with {stored}, not {given}. Configure the \
                     settings that it was made with, or export it and import it into a new database"
                ),
            });
        }
        let made = (self.number, self.created_at);
        let (shared, followed) = (&self.store.shared, &self.followed);
        shared.followed.add(self.number, followed);
        let collection = PostgresCollection::new(shared, made, followed, &seeded, opening);
        Ok((Arc::new(collection), seeded))
    }

    fn replacement(
        self: Arc<Self>,
        settings: &CollectionSettings,
    ) -> Result<Arc<dyn StoredCollection>, BackendError> {
        let sql = "SELECT EXISTS (SELECT FROM akin.collections WHERE replaces = $1
            AND name IS NULL AND built_at > now() - interval '1 minute')";
        if self.store.call(sql, parameters![self.number])? {
            return Err(BackendError::ReindexUnderWay);
        }
        let replaces = Some(self.number);
        Ok(Arc::new(self.store.create_for(&self.name, settings, replaces)?))
    }

    fn take_name(&self) -> Result<(), BackendError> {
        let shared = &self.store.shared;
        let taken = match self.replaces {
            Some(old) => {
                let takeover = shared.pauses.take_over(old, self.number);
                self.store.runtime.block_on(takeover)?
            }
            None => {
                let sql = "UPDATE akin.collections SET name = $2, built_at = 'infinity'
                    WHERE collection = $1 AND built_at > '-infinity' RETURNING true";
                self.store.call(sql, parameters![self.number, self.name.as_str()])?
            }
        };
        if !taken {
            return Err(BackendError::Superseded);
        }
        self.followed.is_building.store(false, Ordering::Relaxed);
        Ok(())
    }

    fn give_up(&self) {
        if let Some(ending) = self.end_building() {
            self.store.runtime.block_on(ending);
        }
    }

    /// Its rows are deleted in the background.
    fn end_takeover(&self) -> Result<(), BackendError> {
        Ok(())
    }

    fn remove(&self) -> Result<Removal, BackendError> {
        self.store.call("SELECT akin.remove_collection($1)", parameters![self.number])?;
        Ok(Removal::Durable)
    }
}

impl PostgresStored {
    /// The end of the building of a collection, if it has not taken a name: its rows are deleted
    /// in the background.
    fn end_building(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        if !self.followed.is_building.swap(false, Ordering::Relaxed) {
            return None;
        }
        let (shared, number) = (Arc::clone(&self.store.shared), self.number);
        Some(async move {
            // A call that was answered too late may have given it the name after all, or may still
            // do so: the update waits for that call, or the call finds the collection removed.
            let sql = "UPDATE akin.collections SET built_at = '-infinity'
                WHERE collection = $1 AND name IS NULL";
            if let Err(error) = shared.reads.query(sql, parameters![number]).await {
                tracing::debug!(%error, "the remains of a collection stay for an hour");
            }
        })
    }
}

impl Drop for PostgresStored {
    fn drop(&mut self) {
        if let Some(ending) = self.end_building() {
            self.store.runtime.spawn(ending);
        }
    }
}
