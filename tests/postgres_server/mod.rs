//! A PostgreSQL that a test starts in a temporary directory, as an unprivileged user, and ends.

#![allow(dead_code, reason = "each test crate uses a part of it")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tempfile::TempDir;

/// Databases that this process has made.
static DATABASES_MADE: AtomicU32 = AtomicU32::new(0);

/// Where Debian, and other systems, have the programs of a server.
const PROGRAMS: [&str; 3] = ["/usr/lib/postgresql", "/usr/pgsql", "/usr/local/pgsql"];

/// The user of the server if the test runs as root, as which it refuses to run.
const USER: &str = "postgres";

/// The library over which a server's disk can be full.
const FULL_DISK: &str = "full_disk.so";

/// Twice what the databases of a test crate take in memory.
const ROOM_IN_MEMORY: u64 = 4 << 30;

pub struct PostgresServer {
    dir: TempDir,
    bin: PathBuf,
    postmaster: Option<Child>,
    /// Has the library that can fill its disk, if it is to run over that.
    full_disk: Option<TempDir>,
}

/// The server of the tests that run now: it ends with the last of them.
static SHARED: Mutex<Weak<PostgresServer>> = Mutex::new(Weak::new());

/// A database of its own in a server that tests share; `None`, noted, where PostgreSQL is not
/// installed.
pub struct Database {
    server: Arc<PostgresServer>,
    name: String,
}

impl Database {
    pub fn new() -> Option<Self> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        let server = match shared.upgrade() {
            Some(server) => server,
            None => Arc::new(PostgresServer::start(&["fsync=off"])?),
        };
        *shared = Arc::downgrade(&server);
        drop(shared);
        let name = format!("test{}", DATABASES_MADE.fetch_add(1, Ordering::Relaxed));
        create_database(&name, |sql| server.try_sql("postgres", sql)).unwrap();
        Some(Self { server, name })
    }

    pub fn url(&self) -> String {
        self.server.url(&self.name)
    }

    /// The output of a statement, without titles.
    pub fn sql(&self, sql: &str) -> String {
        self.server.sql(&self.name, sql)
    }

    /// Begins a transaction that writes, and ends once the process is dropped.
    pub fn begin(&self) -> Child {
        let mut psql = self.server.psql(&self.name);
        let mut child = psql.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let begin = b"BEGIN; SELECT pg_current_xact_id();\n";
        child.stdin.as_mut().unwrap().write_all(begin).unwrap();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
        child
    }
}

impl PostgresServer {
    /// `settings`: as in postgresql.conf, each `name=value`. `None`, noted, where PostgreSQL is not
    /// installed.
    pub fn start(settings: &[&str]) -> Option<Self> {
        Self::start_with(settings, &[])
    }

    /// Also on loopback with TLS, at the port in its URL.
    pub fn start_with_tls(certificate: &Path, key: &Path) -> Option<(Self, u16)> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let settings = [&format!("port = {port}"), "listen_addresses = '127.0.0.1'", "ssl = on"];
        let files = [("server.crt", certificate), ("server.key", key)];
        Some((Self::start_with(&settings, &files)?, port))
    }

    /// `files` are put into its directory.
    pub fn start_with(settings: &[&str], files: &[(&str, &Path)]) -> Option<Self> {
        let Some(bin) = programs() else {
            crate::not_run::note("PostgreSQL is not installed");
            return None;
        };
        let (dir, postmaster, full_disk) = (directory(), None, None);
        let mut server = Self { dir, bin, postmaster, full_disk };
        let data = server.data();
        server.make_files();
        let mut conf = fs::read_to_string(data.join("postgresql.conf")).unwrap();
        let socket = server.dir.path().display();
        // The code that it would compile for a statement over many rows takes longer than the rows.
        // A killed server leaves its shared memory, unless that is files of its directory.
        let own = format!(
            "\nlisten_addresses = ''\nunix_socket_directories = '{socket}'\nshared_buffers = 64MB
            jit = off\ndynamic_shared_memory_type = mmap\n"
        );
        conf.push_str(&own);
        for setting in settings {
            conf.push_str(setting);
            conf.push('\n');
        }
        fs::write(data.join("postgresql.conf"), conf).unwrap();
        for (name, from) in files {
            let path = data.join(name);
            fs::copy(from, &path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            let owner = fs::metadata(&data).unwrap();
            chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
        }
        server.resume();
        Some(server)
    }

    /// The files of a new server: a copy of those that the first test has made, since `initdb` takes
    /// longer.
    fn make_files(&self) {
        let of_all = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let version = output(Command::new(self.bin.join("postgres")).arg("--version")).unwrap();
        let owner = fs::metadata(self.dir.path()).unwrap().uid();
        let name = format!("{}-{version}-{owner}", self.bin.display());
        let made = of_all.join(name.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
        let data = self.data();
        if made.is_dir() {
            return copy(&made, &data);
        }
        let options = ["-A", "trust", "-U", "akin", "--no-locale", "-E", "UTF8", "-N"];
        Self::run(self.program("initdb").arg("-D").arg(&data).args(options));
        let unfinished = tempfile::tempdir_in(of_all).unwrap();
        copy(&data, &unfinished.path().join("data"));
        // Another process may have made them meanwhile.
        let _ = fs::rename(unfinished.path().join("data"), made);
    }

    /// A copy that follows this server, which waits for it before it acknowledges a commit.
    pub fn synchronous_standby(&self) -> Self {
        let standby = self.new_standby();
        self.wait_for_standby();
        standby
    }

    /// A copy that follows this server.
    pub fn new_standby(&self) -> Self {
        let (dir, postmaster, full_disk) = (directory(), None, None);
        let mut standby = Self { dir, bin: self.bin.clone(), postmaster, full_disk };
        standby.follow(self);
        standby
    }

    /// Becomes a copy of another server, which it follows, in the place of what it was.
    pub fn follow(&mut self, primary: &Self) {
        let _ = fs::remove_dir_all(self.data());
        let from = primary.dir.path().display();
        let from = format!("host={from} user=akin application_name=standby");
        let mut backup = self.program("pg_basebackup");
        backup.arg("-d").arg(from).args(["-R", "-X", "stream", "-c", "fast", "-D"]);
        Self::run(backup.arg(self.data()));
        let path = self.data().join("postgresql.conf");
        let conf = fs::read_to_string(&path).unwrap();
        let (own, its) = (self.dir.path().display(), primary.dir.path().display());
        fs::write(&path, conf.replace(&its.to_string(), &own.to_string())).unwrap();
        self.resume();
    }

    /// From now on it waits for its standby before it acknowledges a commit.
    pub fn wait_for_standby(&self) {
        self.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'standby'");
        self.sql("postgres", "SELECT pg_reload_conf()");
        self.await_standby();
    }

    /// Waits until its standby has everything that was committed before.
    pub fn await_standby(&self) {
        let written = self.sql("postgres", "SELECT pg_current_wal_lsn()");
        let is_there = format!(
            "SELECT count(*) FROM pg_stat_replication
             WHERE sync_state = 'sync' AND flush_lsn >= '{written}'"
        );
        while self.sql("postgres", &is_there) != "1" {
            std::thread::yield_now();
        }
    }

    /// Starts it again over a library that can fill its disk.
    pub fn let_disk_fill(&mut self) {
        let source =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/postgres_server/full_disk.c");
        // The directory of the server may be in a file system whose files cannot be run.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-Wall", "-shared", "-fPIC", "-o"]).arg(dir.path().join(FULL_DISK));
        Self::run(compiler.arg(source));
        self.full_disk = Some(dir);
        self.kill();
        self.resume();
        // A standby refuses to create a table at any time.
        if self.sql("postgres", "SELECT pg_is_in_recovery()") == "f" {
            self.set_disk_full(true);
            let refused = self.try_sql("postgres", "CREATE TABLE grows AS SELECT 1").unwrap_err();
            assert!(refused.contains("No space left"), "{refused}");
            self.set_disk_full(false);
        }
    }

    fn full_disk_flag(&self) -> PathBuf {
        self.dir.path().join("full")
    }

    /// From now on tables and indexes cannot grow, or can grow again.
    pub fn set_disk_full(&self, is_full: bool) {
        match is_full {
            true => fs::write(self.full_disk_flag(), "").unwrap(),
            false => fs::remove_file(self.full_disk_flag()).unwrap(),
        }
    }

    /// Starts it, again if it was ended, and waits until it is ready.
    pub fn resume(&mut self) {
        let _ = fs::remove_file(self.data().join("postmaster.pid"));
        let mut command = self.program("postgres");
        command.arg("-D").arg(self.data()).stderr(Stdio::piped());
        if let Some(library) = &self.full_disk {
            command.env("LD_PRELOAD", library.path().join(FULL_DISK));
            command.env("AKIN_TEST_FULL", self.full_disk_flag());
        }
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut log = Vec::new();
        let is_ready = |line: &str| {
            line.contains("ready to accept connections")
                || line.contains("ready to accept read-only connections")
        };
        loop {
            let Some(Ok(line)) = lines.next() else { panic!("it did not start: {log:#?}") };
            let ready = is_ready(&line);
            log.push(line);
            if ready {
                break;
            }
        }
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        self.postmaster = Some(child);
    }

    /// Ends it as a crash would: all of its processes at once.
    pub fn kill(&mut self) {
        let Some(mut child) = self.postmaster.take() else { return };
        let pids = Self::processes(child.id());
        child.kill().unwrap();
        signal("KILL", &pids);
        child.wait().unwrap();
        // Before the next start no process may have the shared memory: ended ones have none.
        for pid in pids {
            let maps = || fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
            while !maps().is_empty() {
                std::thread::yield_now();
            }
        }
    }

    /// Stops all of its processes, or lets them go on.
    pub fn pause(&self, is_paused: bool) {
        let Some(child) = &self.postmaster else { return };
        let mut pids = Self::processes(child.id());
        pids.push(child.id());
        signal(if is_paused { "STOP" } else { "CONT" }, &pids);
    }

    pub fn promote(&self) {
        self.sql("postgres", "SELECT pg_promote()");
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgres://akin@{}/{database}", self.host())
    }

    /// The host in a URL.
    pub fn host(&self) -> String {
        self.dir.path().to_str().unwrap().replace('/', "%2F")
    }

    fn psql(&self, database: &str) -> Command {
        let mut psql = Command::new(self.bin.join("psql"));
        psql.arg("-h").arg(self.dir.path()).args(["-U", "akin", "-qtA", "-v", "ON_ERROR_STOP=1"]);
        psql.args(["-d", database]);
        psql
    }

    pub fn sql(&self, database: &str, sql: &str) -> String {
        self.try_sql(database, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    fn try_sql(&self, database: &str, sql: &str) -> Result<String, String> {
        output(self.psql(database).args(["-c", sql]))
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// A program as the unprivileged user.
    fn program(&self, name: &str) -> Command {
        let path = self.bin.join(name);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]).arg(path);
            command
        } else {
            Command::new(path)
        };
        command.current_dir("/").env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
        command.stdout(Stdio::null());
        command
    }

    fn run(command: &mut Command) {
        let output = command.stderr(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn processes(postmaster: u32) -> Vec<u32> {
        let path = format!("/proc/{postmaster}/task/{postmaster}/children");
        let children = fs::read_to_string(path).unwrap_or_default();
        children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.pause(false);
        self.kill();
    }
}

/// Copies a directory with its owner, unless this process may not change owners.
fn copy(from: &Path, to: &Path) {
    PostgresServer::run(Command::new("cp").arg("-a").args([from, to]));
}

/// What a program prints, without the end of its last line. `Err`: what it complains about.
pub fn output(program: &mut Command) -> Result<String, String> {
    let output = program.output().unwrap();
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout).unwrap().trim().to_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Creates a database by `run`, which runs a statement. Copies files where the version can, from 15
/// on: by default each page is logged, which takes longer.
pub fn create_database(
    name: &str,
    run: impl Fn(&str) -> Result<String, String>,
) -> Result<String, String> {
    let create = format!("CREATE DATABASE \"{name}\"");
    match run(&format!("{create} STRATEGY file_copy")) {
        Err(error) if error.contains("not recognized") => run(&create),
        created => created,
    }
}

/// A directory of the user of the server, in memory where there is room: a database is three
/// hundred files, which a disk's file system takes longer to create.
fn directory() -> TempDir {
    let in_memory = Path::new("/dev/shm");
    let has_room = akin::storage::free_bytes(in_memory).is_ok_and(|free| free > ROOM_IN_MEMORY);
    let of_all = if has_room { in_memory.to_owned() } else { std::env::temp_dir() };
    let dir = tempfile::Builder::new().prefix("akin-pg").tempdir_in(of_all).unwrap();
    if is_root() {
        let id = |flag| {
            let output = Command::new("id").args([flag, USER]).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
        };
        chown(dir.path(), Some(id("-u")), Some(id("-g"))).unwrap();
    }
    dir
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn signal(name: &str, pids: &[u32]) {
    let pids = pids.iter().map(u32::to_string);
    // Some may have ended meanwhile.
    let _ = Command::new("kill").arg(format!("-{name}")).args(pids).stderr(Stdio::null()).status();
}

/// Those of the directory that the variable `AKIN_TEST_POSTGRES` names, or of the newest installed
/// version.
fn programs() -> Option<PathBuf> {
    if let Some(bin) = std::env::var_os("AKIN_TEST_POSTGRES") {
        return Some(bin.into());
    }
    let versions = PROGRAMS.iter().filter_map(|dir| fs::read_dir(dir).ok()).flatten();
    let mut bins: Vec<PathBuf> =
        versions.filter_map(|dir| Some(dir.ok()?.path().join("bin"))).collect();
    bins.retain(|bin| ["initdb", "postgres", "psql"].iter().all(|of| is_file(&bin.join(of))));
    bins.sort();
    bins.pop()
}

/// Debian has a script of this name on the path, which starts Perl first.
pub fn psql() -> PathBuf {
    programs().map_or_else(|| PathBuf::from("psql"), |bin| bin.join("psql"))
}

fn is_file(path: &Path) -> bool {
    path.is_file()
}
