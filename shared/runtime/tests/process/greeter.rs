//! Starts the example, reads its log, and asks it over HTTP.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use messaging::Brokers;
use messaging::admin::{delete_groups, delete_topics};
use serde_json::Value;
use testkit::{TestDatabase, eventually, given};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// The example's executable. Cargo builds it with the tests, unless it is told to build a single test.
fn executable() -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.extend(["examples", "greeter"]);
    assert!(path.exists(), "{} is not there: cargo build -p runtime --examples", path.display());
    path
}

/// A command of the example, with nothing in its environment but what the test adds.
pub(crate) fn greeter(command: &str) -> Command {
    let mut greeter = Command::new(executable());
    greeter.arg(command).env_clear().stdin(Stdio::null()).kill_on_drop(true);
    greeter
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A database, a topic prefix and a key set for one test.
pub(crate) struct Surroundings {
    pub(crate) database: TestDatabase,
    prefix: String,
    jwks: PathBuf,
}

impl Surroundings {
    /// The reliability tables are there; the example's own are not.
    pub(crate) async fn new() -> Self {
        let database = TestDatabase::plain().await;
        let prefix = format!("test-{}.", uuid::Uuid::new_v4().simple());
        let jwks = std::env::temp_dir().join(format!("{prefix}jwks.json"));
        std::fs::write(&jwks, testkit::identity::jwks()).unwrap();
        Self { database, prefix, jwks }
    }

    /// `serve` on ports that the system chooses, migrating by itself.
    pub(crate) fn serve(&self) -> Command {
        let mut serve = greeter("serve");
        serve
            .env("IDEM_HTTP__PORT", "0")
            .env("IDEM_HTTP__WORKERS", "1")
            .env("IDEM_DATABASE__URL", self.database.service_url(None))
            .env("IDEM_DATABASE__MIGRATION_URL", self.database.owner_url())
            .env("IDEM_KAFKA__BROKERS", given("IDEM_KAFKA_BROKERS"))
            .env("IDEM_KAFKA__TOPIC_PREFIX", &self.prefix)
            .env("IDEM_AUTH__JWKS", &self.jwks)
            .env("IDEM_LOG__FORMAT", "json");
        serve
    }

    /// What the names of its topics begin with.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Takes away what a test leaves on Kafka.
    pub(crate) async fn clear(self) {
        let brokers: Brokers = given("IDEM_KAFKA_BROKERS").parse().unwrap();
        let group = format!("{}greeter", self.prefix);
        // A member that was killed counts as one until its session has run out.
        eventually("a group without members", async || delete_groups(&brokers, &[&group]).await.ok()).await;
        let topics =
            ["orders.events", "inventory.events", "greeter.dlq"].map(|t| format!("{}{t}", self.prefix));
        delete_topics(&brokers, &topics.each_ref().map(String::as_str)).await.unwrap();
    }
}

impl Drop for Surroundings {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.jwks);
    }
}

/// The example, running. Killed when dropped.
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

    /// All entries so far whose message contains these words.
    pub(crate) fn entries(&self, words: &str) -> Vec<Value> {
        let log = self.log.lock().unwrap();
        log.iter().filter(|e| e["message"].as_str().is_some_and(|m| m.contains(words))).cloned().collect()
    }

    /// The clients' address, or the operators'.
    pub(crate) async fn address(&self, which: &str) -> SocketAddr {
        self.logged("listening").await[which].as_str().unwrap().parse().unwrap()
    }

    /// Asks the clients' listener. `None` if there is no whole answer.
    pub(crate) async fn get(&self, path: &str) -> Option<(u16, String)> {
        ask(self.address("address").await, "GET", path).await
    }

    /// Waits until readiness is this status with this body.
    pub(crate) async fn readiness(&self, status: u16, body: &str) {
        eventually(&format!("readiness {status} {body}"), async || {
            self.get("/health/ready").await.filter(|response| *response == (status, body.to_owned()))
        })
        .await;
    }

    pub(crate) async fn ready(&self) {
        self.readiness(200, r#"{"status":"ready","database":"ok","broker":"ok","keys":"ok"}"#).await;
    }

    /// Ends it in good order.
    pub(crate) async fn end(mut self) {
        self.terminate();
        assert_eq!(self.exit_code().await, Some(0), "{:?}", self.entries("ended"));
    }

    /// Waits until it has ended.
    pub(crate) async fn exit_code(&mut self) -> Option<i32> {
        let ended = tokio::time::timeout(Duration::from_mins(1), self.process.wait()).await;
        ended.expect("the process did not end").unwrap().code()
    }

    pub(crate) fn terminate(&self) {
        let id = self.process.id().unwrap().to_string();
        assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    }
}

/// One request on a connection of its own.
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
