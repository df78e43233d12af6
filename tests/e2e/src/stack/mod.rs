//! The programs together, with databases and topics that nobody else has.

mod books;
mod operate;
mod rest;
mod settings;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use messaging::Brokers;
use testkit::{TestDatabase, TestTopics, eventually, free_port, http, identity};
use uuid::Uuid;

use crate::{Part, Program};

pub use settings::{SECRET_KEY, WEBHOOK_SECRET};

/// What a test wants to be different.
#[derive(Default)]
pub struct Options {
    /// Two instances of every service, and of every relay that is apart.
    pub two_of_each: bool,
    /// Relays as processes of their own, instead of one inside each service.
    pub relays_apart: bool,
    /// A broker of the test's own.
    pub brokers: Option<Brokers>,
    /// A PostgreSQL of the test's own, by a superuser's URL.
    pub postgres: Option<String>,
    /// The way from `orders` to its database, such as a proxy that the test can cut.
    pub orders_database: Option<SocketAddr>,
    /// The life of an open order, in seconds.
    pub expiry_seconds: Option<u32>,
    /// How soon another worker of payments, and another relay, takes over from a dead one, in seconds; calls to the
    /// processor get half of it.
    pub lease_seconds: Option<u32>,
    /// How much the programs say.
    pub log_level: Option<&'static str>,
}

/// A running installation.
pub struct Stack {
    // Dropped in this order: programs first, then what they use.
    programs: BTreeMap<&'static str, Program>,
    databases: BTreeMap<&'static str, TestDatabase>,
    topics: TestTopics,
    options: Options,
    /// A program that is started again listens where it did before.
    ports: BTreeMap<&'static str, u16>,
    jwks: PathBuf,
}

impl Stack {
    /// Starts everything; returns once all are ready.
    pub async fn start() -> Self {
        Self::with(Options::default()).await
    }

    /// Starts everything, differently.
    pub async fn with(options: Options) -> Self {
        let mut stack = Self::prepared(options).await;
        let names: Vec<&str> =
            Part::of(stack.options.two_of_each, stack.options.relays_apart).map(|part| part.name).collect();
        // One of each first: migrations are applied by whoever comes first, and the second finds them done.
        for name in &names {
            stack.launch(name, &[]);
        }
        for name in &names {
            stack.ready(name).await;
        }
        stack
    }

    /// Databases and topics, and nothing that runs.
    pub async fn prepared(options: Options) -> Self {
        let mut databases = BTreeMap::new();
        for part in Part::of(false, false) {
            let database = match &options.postgres {
                Some(server) => TestDatabase::empty_on(server).await,
                None => TestDatabase::empty().await,
            };
            databases.insert(part.program, database);
        }
        let topics = match &options.brokers {
            Some(brokers) => TestTopics::names_on(brokers.clone()),
            None => TestTopics::names(),
        };
        let jwks = std::env::temp_dir().join(format!("idem-jwks-{}.json", Uuid::new_v4().simple()));
        std::fs::write(&jwks, identity::jwks()).unwrap();
        // They name each other before either has started.
        let ports = ["provider", "payments"].map(|name| (name, free_port())).into();
        let programs = BTreeMap::new();
        Self { programs, databases, topics, options, ports, jwks }
    }

    /// Starts one program, with settings on top of its own.
    pub fn launch(&mut self, name: &str, more: &[(&str, &str)]) {
        let part = Part::named(name);
        let port = *self.ports.entry(part.name).or_insert_with(free_port);
        let mut settings = self.settings(part, port);
        settings.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        self.programs.insert(part.name, Program::start(part.name, part.program, part.command, &settings));
    }

    /// Starts one program, and waits until it is ready.
    pub async fn launch_ready(&mut self, name: &str, more: &[(&str, &str)]) {
        self.launch(name, more);
        self.ready(name).await;
    }

    /// A program that was started.
    pub fn program(&mut self, name: &str) -> &mut Program {
        self.programs.get_mut(name).unwrap_or_else(|| panic!("{name} was not started"))
    }

    /// Where a program listens, whether it runs or not.
    pub fn address(&self, name: &str) -> String {
        let port = self.ports.get(name).unwrap_or_else(|| panic!("{name} was not started"));
        format!("http://127.0.0.1:{port}")
    }

    /// The same, once it does listen.
    pub async fn url(&self, name: &str) -> String {
        self.programs.get(name).unwrap_or_else(|| panic!("{name} was not started")).url().await
    }

    /// Waits until a program says that it is ready.
    pub async fn ready(&mut self, name: &str) {
        let ended = self.ready_or_ended(name).await;
        assert!(ended.is_none(), "{name} ended while it started: {ended:?}");
    }

    /// Waits until a program is ready, or has ended.
    pub async fn ready_or_ended(&mut self, name: &str) -> Option<std::process::ExitStatus> {
        let serves = Part::named(name).command == "serve";
        let url = format!("{}/health/ready", self.address(name));
        let client = http::client();
        eventually(&format!("{name} is ready"), async || {
            if let Some(ended) = self.program(name).has_ended() {
                return Some(Some(ended));
            }
            let ready = if serves {
                client.get(&url).send().await.is_ok_and(|answer| answer.status() == 200)
            } else {
                self.program(name).lines().iter().any(|line| line["message"] == "ready")
            };
            ready.then_some(None)
        })
        .await
    }

    /// A program's database.
    pub fn database(&self, name: &str) -> &TestDatabase {
        &self.databases[name]
    }

    /// The topics of this installation.
    pub fn topics(&self) -> &TestTopics {
        &self.topics
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        self.programs.clear();
        let _ = std::fs::remove_file(&self.jwks);
    }
}
