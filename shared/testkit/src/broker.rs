//! A Kafka broker for one test that stops or kills it. All other tests use the shared broker.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use envelope::{Stream, Topics};
use messaging::{Brokers, ReceivedMessage};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::sync::{Semaphore, SemaphorePermit};
use uuid::Uuid;

use crate::topics::{count, make_topics, messages};
use crate::{BrokerTls, eventually, free_port, given};

/// So many tests of a program have brokers of their own at a time: the start of one uses a core for seconds.
static ROOM: Semaphore = Semaphore::const_new(2);

/// One broker, stopped and removed with all its data when the test ends.
pub struct Broker {
    folder: PathBuf,
    port: u16,
    controller_port: u16,
    node: u8,
    tls: Option<BrokerTls>,
    process: Child,
    /// The second one of a cluster needs none.
    _place: Option<SemaphorePermit<'static>>,
}

impl Broker {
    /// Starts an empty broker; returns once it answers.
    pub async fn start() -> Self {
        let place = ROOM.acquire().await.unwrap();
        Self::start_node(1, free_port(), None, Some(place)).await
    }

    /// Starts an empty broker that accepts TLS alone; returns once it answers.
    pub async fn with_tls(tls: BrokerTls) -> Self {
        let place = ROOM.acquire().await.unwrap();
        Self::start_node(1, free_port(), Some(tls), Some(place)).await
    }

    /// Starts a second broker of this one's cluster.
    pub async fn start_second(&self) -> Self {
        Self::start_node(2, self.controller_port, None, None).await
    }

    async fn start_node(
        node: u8,
        controller_port: u16,
        tls: Option<BrokerTls>,
        place: Option<SemaphorePermit<'static>>,
    ) -> Self {
        let folder = std::env::temp_dir().join(format!("idem-broker-{}", Uuid::new_v4().simple()));
        fs::create_dir(&folder).unwrap();
        let port = free_port();
        let process = run(&folder, port, controller_port, node, tls.as_ref());
        let mut broker = Self { folder, port, controller_port, node, tls, process, _place: place };
        broker.ready().await;
        broker
    }

    /// The broker's address, also while it does not run.
    pub fn brokers(&self) -> Brokers {
        let properties = self.tls.as_ref().map_or(&[][..], BrokerTls::properties);
        Brokers::new(&format!("127.0.0.1:{}", self.port), properties.iter().cloned()).unwrap()
    }

    /// Makes the events topics of these services. No other test uses this broker, so the deployment's name is always the same.
    pub async fn topics(&self, streams: &[Stream]) -> Topics {
        let topics = Topics::of("test");
        make_topics(&self.brokers(), &topics, streams).await;
        topics
    }

    /// The number of messages of a topic.
    pub async fn count(&self, topic: &str) -> usize {
        count(&self.brokers(), topic).await
    }

    /// All messages of a topic, by partition and offset.
    pub async fn messages(&self, topic: &str) -> Vec<ReceivedMessage> {
        messages(&self.brokers(), topic).await
    }

    /// Flips a bit in the stored batch that holds this record, as a broken disk does. Readers then find a wrong checksum.
    pub fn corrupt(&self, topic: &str, partition: i32, offset: i64) {
        let segment = format!("data/{topic}-{partition}/{:020}.log", 0);
        let log = File::options().read(true).write(true).open(self.folder.join(segment)).unwrap();
        let number = |at: u64, bytes: usize| {
            let mut buffer = vec![0; bytes];
            log.read_exact_at(&mut buffer, at).unwrap();
            buffer.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        // A batch: base offset (8 bytes), length of the rest (4), 11 bytes, number of records less one (4), …
        let (mut start, offset) = (0, u64::try_from(offset).unwrap());
        while number(start, 8) + number(start + 23, 4) < offset {
            start += 12 + number(start + 8, 4);
        }
        let last = start + 11 + number(start + 8, 4);
        let flipped = u8::try_from(number(last, 1)).unwrap() ^ 1;
        log.write_all_at(&[flipped], last).unwrap();
    }

    /// Shuts it down cleanly.
    pub async fn stop(&mut self) {
        kill_process(self.pid(), Signal::TERM).unwrap();
        self.process.wait().await.unwrap();
    }

    /// SIGSTOP: connections stay open, and nothing answers.
    pub fn pause(&self) {
        kill_process(self.pid(), Signal::STOP).unwrap();
    }

    /// SIGCONT.
    pub fn resume(&self) {
        kill_process(self.pid(), Signal::CONT).unwrap();
    }

    fn pid(&self) -> Pid {
        self.process.id().and_then(|id| Pid::from_raw(id.cast_signed())).expect("it runs")
    }

    /// Kills it. The operating system still writes its dirty pages, unlike at a power cut.
    pub async fn kill(&mut self) {
        self.process.kill().await.unwrap();
    }

    /// Starts it again with its data; returns once it answers.
    pub async fn start_again(&mut self) {
        assert!(self.process.id().is_none(), "stop or kill it first");
        self.process = run(&self.folder, self.port, self.controller_port, self.node, self.tls.as_ref());
        self.ready().await;
    }

    async fn ready(&mut self) {
        let brokers = self.brokers();
        eventually("the broker answers", async || {
            if let Some(status) = self.process.try_wait().unwrap() {
                let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                panic!("the broker ended by itself ({status}):\n{log}");
            }
            messaging::health(&brokers, Duration::from_secs(1)).await.ok()
        })
        .await;
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.start_kill();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Starts a broker as `./dev` does. Its log is in the folder.
fn run(folder: &Path, port: u16, controller_port: u16, node: u8, tls: Option<&BrokerTls>) -> Child {
    let log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
    Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/dev.d/kafka-node.sh"))
        .arg(folder)
        .args([port.to_string(), controller_port.to_string(), node.to_string()])
        .env("IDEM_KAFKA_HOME", given("IDEM_KAFKA_HOME"))
        .envs(tls.map(|tls| ("IDEM_KAFKA_TLS", tls.folder())))
        // A killed broker does not remove the libraries that it has unpacked.
        .env("IDEM_KAFKA_JVM_OPTIONS", format!("-Djava.io.tmpdir={}", folder.display()))
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}
