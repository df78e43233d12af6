//! One program of ours as a process: started, watched, killed.

use std::fs::File;
use std::path::PathBuf;
use std::process::ExitStatus;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testkit::{eventually, given};
use tokio::process::{Child, Command};
use uuid::Uuid;

/// A running program. Killed when dropped; its log is removed with it.
pub struct Program {
    name: String,
    log: PathBuf,
    process: Child,
}

impl Program {
    /// Starts `NAME serve` with exactly these settings; the log is JSON.
    pub fn start(name: &str, settings: &[(String, String)]) -> Self {
        let log = std::env::temp_dir().join(format!("idem-{name}-{}.log", Uuid::new_v4().simple()));
        let file = File::create(&log).unwrap();
        let process = Command::new(PathBuf::from(given("IDEM_BIN_DIR")).join(name))
            .arg("serve")
            .env_clear()
            .env("IDEM_LOG__FORMAT", "json")
            .envs(settings.iter().cloned())
            .stdin(std::process::Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        Self { name: name.to_owned(), log, process }
    }

    /// Its base URL, once it listens: the port is the system's choice, and the log tells it.
    pub async fn url(&self) -> String {
        eventually(&format!("{} listens", self.name), async || {
            let log = self.log();
            let line = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let mut listening = line.filter(|line| line["message"] == "listening");
            listening.next().map(|line| format!("http://{}", line["address"].as_str().unwrap()))
        })
        .await
    }

    /// Everything it has said.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// `kill -9`.
    pub async fn kill(&mut self) {
        self.process.kill().await.unwrap();
    }

    /// SIGTERM: please end.
    pub fn terminate(&self) {
        let pid = self.process.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        kill_process(pid.expect("it runs"), Signal::TERM).unwrap();
    }

    /// Waits for its end.
    pub async fn ended(&mut self) -> ExitStatus {
        let name = self.name.clone();
        eventually(&format!("{name} ends"), async || self.has_ended()).await
    }

    /// Whether it has ended, and how.
    pub fn has_ended(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log();
            let tail: Vec<&str> = log.lines().rev().take(15).collect();
            eprintln!("--- the end of {}'s log", self.name);
            for line in tail.into_iter().rev() {
                eprintln!("{line}");
            }
        }
        let _ = self.process.start_kill();
        let _ = std::fs::remove_file(&self.log);
    }
}
