//! One node of Valkey.

use std::fs::{self, File};
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use super::proxy::{NODES_ADDRESS, Proxy};
use super::wire::{Reply, Wire};
use super::{Options, poll};

/// The server, by any of the names that Debian's packages give it; the last two are the same program
/// as the first two, in the packages that start no service.
const PROGRAMS: [&str; 4] =
    ["valkey-server", "redis-server", "valkey-check-rdb", "redis-check-rdb"];

pub struct Node {
    /// Where it listens for the test, without TLS.
    pub port: u16,
    /// Where it listens with TLS, if it does.
    tls_port: Option<u16>,
    pub proxy: Option<Proxy>,
    password: Option<String>,
    dir: PathBuf,
    process: Mutex<Option<Process>>,
    wire: Mutex<Option<Wire>>,
}

/// The server, and a shell that kills it once this process has ended, however that came.
struct Process {
    server: Child,
    watcher: Child,
    is_paused: bool,
}

impl Node {
    /// Starts it, on a port of its own.
    ///
    /// # Panics
    /// If there is no such program, or it ends at once.
    pub fn start(dir: PathBuf, options: &Options) -> Self {
        fs::create_dir_all(&dir).unwrap();
        let [port, bus_port, tls_port] = free_ports();
        let proxy = options.has_proxies.then(|| Proxy::start(port));
        let announced = proxy.as_ref().map_or(port, |proxy| proxy.port);
        let mut settings = settings(options, &dir, [port, bus_port, announced]);
        let tls_port = options.tls.then_some(tls_port);
        settings.extend(tls_port.into_iter().flat_map(tls_settings));
        fs::write(dir.join("server.conf"), settings).unwrap();
        let process = Mutex::new(Some(Process::start(&dir)));
        let password = options.password.clone();
        let node = Self { port, tls_port, proxy, password, dir, process, wire: Mutex::new(None) };
        node.await_answer();
        node
    }

    /// The port that clients know.
    pub fn announced_port(&self) -> u16 {
        self.tls_port.unwrap_or_else(|| self.proxy.as_ref().map_or(self.port, |proxy| proxy.port))
    }

    /// `None` if it does not answer.
    pub fn try_call(&self, command: &[impl AsRef<[u8]>]) -> Option<Reply> {
        let mut wire = self.wire.lock().unwrap();
        if wire.is_none() {
            *wire = Wire::open(self.port, self.password.as_deref()).ok();
        }
        let reply = wire.as_mut()?.call(command).ok();
        if reply.is_none() {
            *wire = None;
        }
        reply
    }

    /// # Panics
    /// If it does not answer, or by an error.
    #[track_caller]
    pub fn call(&self, command: &[impl AsRef<[u8]>]) -> Reply {
        match self.try_call(command) {
            Some(Reply::Error(error)) => panic!("{}: {error}", words(command)),
            Some(reply) => reply,
            None => panic!("{} on {}: no answer", words(command), self.port),
        }
    }

    /// The value of a line `name:value` in what a command answers; `None` if it does not answer.
    pub fn try_figure(&self, command: &[&str], name: &str) -> Option<String> {
        let text = match self.try_call(command)? {
            reply @ (Reply::Bulk(_) | Reply::Status(_)) => reply.text(),
            _ => return None,
        };
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(str::to_owned)
    }

    /// A figure of INFO.
    #[track_caller]
    pub fn figure(&self, name: &str) -> String {
        self.try_figure(&["INFO"], name).unwrap_or_else(|| panic!("INFO has no {name}"))
    }

    /// Its name in Valkey.
    pub fn id(&self) -> String {
        self.call(&["CLUSTER", "MYID"]).text()
    }

    pub fn is_master(&self) -> bool {
        self.try_figure(&["INFO", "replication"], "role").is_some_and(|role| role == "master")
    }

    /// Neither killed nor paused.
    pub fn is_running(&self) -> bool {
        self.process.lock().unwrap().as_ref().is_some_and(|process| !process.is_paused)
    }

    /// Ends it as a power failure does.
    pub fn kill(&self) {
        self.process.lock().unwrap().take();
        self.wire.lock().unwrap().take();
    }

    /// Starts it again, with what it has on disk.
    pub fn restart(&self) {
        self.kill();
        *self.process.lock().unwrap() = Some(Process::start(&self.dir));
        self.await_answer();
    }

    /// It stops in the midst of what it does, and keeps its connections.
    pub fn pause(&self) {
        self.signal("STOP");
    }

    pub fn resume(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        let mut process = self.process.lock().unwrap();
        let process = process.as_mut().expect("the node runs");
        process.is_paused = name == "STOP";
        process.signal(name);
    }

    fn await_answer(&self) {
        poll("the server answers", || {
            let ended = |process: &mut Process| process.server.try_wait().unwrap().is_some();
            if self.process.lock().unwrap().as_mut().is_some_and(ended) {
                let log = fs::read_to_string(self.dir.join("log")).unwrap_or_default();
                panic!("the server has ended: {log}");
            }
            let reply = self.try_call(&["PING"]);
            matches!(reply, Some(Reply::Status(_)))
        });
    }
}

impl Process {
    fn start(dir: &Path) -> Self {
        let log = File::options().create(true).append(true).open(dir.join("log")).unwrap();
        let program = program();
        // It is a server if its name does not say that it only checks files.
        let name = program.file_name().unwrap().to_str().unwrap().replace("check-rdb", "server");
        let server = Command::new(&program)
            .arg0(name)
            .arg(dir.join("server.conf"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let end = "cat > /dev/null; kill -9 \"$0\"; rm -rf \"$1\"";
        let watcher = Command::new("sh")
            .args(["-c", end, &server.id().to_string()])
            .arg(dir)
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { server, watcher, is_paused: false }
    }

    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} \"$0\"");
        let id = self.server.id().to_string();
        assert!(Command::new("sh").args(["-c", &kill, &id]).status().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The shell must not kill a later process of that number.
        for child in [&mut self.watcher, &mut self.server] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Ports that nobody has.
fn free_ports() -> [u16; 3] {
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    let named = |name: &&str| folders.iter().map(|f| f.join(name)).find(|path| path.is_file());
    PROGRAMS.iter().find_map(named).expect("install Debian's valkey-tools or redis-tools")
}

fn settings(options: &Options, dir: &Path, [port, bus_port, announced]: [u16; 3]) -> Vec<u8> {
    let Options { password, node_timeout_ms, further, .. } = options;
    let mut lines = Vec::new();
    let mut line = |name: &str, value: &str| writeln!(lines, "{name} \"{value}\"").unwrap();
    line("bind", "127.0.0.1");
    line("bind-source-addr", &NODES_ADDRESS.to_string());
    line("port", &port.to_string());
    line("dir", dir.to_str().unwrap());
    line("save", "");
    line("appendonly", "yes");
    line("enable-debug-command", "local");
    line("cluster-enabled", "yes");
    line("cluster-port", &bus_port.to_string());
    line("cluster-announce-ip", "127.0.0.1");
    line("cluster-announce-port", &announced.to_string());
    line("cluster-node-timeout", &node_timeout_ms.to_string());
    line("cluster-replica-validity-factor", "0");
    line("cluster-allow-replica-migration", "no");
    line("cluster-require-full-coverage", "no");
    line("repl-diskless-sync-delay", "0");
    line("zset-max-listpack-entries", "256");
    if let Some(password) = password {
        line("requirepass", password);
        line("masterauth", password);
    }
    for (name, value) in further {
        line(name, value);
    }
    lines
}

/// The nodes speak TLS with each other and with clients, who must show a certificate.
fn tls_settings(port: u16) -> Vec<u8> {
    let file = |name: &str| format!("{}/tests/valkey/tls/{name}", env!("CARGO_MANIFEST_DIR"));
    let files = [("cert", "node.cert.pem"), ("key", "node.key.pem"), ("ca-cert", "ca.cert.pem")];
    let mut lines = format!("tls-port {port}\ncluster-announce-tls-port {port}\n");
    lines.push_str("tls-cluster yes\ntls-replication yes\n");
    for (key, name) in files {
        lines.extend(["tls-", key, "-file ", &file(name), "\n"]);
    }
    lines.push_str("tls-auth-clients yes\n");
    lines.into_bytes()
}

fn words(command: &[impl AsRef<[u8]>]) -> String {
    let word = |word: &_| String::from_utf8_lossy(AsRef::<[u8]>::as_ref(word)).into_owned();
    command.iter().map(word).collect::<Vec<_>>().join(" ")
}
