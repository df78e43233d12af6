//! The four programs together, with databases and topics that nobody else has.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use contracts::Stream;
use diesel::sql_types::BigInt;
use diesel_async::RunQueryDsl;
use messaging::Brokers;
use testkit::{TestDatabase, TestTopics, eventually, http, identity};
use uuid::Uuid;

use crate::Program;

/// What a test wants to be different.
#[derive(Default)]
pub struct Options {
    /// A broker of the test's own.
    pub brokers: Option<Brokers>,
    /// The way from `orders` to its database, such as a proxy that the test can cut.
    pub orders_database: Option<SocketAddr>,
    /// The life of an open order, in seconds.
    pub expiry_seconds: Option<u32>,
    /// How soon another worker of payments takes over from a dead one, in seconds; calls get half of it.
    pub lease_seconds: Option<u32>,
}

/// A running installation.
pub struct Stack {
    // Dropped in this order: programs first, then what they use.
    programs: BTreeMap<&'static str, Program>,
    databases: BTreeMap<&'static str, TestDatabase>,
    topics: TestTopics,
    options: Options,
    jwks: PathBuf,
}

/// In the order of starting: payments needs the provider's address.
const PROGRAMS: [&str; 4] = ["provider", "inventory", "payments", "orders"];

impl Stack {
    /// Starts everything; returns once all are ready.
    pub async fn start() -> Self {
        Self::with(Options::default()).await
    }

    /// Starts everything, differently.
    pub async fn with(options: Options) -> Self {
        let mut stack = Self::prepared(options).await;
        for name in PROGRAMS {
            stack.launch(name, &[]).await;
        }
        for name in PROGRAMS {
            stack.ready(name).await;
        }
        stack
    }

    /// Databases and topics, and nothing that runs.
    pub async fn prepared(options: Options) -> Self {
        let mut databases = BTreeMap::new();
        for name in PROGRAMS {
            databases.insert(name, TestDatabase::empty().await);
        }
        let jwks = std::env::temp_dir().join(format!("idem-jwks-{}.json", Uuid::new_v4().simple()));
        std::fs::write(&jwks, identity::jwks()).unwrap();
        Self { programs: BTreeMap::new(), databases, topics: TestTopics::names(), options, jwks }
    }

    /// Starts one program, with settings on top of its own.
    pub async fn launch(&mut self, name: &'static str, more: &[(&str, &str)]) {
        let mut settings = self.settings(name).await;
        settings.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        self.programs.insert(name, Program::start(name, &settings));
    }

    /// Starts one program, and waits until it is ready.
    pub async fn launch_ready(&mut self, name: &'static str, more: &[(&str, &str)]) {
        self.launch(name, more).await;
        self.ready(name).await;
    }

    async fn settings(&self, name: &'static str) -> Vec<(String, String)> {
        let database = &self.databases[name];
        let through = self.options.orders_database.filter(|_| name == "orders");
        let mut settings = vec![
            ("IDEM_HTTP__PORT", "0".to_owned()),
            ("IDEM_DATABASE__URL", database.service_url(through)),
            ("IDEM_DATABASE__MIGRATION_URL", database.owner_url()),
        ];
        if name != "provider" {
            let brokers = self.options.brokers.clone().unwrap_or_else(|| self.topics.brokers());
            settings.extend([
                ("IDEM_ADMIN__PORT", "0".to_owned()),
                ("IDEM_KAFKA__BROKERS", brokers.to_string()),
                ("IDEM_KAFKA__TOPIC_PREFIX", self.topics.prefixed("")),
                ("IDEM_AUTH__JWKS", self.jwks.display().to_string()),
            ]);
        }
        if name == "payments" {
            settings.push(("IDEM_PROCESSOR__URL", self.url("provider").await));
            settings.push(("IDEM_PROCESSOR__SECRET_KEY", "sk_test_e2e".to_owned()));
        }
        if let (true, Some(seconds)) = (name == "payments", self.options.lease_seconds) {
            settings.push(("IDEM_WORKER__LEASE_SECONDS", seconds.to_string()));
            settings.push(("IDEM_PROCESSOR__TIMEOUT_MILLISECONDS", (seconds * 500).to_string()));
        }
        if let (true, Some(seconds)) = (name == "orders", self.options.expiry_seconds) {
            settings.push(("IDEM_SAGA__EXPIRY_SECONDS", seconds.to_string()));
            settings.push(("IDEM_SAGA__EXPIRY_POLL_MILLISECONDS", "50".to_owned()));
        }
        settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// A running program.
    pub fn program(&mut self, name: &str) -> &mut Program {
        self.programs.get_mut(name).unwrap_or_else(|| panic!("{name} was not started"))
    }

    /// Where a program listens.
    pub async fn url(&self, name: &str) -> String {
        self.programs.get(name).unwrap_or_else(|| panic!("{name} was not started")).url().await
    }

    /// Waits until a program says that it is ready.
    pub async fn ready(&mut self, name: &str) {
        let url = format!("{}/health/ready", self.url(name).await);
        let client = http::client();
        eventually(&format!("{name} is ready"), async || {
            let ended = self.program(name).has_ended();
            assert!(ended.is_none(), "{name} ended while it started: {ended:?}");
            client.get(&url).send().await.ok().filter(|answer| answer.status() == 200).map(drop)
        })
        .await;
    }

    /// One number from a program's database.
    pub async fn count(&self, name: &str, sql: &str) -> i64 {
        #[derive(diesel::QueryableByName)]
        struct Count {
            #[diesel(sql_type = BigInt)]
            count: i64,
        }
        let mut owner = self.databases[name].owner().await;
        let counted: Count =
            diesel::sql_query(sql).get_result(&mut owner).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
        counted.count
    }

    /// A program's database.
    pub fn database(&self, name: &str) -> &TestDatabase {
        &self.databases[name]
    }

    /// The topics of this installation.
    pub fn topics(&self) -> &TestTopics {
        &self.topics
    }

    /// Waits until every outbox is published and every consumer has dealt with all of it.
    pub async fn settled(&self) {
        eventually("every message is dealt with", async || {
            for (database, stream, consumers) in [
                ("orders", Stream::Orders, &["inventory", "payments"][..]),
                ("inventory", Stream::Inventory, &["orders"]),
                ("payments", Stream::Payments, &["orders"]),
            ] {
                let told = self.count(database, "SELECT count(*) FROM outbox_event").await;
                for consumer in consumers {
                    let source = stream.name();
                    let heard = format!("SELECT count(*) FROM inbox_message WHERE source = '{source}'");
                    if self.count(consumer, &heard).await < told {
                        return None;
                    }
                }
            }
            Some(())
        })
        .await;
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        self.programs.clear();
        let _ = std::fs::remove_file(&self.jwks);
    }
}
