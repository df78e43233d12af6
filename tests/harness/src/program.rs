//! A program as a process: started, watched, paused, killed; and commands that run to their end.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::process::{Child, Command};

use crate::{Client, Context, Endpoint, Error, Instance, Request, Result, Role, until};

/// The longest that a program may take to become ready, to end, or to log an awaited line.
const LIMIT: Duration = Duration::from_mins(1);

/// How much of the log an error shows.
const TAIL_LINES: usize = 15;

/// The command that starts a process.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// Which process it is; its part names the program.
    pub instance: Instance,
    /// The words after the program, such as `serve`.
    pub command: &'a [&'a str],
    /// The folder of the programs.
    pub folder: &'a Path,
    /// The whole environment, except `IDEM_LOG__FORMAT`.
    pub settings: &'a [(String, String)],
    /// How many bytes of the log are kept; older ones are dropped.
    pub log_limit: usize,
}

impl Launch<'_> {
    fn command(&self) -> Command {
        let mut command = Command::new(self.folder.join(self.instance.part.program()));
        command.args(self.command).env_clear().env("IDEM_LOG__FORMAT", "json");
        command.envs(self.settings.iter().map(|(name, value)| (name, value))).stdin(Stdio::null());
        command.kill_on_drop(true);
        command
    }

    /// Runs the command to its end.
    pub async fn run(&self) -> Result<CommandOutput> {
        let output = self.command().output().await.context(format!("run {}", self.instance))?;
        Ok(CommandOutput::from(output))
    }
}

/// The end of a command.
#[derive(Debug)]
pub struct CommandOutput {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl CommandOutput {
    /// Returns whether the exit code is 0.
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }

    /// Standard output, and then standard error.
    pub fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Standard output of a command that succeeded.
    pub fn expect_success(self, command: impl Into<String>) -> Result<String> {
        if self.is_success() {
            return Ok(self.stdout);
        }
        Err(Error::Command { command: command.into(), output: self.text() })
    }
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }
}

/// A running program; killed when dropped.
///
/// Its log goes through a pipe into memory, as a container's would: on disk it would compete with the writes of the
/// database.
pub struct Program {
    instance: Instance,
    process: Child,
    log: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
    address: OnceLock<String>,
    started: Instant,
}

impl Program {
    /// Starts a program with exactly these settings.
    pub fn start(launch: &Launch<'_>) -> Result<Self> {
        let instance = launch.instance;
        let started = Instant::now();
        let (reader, writer) = std::io::pipe().context("make a pipe")?;
        let mut command = launch.command();
        command.stdout(writer.try_clone().context("share a pipe")?).stderr(writer);
        let process = command.spawn().context(format!("start {instance}"))?;
        let (log, limit) = (Arc::default(), launch.log_limit);
        let kept = Arc::clone(&log);
        let reader = Some(std::thread::spawn(move || keep(reader, &kept, limit)));
        Ok(Self { instance, process, log, reader, address: OnceLock::new(), started })
    }

    /// Waits until it is ready; returns how long it took since its start.
    pub async fn ready(&mut self) -> Result<Duration> {
        match self.ready_or_ended().await? {
            None => Ok(self.started.elapsed()),
            Some(status) => Err(self.error(&format!("ended while it started: {status}"))),
        }
    }

    /// Waits until it is ready, or has ended; returns how it ended.
    pub async fn ready_or_ended(&mut self) -> Result<Option<ExitStatus>> {
        let client = Client::new(1, String::new())?;
        let mut ended = None;
        let waited = until(format!("{} is ready", self.instance), LIMIT, "its log", async || {
            ended = self.has_ended()?;
            let ready = ended.is_some() || self.is_ready(&client).await;
            Ok(if ready { Ok(()) } else { Err("it is not ready".to_owned()) })
        })
        .await;
        waited.map_err(|error| self.error(&error.to_string()))?;
        Ok(ended)
    }

    async fn is_ready(&self, client: &Client) -> bool {
        if self.instance.role == Role::Relay {
            return self.lines().iter().any(|line| line["message"] == "ready");
        }
        let Some(address) = self.logged_address() else { return false };
        let endpoint = Endpoint { instance: self.instance, address };
        let request = Request::get(self.instance.part, "/health/ready");
        client.send(&endpoint, &request).await.is_ok_and(|response| response.status == 200)
    }

    /// `host:port`, once the log names it. An error at once if the program has ended without it.
    pub async fn address(&mut self) -> Result<String> {
        let address = until(format!("{} listens", self.instance), LIMIT, "its log", async || {
            let ended = self.has_ended()?.is_some();
            let address = self.logged_address();
            Ok(if ended || address.is_some() { Ok(address) } else { Err(self.tail()) })
        });
        address.await?.ok_or_else(|| self.error("ended before it listened"))
    }

    /// It is kept, because the end of a long log does not name it.
    fn logged_address(&self) -> Option<String> {
        if self.address.get().is_none() {
            let listening = self.lines().into_iter().find(|line| line["message"] == "listening")?;
            let _ = self.address.set(listening["address"].as_str()?.to_owned());
        }
        self.address.get().cloned()
    }

    /// The lines of the log that are JSON objects.
    pub fn lines(&self) -> Vec<Value> {
        self.log().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The log, as much of it as is kept.
    pub fn log(&self) -> String {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&log).into_owned()
    }

    /// SIGKILL; returns when the process has ended.
    pub async fn kill(&mut self) -> Result<()> {
        self.process.kill().await.context(format!("kill {}", self.instance))
    }

    /// SIGTERM.
    pub fn terminate(&self) -> Result<()> {
        self.signal(Signal::TERM)
    }

    /// SIGTERM; returns how the process ended.
    pub async fn stop(&mut self) -> Result<ExitStatus> {
        self.terminate()?;
        self.ended().await
    }

    /// SIGSTOP: connections stay open, and nothing answers.
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// SIGCONT.
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let pid = self.pid().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        let pid = pid.ok_or_else(|| self.error("does not run"))?;
        kill_process(pid, signal).context(format!("send a signal to {}", self.instance))
    }

    /// The process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.process.id()
    }

    /// Waits for the end of the process.
    pub async fn ended(&mut self) -> Result<ExitStatus> {
        self.ended_within(LIMIT).await
    }

    /// The same, with another deadline.
    pub async fn ended_within(&mut self, limit: Duration) -> Result<ExitStatus> {
        let waited = until(format!("{} has ended", self.instance), limit, "its log", async || {
            Ok(self.has_ended()?.ok_or_else(|| "it still runs".to_owned()))
        });
        waited.await
    }

    /// How the process ended; `None` while it runs. Once it has ended, the log is complete.
    pub fn has_ended(&mut self) -> Result<Option<ExitStatus>> {
        let status = self.process.try_wait().context(format!("observe {}", self.instance))?;
        if status.is_some()
            && let Some(reader) = self.reader.take()
        {
            // The reader ends with the pipe. A panic of it would only shorten the log.
            let _ = reader.join();
        }
        Ok(status)
    }

    /// Returns whether SIGKILL ended it, from outside or by itself. False while it runs.
    pub fn was_killed(&mut self) -> Result<bool> {
        Ok(self.has_ended()?.is_some_and(|status| status.signal() == Some(9)))
    }

    /// An error about this process, with the end of its log.
    pub fn error(&self, what: &str) -> Error {
        Error::Refused(format!("{} {what}; the end of its log:\n{}", self.instance, self.tail()))
    }

    fn tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines.get(lines.len().saturating_sub(TAIL_LINES)..).unwrap_or_default().join("\n")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the end of {}'s log\n{}", self.instance, self.tail());
        }
        let _ = self.process.start_kill();
    }
}

/// Reads to the end of the pipe; keeps the last `limit` bytes.
fn keep(mut reader: impl Read, kept: &Mutex<Vec<u8>>, limit: usize) {
    let mut chunk = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = reader.read(&mut chunk) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(chunk.get(..read).unwrap_or_default());
        let excess = kept.len().saturating_sub(limit);
        kept.drain(..excess);
    }
}
