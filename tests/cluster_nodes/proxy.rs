//! Stands between clients and one node, so that their link can be cut.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Nodes connect to each other from this address; their links are never cut.
pub const NODES_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// What happens to the bytes of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    Open,
    /// Connections are refused, and those that there were are reset.
    Refused,
    /// Nothing arrives, and nobody is told: a partition.
    Silent,
}

pub struct Proxy {
    /// Where clients connect.
    pub port: u16,
    state: Arc<State>,
}

struct State {
    /// Where the node listens.
    node: SocketAddr,
    ended: AtomicBool,
    link: Mutex<Link>,
    /// Both ends of each client's connection.
    connections: Mutex<HashMap<u64, [TcpStream; 2]>>,
    next: AtomicU64,
}

impl Proxy {
    /// # Panics
    /// If there is no free port.
    pub fn start(node_port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            node: SocketAddr::from(([127, 0, 0, 1], node_port)),
            ended: AtomicBool::new(false),
            link: Mutex::new(Link::Open),
            connections: Mutex::default(),
            next: AtomicU64::new(0),
        });
        let accepting = Arc::clone(&state);
        thread::spawn(move || accepting.accept(&listener));
        Self { port, state }
    }

    /// Connections that there are when the link becomes silent stay silent for ever.
    pub fn set(&self, link: Link) {
        *self.state.link.lock().unwrap() = link;
        if link != Link::Silent {
            for (_, ends) in self.state.connections.lock().unwrap().drain() {
                ends.iter().for_each(|end| drop(end.shutdown(Shutdown::Both)));
            }
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::Release);
        self.set(Link::Refused);
        // Wakes the thread that accepts.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

impl State {
    fn accept(self: Arc<Self>, listener: &TcpListener) {
        for client in listener.incoming() {
            if self.ended.load(Ordering::Acquire) {
                return;
            }
            let Ok(client) = client else { continue };
            let state = Arc::clone(&self);
            thread::spawn(move || state.join(client));
        }
    }

    fn join(&self, client: TcpStream) -> io::Result<()> {
        let is_node = client.peer_addr()?.ip() == NODES_ADDRESS;
        let link = *self.link.lock().unwrap();
        if !is_node && link == Link::Refused {
            return Ok(());
        }
        let node = TcpStream::connect(self.node)?;
        client.set_nodelay(true)?;
        node.set_nodelay(true)?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if !is_node {
            let ends = [client.try_clone()?, node.try_clone()?];
            self.connections.lock().unwrap().insert(number, ends);
        }
        let (from, to) = (client.try_clone()?, node.try_clone()?);
        thread::scope(|scope| {
            scope.spawn(|| self.copy(&from, &to, is_node));
            self.copy(&node, &client, is_node);
        });
        self.connections.lock().unwrap().remove(&number);
        Ok(())
    }

    /// Copies until either end is closed. A silent link swallows what comes.
    fn copy(&self, mut from: &TcpStream, mut to: &TcpStream, is_node: bool) {
        let mut buffer = vec![0; 64 << 10];
        let mut is_silent = false;
        loop {
            let read = match io::Read::read(&mut from, &mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(read) => read,
            };
            is_silent |= !is_node && *self.link.lock().unwrap() == Link::Silent;
            if !is_silent && io::Write::write_all(&mut to, &buffer[..read]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    }
}
