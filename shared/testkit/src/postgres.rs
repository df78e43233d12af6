//! A PostgreSQL server for one test that stops or kills it. All other tests use the shared server.

use std::fs::{self, File};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use diesel_async::{AsyncConnection, AsyncPgConnection};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use tokio::process::{Child, Command};
use uuid::Uuid;

use crate::{eventually, free_port, given};

/// One server with durable commits, stopped and removed with all its data when the test ends.
pub struct Postgres {
    folder: PathBuf,
    port: u16,
    process: Child,
}

impl Postgres {
    /// Unpacks PostgreSQL, makes a cluster, and starts it; returns once it answers.
    pub async fn start() -> Self {
        let folder = std::env::temp_dir().join(format!("idem-postgres-{}", Uuid::new_v4().simple()));
        fs::create_dir_all(folder.join("program")).unwrap();
        fs::create_dir(folder.join("data")).unwrap();
        let unpack =
            Command::new("tar").arg("-xJf").arg(archive()).arg("-C").arg(folder.join("program")).status();
        assert!(unpack.await.unwrap().success(), "PostgreSQL's archive is not unpacked");
        if let Some(nobody) = nobody().await {
            chown(folder.join("data"), Some(nobody), Some(nobody)).unwrap();
        }
        let mut initdb = unprivileged(&folder, "initdb").await;
        let initdb = initdb.args(["-U", "postgres", "-A", "trust", "--no-locale", "-E", "UTF8", "-D"]);
        let made = initdb.arg(folder.join("data")).output().await.unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let port = free_port();
        let process = run(&folder, port).await;
        let mut server = Self { folder, port, process };
        server.ready().await;
        server
    }

    /// A superuser's URL, also while the server does not run.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Stops it with the mode `fast`, which ends every session.
    pub async fn stop_fast(&mut self) {
        kill_process(self.pid(), Signal::INT).unwrap();
        self.process.wait().await.unwrap();
    }

    /// Kills the server, and every process that serves a session.
    pub async fn kill(&mut self) {
        let pid = self.pid();
        // Paused first, so that it starts no child while the children are read.
        kill_process(pid, Signal::STOP).unwrap();
        for child in children(pid) {
            let _ = kill_process(child, Signal::KILL);
        }
        self.process.kill().await.unwrap();
    }

    /// Starts it again with its data; returns once it answers.
    pub async fn start_again(&mut self) {
        assert!(self.process.id().is_none(), "stop or kill it first");
        self.process = run(&self.folder, self.port).await;
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
                self.process = run(&self.folder, self.port).await;
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

/// A program of PostgreSQL, run as a user other than root.
async fn unprivileged(folder: &Path, program: &str) -> Command {
    let program = folder.join("program/bin").join(program);
    let Some(nobody) = nobody().await else { return Command::new(program) };
    let mut command = Command::new("setpriv");
    command.args([format!("--reuid={nobody}"), format!("--regid={nobody}"), "--clear-groups".to_owned()]);
    command.arg("--").arg(program);
    command
}

/// Starts the server with the settings of development. Its log is next to its data.
async fn run(folder: &Path, port: u16) -> Child {
    let log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
    let mut command = unprivileged(folder, "postgres").await;
    command.arg("-D").arg(folder.join("data")).args(["-p", &port.to_string()]);
    for setting in
        ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=300", "timezone=UTC"]
    {
        command.args(["-c", setting]);
    }
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    command.kill_on_drop(true).spawn().unwrap()
}

fn children(pid: Pid) -> Vec<Pid> {
    let pid = pid.as_raw_nonzero();
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|child| Pid::from_raw(child.parse().ok()?)).collect()
}
