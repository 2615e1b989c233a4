//! Stands before one node, so that the links of clients and of its replica can be cut.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Replicas connect to their masters from this address.
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
    clients: Mutex<Link>,
    replicas: Mutex<Link>,
    /// Whether it is a replica's, and both ends of each connection.
    connections: Mutex<HashMap<u64, (bool, [TcpStream; 2])>>,
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
            clients: Mutex::new(Link::Open),
            replicas: Mutex::new(Link::Open),
            connections: Mutex::default(),
            next: AtomicU64::new(0),
        });
        let accepting = Arc::clone(&state);
        thread::spawn(move || accepting.accept(&listener));
        Self { port, state }
    }

    /// Connections of clients that there are when the link becomes silent stay silent for ever.
    pub fn set(&self, link: Link) {
        self.state.set(false, link);
    }

    /// The same for the node's replica. The nodes' gossip takes another way.
    pub fn set_replication(&self, link: Link) {
        self.state.set(true, link);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::Release);
        self.set(Link::Refused);
        self.set_replication(Link::Refused);
        // Wakes the thread that accepts.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

impl State {
    fn link(&self, is_replica: bool) -> &Mutex<Link> {
        if is_replica { &self.replicas } else { &self.clients }
    }

    fn set(&self, is_replica: bool, link: Link) {
        *self.link(is_replica).lock().unwrap() = link;
        if link != Link::Silent {
            let concerned = |(of_replica, _): &(bool, _)| *of_replica == is_replica;
            let mut connections = self.connections.lock().unwrap();
            for (_, ends) in connections.values().filter(|connection| concerned(connection)) {
                for end in ends {
                    let _ = end.shutdown(Shutdown::Both);
                }
            }
            connections.retain(|_, connection| !concerned(connection));
        }
    }

    fn accept(self: Arc<Self>, listener: &TcpListener) {
        for client in listener.incoming() {
            if self.ended.load(Ordering::Acquire) {
                return;
            }
            let Ok(client) = client else { continue };
            let state = Arc::clone(&self);
            thread::spawn(move || state.join(&client));
        }
    }

    fn join(&self, client: &TcpStream) -> io::Result<()> {
        let is_replica = client.peer_addr()?.ip() == NODES_ADDRESS;
        if *self.link(is_replica).lock().unwrap() == Link::Refused {
            return Ok(());
        }
        let node = TcpStream::connect(self.node)?;
        client.set_nodelay(true)?;
        node.set_nodelay(true)?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let ends = [client.try_clone()?, node.try_clone()?];
        self.connections.lock().unwrap().insert(number, (is_replica, ends));
        let (from, to) = (client.try_clone()?, node.try_clone()?);
        thread::scope(|scope| {
            scope.spawn(|| self.copy(&from, &to, is_replica));
            self.copy(&node, client, is_replica);
        });
        self.connections.lock().unwrap().remove(&number);
        Ok(())
    }

    /// Copies until either end is closed. A silent link swallows what comes.
    fn copy(&self, mut from: &TcpStream, mut to: &TcpStream, is_replica: bool) {
        let mut buffer = vec![0; 64 << 10];
        let mut is_silent = false;
        loop {
            let read = match io::Read::read(&mut from, &mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(read) => read,
            };
            is_silent |= *self.link(is_replica).lock().unwrap() == Link::Silent;
            if !is_silent && io::Write::write_all(&mut to, &buffer[..read]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    }
}
