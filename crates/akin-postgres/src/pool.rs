//! Connections for single queries and for long reads, with a deadline for each query.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use akin_engine::backend::BackendError;
use akin_engine::background::turns::{Turn, Turns};
use futures_util::TryStreamExt;
use parking_lot::Mutex;
use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row, RowStream};

use crate::database::{Database, DatabaseConnection};
use crate::error::{busy, failed, is_answer, late};

/// The parameters of a query, each with its type: statements are not prepared, so that poolers of
/// transactions serve.
pub(crate) type Parameters<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

/// A type of the program with its type in the database.
pub(crate) trait Typed: ToSql + Sync {
    const TYPE: Type;
}

macro_rules! types {
    ($($of_database:ident: $($of_program:ty),*;)*) => {
        $($(impl Typed for $of_program { const TYPE: Type = Type::$of_database; })*)*
    };
}

types! {
    INT4: i32, Option<i32>;
    INT8: i64;
    TEXT: &str, String;
    INT2_ARRAY: Vec<i16>;
    INT4_ARRAY: Vec<i32>, Vec<Option<i32>>;
    INT8_ARRAY: Vec<i64>, Vec<Option<i64>>, &[i64];
    TEXT_ARRAY: Vec<&str>, Vec<Option<&str>>, &[&str];
    BYTEA_ARRAY: Vec<&[u8]>, Vec<Option<&[u8]>>;
}

pub(crate) fn typed<T: Typed>(value: &T) -> (&(dyn ToSql + Sync), Type) {
    (value, T::TYPE)
}

/// The [`Parameters`] with these values.
macro_rules! parameters {
    ($($value:expr),* $(,)?) => { &[$($crate::pool::typed(&$value)),*] };
}
pub(crate) use parameters;

/// Why the database cannot be reached now.
pub(crate) type Outage = Arc<Mutex<Option<String>>>;

/// Clients take turns for its connections.
pub(crate) struct ConnectionPool {
    database: Arc<Database>,
    free: Mutex<Vec<DatabaseConnection>>,
    turns: Arc<Turns>,
    outage: Outage,
    pub deadline: Duration,
}

/// A connection of a pool, which is closed unless it is given back: the query of a dropped future
/// is neither cancelled nor waited for.
pub(crate) struct Taken {
    pub connection: DatabaseConnection,
    turn: Turn,
}

impl ConnectionPool {
    pub fn new(
        database: Arc<Database>,
        connections: usize,
        deadline: Duration,
        outage: &Outage,
    ) -> Self {
        let outage = Arc::clone(outage);
        let turns = Turns::new(connections);
        Self { database, free: Mutex::default(), turns, outage, deadline }
    }

    /// # Errors
    /// `OutOfService`: all connections were taken until the deadline, or there was no new one.
    pub async fn take(&self) -> Result<Taken, BackendError> {
        let turn = timeout(self.deadline, self.turns.take()).await.map_err(|_| busy())?;
        while let Some(connection) = self.pop() {
            if !connection.client.is_closed() {
                return Ok(Taken { connection, turn });
            }
        }
        let connection = timeout(self.deadline, self.database.connect()).await;
        Ok(Taken { connection: connection.map_err(|_| late())??, turn })
    }

    pub fn give_back(&self, taken: Taken) {
        self.free.lock().push(taken.connection);
        drop(taken.turn);
    }

    fn pop(&self) -> Option<DatabaseConnection> {
        self.free.lock().pop()
    }

    /// The rows of a query.
    pub async fn query(
        &self,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, BackendError> {
        let work = async {
            let taken = self.take().await?;
            let rows = taken.client().query_typed(sql, parameters).await;
            if rows.as_ref().err().is_none_or(is_answer) {
                self.give_back(taken);
            }
            rows.map_err(failed)
        };
        timeout(self.deadline, work).await.map_err(|_| late())?
    }

    /// The first row of a query.
    pub async fn query_opt(
        &self,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> Result<Option<Row>, BackendError> {
        Ok(self.query(sql, parameters).await?.into_iter().next())
    }

    /// Reads the rows of a query one by one, however many: each has to come in time.
    pub async fn visit(
        &self,
        sql: &str,
        parameters: Parameters<'_>,
        mut visit: impl FnMut(Row) -> Result<bool, BackendError>,
    ) -> Result<(), BackendError> {
        let taken = self.take().await?;
        let mut rows = pin!(self.stream(taken.client(), sql, parameters).await?);
        while let Some(row) = self.next(rows.as_mut()).await? {
            if !visit(row)? {
                return Ok(());
            }
        }
        self.give_back(taken);
        Ok(())
    }

    /// The rows of a query, to be read one by one.
    pub async fn stream(
        &self,
        client: &Client,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> Result<RowStream, BackendError> {
        let parameters = parameters.iter().map(|(value, of)| (*value, of.clone()));
        self.long(client.query_typed_raw(sql, parameters)).await
    }

    /// The answer to a query that may read a whole collection before it answers. It takes as long
    /// as it takes, but nobody waits for it while the database answers no other query either.
    pub async fn long<T>(
        &self,
        call: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, BackendError> {
        let mut call = pin!(call);
        loop {
            if let Ok(answer) = timeout(self.deadline, call.as_mut()).await {
                return answer.map_err(failed);
            }
            if self.outage.lock().is_some() {
                return Err(late());
            }
        }
    }

    /// The next row of a stream.
    pub async fn next(
        &self,
        mut rows: std::pin::Pin<&mut RowStream>,
    ) -> Result<Option<Row>, BackendError> {
        in_time(self.deadline, rows.try_next()).await
    }
}

/// The result of a call, if it comes in time.
pub(crate) async fn in_time<T>(
    deadline: Duration,
    call: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, BackendError> {
    timeout(deadline, call).await.map_err(|_| late())?.map_err(failed)
}

impl Taken {
    pub fn client(&self) -> &Client {
        &self.connection.client
    }
}
