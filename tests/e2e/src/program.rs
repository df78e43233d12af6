//! One program of ours as a process: started, watched, paused, killed.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
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

/// The file of a program. The part `provider` is the stand-in for the card processor.
fn file_of(program: &str) -> &str {
    if program == "provider" { "stripe-sim" } else { program }
}

impl Program {
    /// Starts a program with a command and exactly these settings; the log is JSON. The name is for people.
    pub fn start(name: &str, program: &str, command: &str, settings: &[(String, String)]) -> Self {
        let log = std::env::temp_dir().join(format!("idem-{name}-{}.log", Uuid::new_v4().simple()));
        let file = File::create(&log).unwrap();
        let process = Command::new(PathBuf::from(given("IDEM_BIN_DIR")).join(file_of(program)))
            .arg(command)
            .env_clear()
            .env("IDEM_LOG__FORMAT", "json")
            .envs(settings.iter().cloned())
            .stdin(std::process::Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("{program} does not start: {error}"));
        Self { name: name.to_owned(), log, process }
    }

    /// Its base URL, once it says that it listens.
    pub async fn url(&self) -> String {
        let listening = self.says("listening").await;
        format!("http://{}", listening["address"].as_str().unwrap())
    }

    /// Waits until it says something; returns the line.
    pub async fn says(&self, message: &str) -> Value {
        eventually(&format!("{} says '{message}'", self.name), async || {
            self.lines().into_iter().find(|line| line["message"] == message)
        })
        .await
    }

    /// Everything it has said that can be read, one object for each line.
    pub fn lines(&self) -> Vec<Value> {
        self.log().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
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
        self.signal(Signal::TERM);
    }

    /// SIGSTOP: it stands still, and knows nothing of it.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// SIGCONT: it goes on as if nothing had been.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = self.process.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        kill_process(pid.expect("it runs"), signal).unwrap();
    }

    /// Its process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.process.id()
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

    /// Whether it was ended by `kill -9`, from outside or by itself. False while it runs.
    pub fn was_killed(&mut self) -> bool {
        self.has_ended().is_some_and(|status| status.signal() == Some(9))
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
