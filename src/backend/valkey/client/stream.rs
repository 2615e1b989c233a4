//! Opening a connection to a node: TCP or TLS, then the password.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::super::command::Command;
use super::reply::{Decoder, Malformed, Reply};
use super::slots::Address;

/// Bytes that are read at a time, at least.
pub const READ_BYTES: usize = 64 << 10;

/// User name, password and certificates for the nodes.
pub struct Access {
    pub username: Option<String>,
    pub password: Option<String>,
    pub tls: Option<TlsConnector>,
    /// The time in which a node must have accepted a connection.
    pub within: Duration,
}

/// Why a node cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Fault {
    #[error("{0}")]
    Io(Arc<io::Error>),
    #[error("no reply within valkey.deadline_ms")]
    Silent,
    #[error("no node is known to have the slot")]
    NoSlots,
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Its own words.
    #[error("{0}")]
    Refused(String),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(Arc::new(error))
    }
}

impl Fault {
    /// Whether it is usual while nodes are being started or replaced.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Io(error) => error.kind() != io::ErrorKind::InvalidData,
            Self::Silent | Self::NoSlots | Self::Malformed(_) => true,
            Self::Refused(text) => is_passing(text),
        }
    }
}

/// Whether a node that refuses a command will execute it when it is whole again.
pub fn is_passing(refusal: &str) -> bool {
    ["CLUSTERDOWN", "LOADING", "MASTERDOWN", "BUSY "].iter().any(|code| refusal.starts_with(code))
}

pub trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// A connection that takes commands.
pub struct Stream {
    pub transport: Box<dyn Transport>,
    pub decoder: Decoder,
    pub incoming: BytesMut,
}

impl Stream {
    /// # Errors
    /// The node is not reached, is silent, or refuses the password.
    pub async fn open(address: &Address, access: &Access) -> Result<Self, Fault> {
        timeout(access.within, Self::connect(address, access)).await.unwrap_or(Err(Fault::Silent))
    }

    async fn connect(address: &Address, access: &Access) -> Result<Self, Fault> {
        let tcp = TcpStream::connect((address.host.as_str(), address.port)).await?;
        tcp.set_nodelay(true)?;
        // What has not left this machine when the connection is given up must never leave it.
        tcp.set_zero_linger()?;
        let transport: Box<dyn Transport> = match &access.tls {
            None => Box::new(tcp),
            Some(tls) => {
                let name = ServerName::try_from(address.host.clone());
                let name =
                    name.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                Box::new(tls.connect(name, tcp).await?)
            }
        };
        let mut stream = Self { transport, decoder: Decoder::default(), incoming: BytesMut::new() };
        if let Some(password) = &access.password {
            let words = access.username.iter().chain([password]);
            let words: Vec<_> = words.map(|word| word.clone().into_bytes().into()).collect();
            stream.call(&Command::to_node("AUTH", words)).await?;
        }
        Ok(stream)
    }

    /// Sends a command and waits for its reply, on a connection without others.
    ///
    /// # Errors
    /// The connection is lost, or the node refuses the command.
    pub async fn call(&mut self, command: &Command) -> Result<Reply, Fault> {
        let mut bytes = Vec::new();
        command.encode(false, &mut bytes);
        self.transport.write_all(&bytes).await?;
        self.transport.flush().await?;
        loop {
            match self.decoder.next(&mut self.incoming)? {
                Some(Reply::Error(text)) => return Err(Fault::Refused(text)),
                Some(reply) => return Ok(reply),
                None => {}
            }
            self.incoming.reserve(READ_BYTES);
            if self.transport.read_buf(&mut self.incoming).await? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
        }
    }
}
