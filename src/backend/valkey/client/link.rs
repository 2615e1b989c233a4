//! A link to a node: a connection that is opened when it is needed. All queued commands go out in
//! one write, replies are read as they come, and a command does not wait for further commands.
//!
//! A command is never sent after its deadline: it is dropped if it still waits then. If the reply
//! to a command has not come by its deadline, the connection is given up, with all that it has not
//! sent.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval};

use super::reply::{Decoder, Reply};
use super::slots::Address;
use super::stream::{Access, Fault, READ_BYTES, Stream, Transport};

/// Bytes written at a time: further commands wait in the queue.
const WRITE_BYTES_MAX: usize = 256 << 10;

/// How often deadlines are looked at.
const TICK: Duration = Duration::from_millis(20);

/// Commands for a node.
pub struct Message {
    pub bytes: Vec<u8>,
    /// Commands in `bytes`.
    pub count: usize,
    pub end: Instant,
    /// Gets the replies in order, and the fault if some are missing.
    pub done: oneshot::Sender<(Vec<Reply>, Option<Fault>)>,
}

impl Message {
    fn is_over(&self) -> bool {
        self.done.is_closed() || self.end <= Instant::now()
    }
}

/// Cheap to clone. The connection ends with the last clone.
#[derive(Clone)]
pub struct Link {
    queue: mpsc::UnboundedSender<Message>,
}

impl Link {
    pub fn new(address: Address, access: Arc<Access>, runtime: &Handle) -> Self {
        let (queue, messages) = mpsc::unbounded_channel();
        runtime.spawn(run(address, access, messages));
        Self { queue }
    }

    pub fn send(&self, message: Message) {
        // Fails only while the runtime ends, which drops what waits for the replies, too.
        let _ = self.queue.send(message);
    }
}

async fn run(address: Address, access: Arc<Access>, mut queue: mpsc::UnboundedReceiver<Message>) {
    while let Some(message) = queue.recv().await {
        if message.is_over() {
            continue;
        }
        match Stream::open(&address, &access).await {
            Ok(stream) => Connection::new(stream).serve(message, &mut queue).await,
            Err(fault) => {
                let queued = std::iter::from_fn(|| queue.try_recv().ok());
                for message in std::iter::once(message).chain(queued) {
                    let _ = message.done.send((Vec::new(), Some(fault.clone())));
                }
            }
        }
    }
}

/// A message that was sent, with the replies that have come.
struct Sent {
    replies: Vec<Reply>,
    message: Message,
}

struct Connection {
    reader: ReadHalf<Box<dyn Transport>>,
    writer: WriteHalf<Box<dyn Transport>>,
    decoder: Decoder,
    incoming: BytesMut,
    outgoing: BytesMut,
    /// Something is in `outgoing`, or may be in the buffer of TLS.
    is_writing: bool,
    sent: VecDeque<Sent>,
}

impl Connection {
    fn new(stream: Stream) -> Self {
        let (reader, writer) = tokio::io::split(stream.transport);
        Self {
            reader,
            writer,
            decoder: stream.decoder,
            incoming: stream.incoming,
            outgoing: BytesMut::new(),
            is_writing: false,
            sent: VecDeque::new(),
        }
    }

    /// Sends and reads until the connection is lost or nobody needs it.
    async fn serve(mut self, first: Message, queue: &mut mpsc::UnboundedReceiver<Message>) {
        self.take(first);
        let fault = match self.exchange(queue).await {
            Ok(()) => return,
            Err(fault) => fault,
        };
        for Sent { replies, message } in self.sent {
            let _ = message.done.send((replies, Some(fault.clone())));
        }
    }

    async fn exchange(
        &mut self,
        queue: &mut mpsc::UnboundedReceiver<Message>,
    ) -> Result<(), Fault> {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_needed = true;
        while is_needed || !self.sent.is_empty() {
            self.incoming.reserve(READ_BYTES / 4);
            tokio::select! {
                read = self.reader.read_buf(&mut self.incoming) => {
                    if read? == 0 {
                        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                    }
                    self.deliver()?;
                }
                written = write(&mut self.writer, &mut self.outgoing), if self.is_writing => {
                    written?;
                    self.is_writing = false;
                }
                message = queue.recv(), if is_needed && !self.is_writing => {
                    match message {
                        Some(message) => self.take(message),
                        None => is_needed = false,
                    }
                    while self.outgoing.len() < WRITE_BYTES_MAX
                        && let Ok(message) = queue.try_recv()
                    {
                        self.take(message);
                    }
                }
                _ = tick.tick(), if !self.sent.is_empty() => {
                    let now = Instant::now();
                    if self.sent.iter().any(|sent| sent.message.end <= now) {
                        return Err(Fault::Silent);
                    }
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, message: Message) {
        if !message.is_over() {
            self.outgoing.extend_from_slice(&message.bytes);
            self.is_writing = true;
            self.sent.push_back(Sent { replies: Vec::with_capacity(message.count), message });
        }
    }

    fn deliver(&mut self) -> Result<(), Fault> {
        while let Some(reply) = self.decoder.next(&mut self.incoming)? {
            let unasked = || Fault::Refused(format!("a reply to nothing: {reply:?}"));
            let sent = self.sent.front_mut().ok_or_else(unasked)?;
            sent.replies.push(reply);
            if sent.replies.len() == sent.message.count
                && let Some(Sent { replies, message }) = self.sent.pop_front()
            {
                let _ = message.done.send((replies, None));
            }
        }
        Ok(())
    }
}

/// Writes all, unless it is dropped: then the rest stays in `outgoing`.
async fn write(
    writer: &mut WriteHalf<Box<dyn Transport>>,
    outgoing: &mut BytesMut,
) -> io::Result<()> {
    while !outgoing.is_empty() {
        writer.write_buf(outgoing).await?;
    }
    writer.flush().await
}
