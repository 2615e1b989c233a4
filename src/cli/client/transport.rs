//! A connection that takes in the answer while it still sends.
//!
//! A bulk import is answered line by line while its body arrives, and a server stops reading from a
//! client that does not read. A client that sent its whole body first would then wait for the
//! server, and the server for it, for ever.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport,
};
use ureq::{Error, Timeout};

/// How long a write may stand still before we look whether there is something to read.
const WRITE_STALL: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct DuplexConnector;

impl<In: Transport> Connector<In> for DuplexConnector {
    type Out = Either<In, DuplexTransport>;

    fn connect(
        &self,
        details: &ConnectionDetails,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        if let Some(connection) = chained {
            return Ok(Some(Either::A(connection)));
        }
        let stream = connect_any(details)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(WRITE_STALL))?;
        let config = details.config;
        let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
        let transport = DuplexTransport { stream, buffers, early: Vec::new() };
        Ok(Some(Either::B(transport)))
    }
}

fn connect_any(details: &ConnectionDetails) -> Result<TcpStream, Error> {
    let mut failed = Error::ConnectionFailed;
    for address in &details.addrs {
        let connected = match details.timeout.not_zero() {
            Some(patience) => TcpStream::connect_timeout(address, *patience),
            None => TcpStream::connect(address),
        };
        match connected {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = Error::Io(error),
        }
    }
    Err(failed)
}

#[derive(Debug)]
pub struct DuplexTransport {
    stream: TcpStream,
    buffers: LazyBuffers,
    /// Bytes of the answer that came while we were sending. Bounded by the answer to what was sent.
    early: Vec<u8>,
}

impl DuplexTransport {
    /// Takes in what has arrived, without waiting. Whether that was anything.
    fn take_early(&mut self) -> Result<bool, Error> {
        let bytes_before = self.early.len();
        self.stream.set_nonblocking(true)?;
        let taken = self.stream.read_to_end(&mut self.early);
        self.stream.set_nonblocking(false)?;
        match taken {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error.into()),
            _ => Ok(self.early.len() > bytes_before),
        }
    }

    fn give_early(&mut self) -> usize {
        let input = self.buffers.input_append_buf();
        let given = input.len().min(self.early.len());
        input[..given].copy_from_slice(&self.early[..given]);
        self.early.drain(..given);
        given
    }

    fn receive(&mut self, timeout: NextTimeout) -> Result<usize, Error> {
        self.stream.set_read_timeout(timeout.not_zero().map(|patience| *patience))?;
        loop {
            match self.stream.read(self.buffers.input_append_buf()) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_stall(error.kind()) => return Err(Error::Timeout(timeout.reason)),
                received => return Ok(received?),
            }
        }
    }
}

/// What a socket with a timeout says when it runs out.
fn is_stall(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

impl Transport for DuplexTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let patience = timeout.for_write().not_zero().map_or(Duration::MAX, |patience| *patience);
        let mut sent = 0;
        let mut moved = Instant::now();
        while sent < amount {
            match self.stream.write(&self.buffers.output()[sent..amount]) {
                Ok(0) => return Err(Error::Io(ErrorKind::WriteZero.into())),
                Ok(written) => {
                    sent += written;
                    moved = Instant::now();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_stall(error.kind()) => {
                    if self.take_early()? {
                        moved = Instant::now();
                    }
                    if moved.elapsed() > patience {
                        return Err(Error::Timeout(Timeout::PerWrite));
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let received = if self.early.is_empty() {
            self.receive(timeout.for_read())?
        } else {
            self.give_early()
        };
        self.buffers.input_appended(received);
        Ok(received > 0)
    }

    /// Between two requests there is nothing to read from a connection that is still good.
    fn is_open(&mut self) -> bool {
        let quiet = self.stream.set_nonblocking(true).is_ok()
            && self.stream.peek(&mut [0]).is_err_and(|e| e.kind() == ErrorKind::WouldBlock);
        self.early.is_empty() && quiet && self.stream.set_nonblocking(false).is_ok()
    }
}
