//! The clients of the cluster: how they are configured and opened, and when they are opened anew.

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
use super::settings::{ClusterSettings, address};
use crate::backend::BackendError;

/// How long a lost connection is waited for between attempts.
const RECONNECT_MIN_MS: u32 = 20;
const RECONNECT_MAX_MS: u32 = 1_000;

/// The pause between attempts to reach the cluster at all.
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
    /// Connects. A cluster that is just being started is waited for until the deadline.
    ///
    /// # Errors
    /// [`BackendError::Unreachable`] names what is wrong.
    pub async fn open(settings: &ClusterSettings) -> Result<Self, BackendError> {
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
                tracing::warn!(%error, "the cluster is waited for, until cluster.deadline_ms");
            }
            sleep(PAUSE).await;
        }
    }

    async fn connect(
        config: Config,
        settings: &ClusterSettings,
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
            let reason = format!("no answer from {nodes} within cluster.deadline_ms");
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

    /// Opens all connections anew, to the nodes that the cluster has now: one that has stopped to
    /// answer without closing its connections may have been replaced. At most once in a deadline,
    /// however many callers have waited for it in vain.
    pub fn open_anew(&self) {
        {
            let mut last = self.opened_anew.lock().unwrap_or_else(PoisonError::into_inner);
            if last.elapsed() < self.deadline {
                return;
            }
            *last = Instant::now();
        }
        tracing::warn!("a node does not answer: the connections are opened anew");
        let clients: Vec<Client> =
            self.pool.clients().iter().chain(&self.waiting).cloned().collect();
        for client in clients {
            tokio::spawn(async move {
                if let Err(error) = client.force_reconnection().await {
                    tracing::warn!(%error, "a connection cannot be opened");
                }
            });
        }
    }
}

/// Whether a cluster that is being started, or whose nodes are being replaced, fails like this.
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

fn config(settings: &ClusterSettings) -> Result<Config, BackendError> {
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

fn password(settings: &ClusterSettings) -> Result<Option<String>, BackendError> {
    let Some(file) = &settings.password_file else {
        return Ok(settings.password.as_ref().map(|password| password.0.clone()));
    };
    let read = std::fs::read_to_string(file);
    let read = read.map_err(|error| BackendError::Unreachable {
        reason: format!("cluster.password_file: {}: {error}", file.display()),
    })?;
    Ok(Some(read.trim_end_matches(['\r', '\n']).to_owned()))
}

fn performance(settings: &ClusterSettings) -> PerformanceConfig {
    PerformanceConfig {
        // For commands to one node. Calls end at the deadline, and do more about it than this.
        default_command_timeout: 2 * settings.deadline(),
        ..PerformanceConfig::default()
    }
}

fn connection(settings: &ClusterSettings) -> ConnectionConfig {
    let keepalive = TcpKeepalive::new().with_time(settings.deadline());
    // Several nodes may have to be asked which ones there are.
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
