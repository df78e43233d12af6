//! A PostgreSQL server for one test that stops or kills it, alone or with a streaming standby. All other tests use the
//! shared server.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use tokio::process::{Child, Command};
use uuid::Uuid;

use crate::{Clock, SmallDisk, eventually, free_port, given};

/// One server with durable commits, stopped and removed with all its data when the test ends.
pub struct Postgres {
    folder: PathBuf,
    port: u16,
    /// Settings on top of those of development.
    settings: Vec<String>,
    /// Variables of its environment, as `NAME=value`.
    variables: Vec<String>,
    process: Child,
}

/// When a commit on the primary returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replication {
    /// The standby has flushed the commit.
    Synchronous,
    /// The commit is on the primary only. A failover may lose it.
    Asynchronous,
}

impl Postgres {
    /// Unpacks PostgreSQL, makes a cluster, and starts it; returns once it answers.
    pub async fn start() -> Self {
        Self::run(Self::initialized().await, Vec::new(), Vec::new()).await
    }

    /// Starts a server whose clock the test moves. `None`, with a note on stderr, if libfaketime is not installed.
    pub async fn with_clock() -> Option<(Self, Clock)> {
        let folder = Self::initialized().await;
        let Some((clock, variables)) = Clock::find(&folder) else {
            fs::remove_dir_all(&folder).unwrap();
            return None;
        };
        Some((Self::run(folder, Vec::new(), variables).await, clock))
    }

    /// Starts a server whose disk the test fills. `None`, with a note on stderr, without the right to mount one.
    pub async fn with_small_disk() -> Option<(Self, SmallDisk)> {
        let folder = Self::unpacked().await;
        let Some(disk) = SmallDisk::mount(&folder.join("data")).await else {
            fs::remove_dir_all(&folder).unwrap();
            return None;
        };
        Self::initialize(&folder).await;
        let settings = ["min_wal_size=32MB", "max_wal_size=64MB"].map(str::to_owned).into();
        Some((Self::run(folder, settings, Vec::new()).await, disk))
    }

    /// Starts a primary and a streaming standby. Returns once the standby answers.
    pub async fn with_standby(replication: Replication) -> (Self, Self) {
        let folder = Self::initialized().await;
        // The data of a server that has never run is a base backup.
        let copy = unused_folder();
        let copied = Command::new("cp").arg("-a").arg(&folder).arg(&copy).status();
        assert!(copied.await.unwrap().success(), "the cluster is not copied");
        fs::write(copy.join("data/standby.signal"), "").unwrap();
        let settings = match replication {
            Replication::Synchronous => vec!["synchronous_standby_names=*".to_owned()],
            Replication::Asynchronous => Vec::new(),
        };
        let primary = Self::run(folder, settings, Vec::new()).await;
        let source = format!("primary_conninfo=host=127.0.0.1 port={} user=postgres", primary.port);
        let standby = Self::run(copy, vec![source], Vec::new()).await;
        (primary, standby)
    }

    /// Starts a server that accepts TLS, and plain text beside it. The texts are PEM: its chain, its key, and the authorities of its
    /// clients.
    pub async fn with_tls(chain: &str, key: &str, authorities: &str) -> Self {
        let folder = Self::initialized().await;
        for (name, text) in [("chain.pem", chain), ("key.pem", key), ("authorities.pem", authorities)] {
            let path = folder.join("data").join(name);
            fs::write(&path, text).unwrap();
            // Another mode of the key is refused.
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            if let Some(nobody) = nobody().await {
                chown(&path, Some(nobody), Some(nobody)).unwrap();
            }
        }
        let settings =
            ["ssl=on", "ssl_cert_file=chain.pem", "ssl_key_file=key.pem", "ssl_ca_file=authorities.pem"];
        Self::run(folder, settings.map(str::to_owned).into(), Vec::new()).await
    }

    /// Makes a cluster that has never run. Returns its folder.
    async fn initialized() -> PathBuf {
        let folder = Self::unpacked().await;
        Self::initialize(&folder).await;
        folder
    }

    /// Unpacks the program. Returns the folder, which has an empty one for the data.
    async fn unpacked() -> PathBuf {
        let folder = unused_folder();
        fs::create_dir_all(folder.join("program")).unwrap();
        fs::create_dir(folder.join("data")).unwrap();
        let unpack =
            Command::new("tar").arg("-xJf").arg(archive()).arg("-C").arg(folder.join("program")).status();
        assert!(unpack.await.unwrap().success(), "PostgreSQL's archive is not unpacked");
        folder
    }

    async fn initialize(folder: &Path) {
        if let Some(nobody) = nobody().await {
            chown(folder.join("data"), Some(nobody), Some(nobody)).unwrap();
        }
        let mut initdb = unprivileged(folder, "initdb", &[]).await;
        let initdb = initdb.args(["-U", "postgres", "-A", "trust", "--no-locale", "-E", "UTF8", "-D"]);
        let made = initdb.arg(folder.join("data")).output().await.unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    async fn run(folder: PathBuf, settings: Vec<String>, variables: Vec<String>) -> Self {
        let port = free_port();
        let process = run(&folder, port, &settings, &variables).await;
        let mut server = Self { folder, port, settings, variables, process };
        server.ready().await;
        server
    }

    /// A superuser's URL, also while the server does not run.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// The port, on the loopback address.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A superuser's URL that names this server first, and another one that takes over.
    pub fn url_with(&self, other: &Self) -> String {
        format!("postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres", self.port, other.port)
    }

    /// Makes a standby a primary; returns once it accepts writes.
    pub async fn promote(&self) {
        let mut connection = AsyncPgConnection::establish(&self.url()).await.unwrap();
        connection.batch_execute("SELECT pg_promote(wait_seconds => 60)").await.unwrap();
    }

    /// Stops it with the mode `fast`, which ends every session.
    pub async fn stop_fast(&mut self) {
        kill_process(self.pid(), Signal::INT).unwrap();
        self.process.wait().await.unwrap();
    }

    /// Kills the server, and every process that serves a session.
    pub async fn kill(&mut self) {
        self.pause();
        for child in children(self.pid()) {
            let _ = kill_process(child, Signal::KILL);
        }
        self.process.kill().await.unwrap();
    }

    /// SIGSTOP to the server, and to every process that serves a session: connections stay open, and nothing answers.
    pub fn pause(&self) {
        self.signal_all(Signal::STOP);
    }

    /// SIGCONT to all of them.
    pub fn resume(&self) {
        self.signal_all(Signal::CONT);
    }

    /// The server first, so that it starts no child while the children are read.
    fn signal_all(&self, signal: Signal) {
        let pid = self.pid();
        kill_process(pid, signal).unwrap();
        for child in children(pid) {
            let _ = kill_process(child, signal);
        }
    }

    /// Returns once it answers. Starts it again if it has ended, as its supervisor would.
    pub async fn recovers(&mut self) {
        self.ready().await;
    }

    /// Starts it again with its data; returns once it answers.
    pub async fn start_again(&mut self) {
        assert!(self.process.id().is_none(), "stop or kill it first");
        self.process = run(&self.folder, self.port, &self.settings, &self.variables).await;
        self.ready().await;
    }

    fn pid(&self) -> Pid {
        self.process.id().and_then(|id| Pid::from_raw(id.cast_signed())).expect("it runs")
    }

    async fn ready(&mut self) {
        let url = self.url();
        eventually("PostgreSQL answers", async || {
            if self.process.try_wait().unwrap().is_some() {
                // The children of a killed server may run for a moment longer and keep its shared memory.
                self.process = run(&self.folder, self.port, &self.settings, &self.variables).await;
            }
            AsyncPgConnection::establish(&url).await.ok().map(drop)
        })
        .await;
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(pid) = self.process.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
            let children = children(pid);
            let _ = self.process.start_kill();
            for child in children {
                let _ = kill_process(child, Signal::KILL);
            }
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// `./dev` fetches PostgreSQL with Kafka, into a folder next to it.
fn archive() -> PathBuf {
    let folder = PathBuf::from(given("IDEM_KAFKA_HOME")).join("../postgres");
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files = entries.map(|entry| entry.unwrap().path());
    files.find(|file| file.extension().is_some_and(|it| it == "txz")).expect("PostgreSQL's archive")
}

/// The user that runs PostgreSQL if the test runs as root. PostgreSQL refuses to run as root.
async fn nobody() -> Option<u32> {
    if !geteuid().is_root() {
        return None;
    }
    let asked = Command::new("id").args(["-u", "nobody"]).output().await.unwrap();
    Some(String::from_utf8(asked.stdout).unwrap().trim().parse().expect("a user called nobody"))
}

/// A program of PostgreSQL, run as a user other than root, with these variables beside those of the test.
async fn unprivileged(folder: &Path, program: &str, variables: &[String]) -> Command {
    let program = folder.join("program/bin").join(program);
    let mut command = match nobody().await {
        None => Command::new("env"),
        Some(nobody) => {
            let mut command = Command::new("setpriv");
            let ids = [format!("--reuid={nobody}"), format!("--regid={nobody}"), "--clear-groups".to_owned()];
            command.args(ids).args(["--", "env"]);
            command
        }
    };
    command.args(variables).arg(program);
    command
}

/// Starts the server with the settings of development. Its log is next to its data.
async fn run(folder: &Path, port: u16, settings: &[String], variables: &[String]) -> Child {
    let log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
    let mut command = unprivileged(folder, "postgres", variables).await;
    command.arg("-D").arg(folder.join("data")).args(["-p", &port.to_string()]);
    // The last setting keeps shared memory in the folder, which the test removes. Otherwise a killed server leaves it behind.
    let usual = [
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "max_connections=800",
        "timezone=UTC",
        "dynamic_shared_memory_type=mmap",
    ];
    for setting in usual.into_iter().chain(settings.iter().map(String::as_str)) {
        command.args(["-c", setting]);
    }
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    command.kill_on_drop(true).spawn().unwrap()
}

/// A folder that no other test has.
fn unused_folder() -> PathBuf {
    std::env::temp_dir().join(format!("idem-postgres-{}", Uuid::new_v4().simple()))
}

fn children(pid: Pid) -> Vec<Pid> {
    let pid = pid.as_raw_nonzero();
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|child| Pid::from_raw(child.parse().ok()?)).collect()
}
