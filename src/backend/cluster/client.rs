//! The settings of the client.

use fred::types::config::{
    ClusterDiscoveryPolicy, Config, ConnectionConfig, PerformanceConfig, Server, ServerConfig,
    TlsConnector,
};

use super::failure::unreachable_because;
use super::settings::{ClusterSettings, address};
use crate::backend::BackendError;

pub(super) fn config(settings: &ClusterSettings) -> Result<Config, BackendError> {
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

pub(super) fn performance(settings: &ClusterSettings) -> PerformanceConfig {
    PerformanceConfig {
        default_command_timeout: settings.deadline(),
        ..PerformanceConfig::default()
    }
}

pub(super) fn connection() -> ConnectionConfig {
    ConnectionConfig {
        max_command_attempts: 10,
        max_redirections: 16,
        ..ConnectionConfig::default()
    }
}
