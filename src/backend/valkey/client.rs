//! The Valkey clients: how they are configured and opened, and when they are reopened.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fred::clients::{Client, Pool};
use fred::error::{Error as EngineFailure, ErrorKind};
use fred::interfaces::ClientLike;
use fred::types::config::{
    ClusterDiscoveryPolicy, Config, ConnectionConfig, PerformanceConfig, ReconnectPolicy, Server,
    ServerConfig, TcpConfig, TlsConnector,
};
use socket2::TcpKeepalive;
use tokio::time::{Instant, sleep, timeout_at};

use super::failure::unreachable_because;
use crate::backend::BackendError;
use crate::backend::settings::{ValkeySettings, address};
use crate::trusted_file;

/// How long a lost connection is waited for between attempts.
const RECONNECT_MIN_MS: u32 = 20;
const RECONNECT_MAX_MS: u32 = 1_000;

/// The pause between attempts to reach Valkey at all.
const PAUSE: Duration = Duration::from_millis(200);

/// The least time in which a node must have answered a connection.
const CONNECT_MIN: Duration = Duration::from_secs(1);

pub(super) struct Clients {
    pool: Pool,
    /// Waits for replicas, which would delay other commands on its connections.
    pub waiting: Option<Client>,
    deadline: Duration,
    opened_anew: Mutex<Instant>,
}

impl Clients {
    /// Connects. If the nodes are still starting, it waits for them until the deadline.
    ///
    /// # Errors
    /// [`BackendError::Unreachable`] names the cause.
    pub async fn open(settings: &ValkeySettings) -> Result<Self, BackendError> {
        let config = config(settings)?;
        let end = Instant::now() + settings.deadline();
        let mut is_first = true;
        loop {
            let error = match Self::connect(config.clone(), settings, end).await {
                Ok(clients) => return Ok(clients),
                Err(error) => error,
            };
            if !may_pass(&error) || Instant::now() + PAUSE >= end {
                return Err(unreachable_because(&error));
            }
            if std::mem::take(&mut is_first) {
                tracing::warn!(%error, "waiting for Valkey until valkey.deadline_ms");
            }
            sleep(PAUSE).await;
        }
    }

    async fn connect(
        config: Config,
        settings: &ValkeySettings,
        end: Instant,
    ) -> Result<Self, EngineFailure> {
        let policy = ReconnectPolicy::new_exponential(0, RECONNECT_MIN_MS, RECONNECT_MAX_MS, 2);
        let (performance, connection) = (performance(settings), connection(settings));
        let size = settings.connections;
        let pool = Pool::new(config, Some(performance), Some(connection), Some(policy), size)?;
        let waiting = (settings.wait_replicas > 0).then(|| pool.next().clone_new());
        let connecting = async {
            pool.init().await?;
            match &waiting {
                Some(client) => client.init().await.map(|_| ()),
                None => Ok(()),
            }
        };
        let connected = timeout_at(end, connecting).await.unwrap_or_else(|_| {
            let nodes = settings.nodes.join(", ");
            let reason = format!("no answer from {nodes} within valkey.deadline_ms");
            Err(EngineFailure::new(ErrorKind::Timeout, reason))
        });
        let deadline = settings.deadline();
        let clients = Self { pool, waiting, deadline, opened_anew: Mutex::new(Instant::now()) };
        match connected {
            Ok(()) => Ok(clients),
            Err(error) => {
                clients.end().await;
                Err(error)
            }
        }
    }

    async fn end(&self) {
        let _ = self.pool.quit().await;
        if let Some(waiting) = &self.waiting {
            let _ = waiting.quit().await;
        }
    }

    pub fn next(&self) -> &Client {
        self.pool.next_connected()
    }

    /// Reopens all connections, to the nodes that are there now: a node that has stopped answering
    /// without closing its connections may have been replaced. At most once in a deadline, however
    /// many callers have waited for it in vain.
    pub fn open_anew(&self) {
        {
            let mut last = self.opened_anew.lock().unwrap_or_else(PoisonError::into_inner);
            if last.elapsed() < self.deadline {
                return;
            }
            *last = Instant::now();
        }
        tracing::warn!("a Valkey node does not answer; reopening the connections");
        let clients: Vec<Client> =
            self.pool.clients().iter().chain(&self.waiting).cloned().collect();
        for client in clients {
            tokio::spawn(async move {
                if let Err(error) = client.force_reconnection().await {
                    tracing::warn!(%error, "cannot open a connection to Valkey");
                }
            });
        }
    }
}

/// Whether this error is usual while nodes are being started or replaced.
fn may_pass(error: &EngineFailure) -> bool {
    matches!(
        error.kind(),
        ErrorKind::IO
            | ErrorKind::Protocol
            | ErrorKind::Cluster
            | ErrorKind::Routing
            | ErrorKind::Timeout
            | ErrorKind::Canceled
    )
}

fn config(settings: &ValkeySettings) -> Result<Config, BackendError> {
    let hosts = settings.nodes.iter().filter_map(|node| address(node));
    let hosts = hosts.map(|(host, port)| Server::new(host, port)).collect();
    let tls = match settings.tls {
        true => {
            let connector = TlsConnector::default_rustls();
            Some(connector.map_err(|error| unreachable_because(&error))?.into())
        }
        false => None,
    };
    Ok(Config {
        username: settings.username.clone(),
        password: password(settings)?,
        server: ServerConfig::Clustered { hosts, policy: ClusterDiscoveryPolicy::UseCache },
        tls,
        ..Config::default()
    })
}

/// Of the file.
const PASSWORD_BYTES_MAX: u64 = 64 << 10;

fn password(settings: &ValkeySettings) -> Result<Option<String>, BackendError> {
    let Some(file) = &settings.password_file else {
        return Ok(settings.password.as_ref().map(|password| password.0.clone()));
    };
    let unusable = |reason: &dyn std::fmt::Display| BackendError::Unreachable {
        reason: format!("valkey.password_file: {}: {reason}", file.display()),
    };
    let content = trusted_file::read(file, PASSWORD_BYTES_MAX).map_err(|error| unusable(&error))?;
    let text = String::from_utf8(content.bytes).map_err(|_| unusable(&"it is no text"))?;
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}

fn performance(settings: &ValkeySettings) -> PerformanceConfig {
    PerformanceConfig {
        // For commands to a single node. Calls end at the deadline, and do more about it than this.
        default_command_timeout: 2 * settings.deadline(),
        ..PerformanceConfig::default()
    }
}

fn connection(settings: &ValkeySettings) -> ConnectionConfig {
    let keepalive = TcpKeepalive::new().with_time(settings.deadline());
    // It may take several nodes until one of them tells the current topology.
    let of_a_node = (settings.deadline() / 4).max(CONNECT_MIN);
    ConnectionConfig {
        connection_timeout: of_a_node,
        internal_command_timeout: of_a_node,
        max_command_attempts: 10,
        max_redirections: 16,
        // A machine without power closes no connection.
        tcp: TcpConfig {
            keepalive: Some(keepalive),
            user_timeout: Some(settings.deadline()),
            ..TcpConfig::default()
        },
        ..ConnectionConfig::default()
    }
}
