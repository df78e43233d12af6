//! Starts the example service, reads its log, and sends it HTTP requests.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use testkit::{TestDatabase, delete_groups, delete_topics, eventually, given};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::sync::{Semaphore, SemaphorePermit};

/// The example's executable. Cargo builds it together with all tests, but not for a single test target.
fn executable() -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.extend(["examples", "greeter"]);
    assert!(path.exists(), "{} is not there: cargo build -p runtime --examples", path.display());
    path
}

/// A command of the example. Its environment has a name, and the variables that the test adds.
pub(crate) fn greeter(command: &str) -> Command {
    let mut greeter = Command::new(executable());
    greeter.arg(command).env_clear().env("IDEM_DEPLOYMENT__NAME", "greeter");
    greeter.stdin(Stdio::null()).kill_on_drop(true);
    greeter
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// So many tests run the example at a time: a program that starves is not ready, alive or ended in time.
static ROOM: Semaphore = Semaphore::const_new(4);

/// A database, a deployment and a key set for one test.
pub(crate) struct Surroundings {
    pub(crate) database: TestDatabase,
    deployment: String,
    jwks: PathBuf,
    _place: SemaphorePermit<'static>,
}

impl Surroundings {
    /// Creates a database that has the reliability tables, and not the example's own.
    pub(crate) async fn new() -> Self {
        let place = ROOM.acquire().await.unwrap();
        let database = TestDatabase::plain().await;
        let deployment = format!("test-{}", uuid::Uuid::new_v4().simple());
        let jwks = std::env::temp_dir().join(format!("{deployment}.jwks.json"));
        std::fs::write(&jwks, testkit::identity::jwks()).unwrap();
        Self { database, deployment, jwks, _place: place }
    }

    /// `serve` on ports that the system chooses. It applies its migrations itself.
    pub(crate) fn serve(&self) -> Command {
        let mut serve = greeter("serve");
        serve
            .env("IDEM_MODE__DEVELOPMENT", "true")
            .env("IDEM_HTTP__PORT", "0")
            .env("IDEM_HTTP__WORKERS", "1")
            .env("IDEM_DATABASE__URL", self.database.service_url(None))
            .env("IDEM_DATABASE__MIGRATION_URL", self.database.owner_url())
            .env("IDEM_KAFKA__BROKERS", given("IDEM_KAFKA_BROKERS"))
            .env("IDEM_DEPLOYMENT__NAME", &self.deployment)
            .env("IDEM_AUTH__JWKS", &self.jwks)
            .env("IDEM_LOG__FORMAT", "json");
        serve
    }

    /// The name of its deployment, with which its topics begin.
    pub(crate) fn deployment(&self) -> &str {
        &self.deployment
    }

    /// Deletes the topics and groups of the test.
    pub(crate) async fn clear(self) {
        // A killed member stays in the group until its session ends.
        delete_groups(&[&format!("{}.greeter", self.deployment)]).await.unwrap();
        let topics = ["orders.events", "greeter.dlq"];
        let topics = topics.map(|topic| format!("{}.{topic}", self.deployment));
        delete_topics(&topics).await.unwrap();
    }
}

impl Drop for Surroundings {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.jwks);
    }
}

/// A running example. It is killed when dropped.
pub(crate) struct Running {
    process: Child,
    log: Arc<Mutex<Vec<Value>>>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&log);
        #[expect(clippy::disallowed_methods, reason = "ends with the process whose lines it reads")]
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let entry = serde_json::from_str(&line).unwrap_or(Value::String(line));
                written.lock().unwrap().push(entry);
            }
        });
        Self { process, log }
    }

    /// Waits for a log entry whose message contains these words.
    pub(crate) async fn logged(&self, words: &str) -> Value {
        eventually(&format!("a log entry \"{words}\""), async || self.entries(words).into_iter().next()).await
    }

    /// Returns all entries so far whose message contains these words.
    pub(crate) fn entries(&self, words: &str) -> Vec<Value> {
        let log = self.log.lock().unwrap();
        log.iter().filter(|e| e["message"].as_str().is_some_and(|m| m.contains(words))).cloned().collect()
    }

    /// Returns the address of the clients' or the admin listener.
    pub(crate) async fn address(&self, which: &str) -> SocketAddr {
        self.logged("listening").await[which].as_str().unwrap().parse().unwrap()
    }

    /// Sends GET to the clients' listener. Returns `None` without a complete response.
    pub(crate) async fn get(&self, path: &str) -> Option<(u16, String)> {
        ask(self.address("address").await, "GET", path).await
    }

    /// Waits until `/health/ready` returns this status and body.
    pub(crate) async fn readiness(&self, status: u16, body: &str) {
        eventually(&format!("readiness {status} {body}"), async || {
            self.get("/health/ready").await.filter(|response| *response == (status, body.to_owned()))
        })
        .await;
    }

    pub(crate) async fn ready(&self) {
        self.readiness(
            200,
            r#"{"status":"ready","database":"ok","broker":"ok","keys":"ok","deployment":"ok"}"#,
        )
        .await;
    }

    /// Stops the process with SIGTERM and expects exit code 0.
    pub(crate) async fn end(mut self) {
        self.terminate();
        assert_eq!(self.exit_code().await, Some(0), "{:?}", self.entries("ended"));
    }

    /// Waits until the process has ended.
    pub(crate) async fn exit_code(&mut self) -> Option<i32> {
        let ended = tokio::time::timeout(Duration::from_mins(1), self.process.wait()).await;
        ended.expect("the process did not end").unwrap().code()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id().unwrap()
    }

    pub(crate) fn terminate(&self) {
        self.signal("-TERM");
    }

    pub(crate) fn signal(&self, signal: &str) {
        let id = self.pid().to_string();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
    }
}

/// Sends one request on a new connection.
pub(crate) async fn ask(address: SocketAddr, method: &str, path: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await.ok()?;
    let (head, body) = response.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, body.to_owned()))
}
