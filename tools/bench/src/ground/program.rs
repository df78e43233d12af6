//! One of our programs as a process, with the log that it keeps by default.

use std::io::Read;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use contracts::Topics;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use super::{Ground, TestBed};
use crate::load::Connection;
use crate::trouble::{Doing, Trouble};

/// How much of the log is kept.
const TAIL: usize = 64 * 1024;

/// How long a program may take to become ready, or to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running program; killed when dropped.
pub(crate) struct Program {
    name: &'static str,
    process: Child,
    log: Arc<Mutex<Vec<u8>>>,
    started: Instant,
}

impl Program {
    /// Starts `NAME COMMAND` with exactly these settings.
    ///
    /// Its log, at the default level, goes through a pipe as a container's would, and is read and forgotten: on disk it
    /// would compete with the database's own writes.
    pub(crate) fn start(
        ground: &Ground,
        name: &'static str,
        command: &str,
        settings: &[(&'static str, String)],
    ) -> Result<Self, Trouble> {
        let started = Instant::now();
        let (reader, writer) = std::io::pipe().doing("make a pipe")?;
        // The saga's other programs would not know settings of orders.
        let experiment = ground.experiment.iter().filter(|_| name == "orders");
        let process = Command::new(path(ground, name))
            .arg(command)
            .env_clear()
            .env("IDEM_LOG__FORMAT", "json")
            .envs(settings.iter().map(|(name, value)| (*name, value)))
            .envs(experiment.cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(writer)
            .kill_on_drop(true)
            .spawn()
            .doing(format!("start {name}"))?;
        let log = Arc::default();
        let kept = Arc::clone(&log);
        std::thread::spawn(move || keep_tail(reader, &kept));
        Ok(Self { name, process, log, started })
    }

    /// Runs `NAME COMMAND` to its end.
    pub(crate) async fn run(
        ground: &Ground,
        name: &'static str,
        command: &str,
        settings: &[(&'static str, String)],
    ) -> Result<(), Trouble> {
        let mut program = Self::start(ground, name, command, settings)?;
        let status = program.process.wait().await.doing(format!("wait for {name} {command}"))?;
        if status.success() { Ok(()) } else { Err(program.trouble(&format!("{command} failed"))) }
    }

    /// Waits until it is ready; returns its address and how long that took since its start.
    pub(crate) async fn ready(&mut self) -> Result<(String, Duration), Trouble> {
        loop {
            if let Some(address) = self.address()
                && TcpStream::connect(&address).await.is_ok()
                && Connection::open(&address).await?.get("/health/ready", None).await?.status == 200
            {
                return Ok((address, self.started.elapsed()));
            }
            if self.process.try_wait().doing("look after a program")?.is_some() {
                return Err(self.trouble("it ended while it started"));
            }
            if self.started.elapsed() > PATIENCE {
                return Err(self.trouble("it is not ready"));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Its port is the system's choice, and the log tells it.
    fn address(&self) -> Option<String> {
        let log = self.log();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut listening = lines.filter(|line| line["message"] == "listening");
        Some(listening.next()?["address"].as_str()?.to_owned())
    }

    fn log(&self) -> String {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&log).into_owned()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id().unwrap_or_default()
    }

    /// Asks it to end, and waits.
    pub(crate) async fn stop(mut self) -> Result<(), Trouble> {
        if let Some(pid) = self.process.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)) {
            kill_process(pid, Signal::TERM).doing(format!("stop {}", self.name))?;
        }
        match tokio::time::timeout(PATIENCE, self.process.wait()).await {
            Ok(_) => Ok(()),
            Err(_) => Err(self.trouble("it does not end")),
        }
    }

    /// What is wrong, and the last words.
    pub(crate) fn trouble(&self, what: &str) -> Trouble {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines.get(lines.len().saturating_sub(12)..).unwrap_or_default().join("\n");
        Trouble::Refused(format!("{}: {what}; the end of its log:\n{tail}", self.name))
    }
}

fn path(ground: &Ground, name: &str) -> PathBuf {
    // The part `provider` is the stand-in for the card processor.
    ground.bin_dir.join(if name == "provider" { "stripe-sim" } else { name })
}

fn keep_tail(mut reader: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut chunk = vec![0; TAIL];
    while let Ok(read @ 1..) = reader.read(&mut chunk) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&chunk[..read]);
        let excess = kept.len().saturating_sub(TAIL);
        kept.drain(..excess);
    }
}

/// What `orders`, `inventory` and `payments` need to know. Everything else keeps its default.
pub(crate) fn settings_of_service(
    ground: &Ground,
    database: &TestBed,
    topics: &Topics,
) -> Vec<(&'static str, String)> {
    vec![
        ("IDEM_HTTP__PORT", "0".to_owned()),
        ("IDEM_ADMIN__PORT", "0".to_owned()),
        ("IDEM_DATABASE__URL", database.service_url.clone()),
        ("IDEM_DATABASE__MIGRATION_URL", database.owner_url.clone()),
        ("IDEM_KAFKA__BROKERS", ground.brokers.to_string()),
        ("IDEM_KAFKA__TOPIC_PREFIX", topics.prefixed("")),
        ("IDEM_AUTH__JWKS", ground.jwks.display().to_string()),
    ]
}
