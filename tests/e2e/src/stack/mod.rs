//! An installation of the test's own: programs, databases and topics.

mod rest;
mod restore;
mod settings;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use harness::{Api, Books, Client, CommandOutput, Endpoint, Instance, Kafka, Launch, Part, Program};
use messaging::Brokers;
use testkit::{TestDatabase, TestTopics, free_port, given, identity};
use tokio::sync::{Semaphore, SemaphorePermit};
use uuid::Uuid;

pub use rest::publishers;

/// The differences between an installation and the usual one.
#[derive(Default)]
pub struct Options {
    /// Two instances of every service, and of every separate relay.
    pub two_of_each: bool,
    /// Relays as processes of their own, instead of one inside each service.
    pub separate_relays: bool,
    /// A broker of the test's own.
    pub brokers: Option<Brokers>,
    /// A PostgreSQL of the test's own for the services, by a superuser's URL. Other programs stand for other systems: their databases
    /// stay on the shared server.
    pub postgres: Option<String>,
    /// The address through which `orders` reaches its database, such as a proxy that the test can cut.
    pub orders_database: Option<SocketAddr>,
    /// The life of an open order, in seconds.
    pub expiry_seconds: Option<u32>,
    /// After how many seconds another worker or relay takes over from a dead one.
    pub lease_seconds: Option<u32>,
    /// The log level of the programs.
    pub log_level: Option<&'static str>,
    /// The collector to which the services send their spans.
    pub collector: Option<String>,
}

/// The settings of a program, as variables.
pub type Settings = Vec<(String, String)>;

/// So many installations of a program run at a time. More would use the processors up and starve each other.
static ROOM: Semaphore = Semaphore::const_new(4);

/// A running installation.
pub struct Stack {
    // Fields are dropped in this order: programs before what they use.
    programs: BTreeMap<Instance, Program>,
    databases: BTreeMap<Part, TestDatabase>,
    topics: TestTopics,
    options: Options,
    /// A restarted program listens on the same port.
    ports: BTreeMap<Instance, u16>,
    jwks: PathBuf,
    _place: SemaphorePermit<'static>,
}

fn named(name: &str) -> Instance {
    Instance::named(name).unwrap_or_else(|| panic!("no process has the name {name}"))
}

impl Stack {
    /// Starts the usual installation; returns when all programs are ready.
    pub async fn start() -> Self {
        Self::with(Options::default()).await
    }

    /// Starts an installation; returns when all programs are ready.
    pub async fn with(options: Options) -> Self {
        let mut stack = Self::prepared(options).await;
        let instances = if stack.options.two_of_each { 2 } else { 1 };
        let instances = Instance::all(instances, stack.options.separate_relays);
        for instance in &instances {
            stack.launch_instance(*instance, &[]);
        }
        for instance in &instances {
            stack.programs.get_mut(instance).unwrap().ready().await.unwrap();
        }
        stack
    }

    /// Makes the databases and the names of the topics; no program runs.
    pub async fn prepared(options: Options) -> Self {
        let place = ROOM.acquire().await.unwrap();
        let mut databases = BTreeMap::new();
        for part in Part::PROGRAMS {
            let server = options.postgres.as_ref().filter(|_| part.is_service());
            let database = match server {
                Some(server) => TestDatabase::empty_on(server).await,
                None => TestDatabase::empty().await,
            };
            databases.insert(part, database);
        }
        let topics = match &options.brokers {
            Some(brokers) => TestTopics::names_on(brokers.clone()),
            None => TestTopics::names(),
        };
        let jwks = std::env::temp_dir().join(format!("idem-jwks-{}.json", Uuid::new_v4().simple()));
        std::fs::write(&jwks, identity::jwks()).unwrap();
        // Customers and settings name a program before it has started.
        let ports = Instance::all(2, true).into_iter().map(|instance| (instance, free_port())).collect();
        Self { programs: BTreeMap::new(), databases, topics, options, ports, jwks, _place: place }
    }

    /// Starts a program, with settings on top of its usual ones.
    pub fn launch(&mut self, name: &str, more: &[(&str, &str)]) {
        self.launch_instance(named(name), more);
    }

    fn launch_instance(&mut self, instance: Instance, more: &[(&str, &str)]) {
        let mut settings = self.settings(instance.part, self.ports[&instance]);
        settings.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        self.start_instance(instance, &programs(), &settings);
    }

    /// Starts a program of this folder, such as that of an older commit, with the settings as that commit knows them; returns when it
    /// is ready.
    pub async fn launch_from(&mut self, folder: &Path, name: &str, known: fn(Settings) -> Settings) {
        let instance = named(name);
        let settings = known(self.settings(instance.part, self.ports[&instance]));
        self.start_instance(instance, folder, &settings);
        self.ready(name).await;
    }

    /// Starts a program with these settings, and no others.
    pub fn launch_exactly(&mut self, name: &str, settings: &[(String, String)]) {
        self.start_instance(named(name), &programs(), settings);
    }

    fn start_instance(&mut self, instance: Instance, folder: &Path, settings: &[(String, String)]) {
        let former = self.programs.get_mut(&instance);
        let has_ended = former.is_none_or(|program| program.has_ended().unwrap().is_some());
        assert!(has_ended, "{instance} runs, and has the port");
        let command = &[instance.role.command()];
        let launch = Launch { instance, command, folder, settings, log_limit: usize::MAX };
        self.programs.insert(instance, Program::start(&launch).unwrap());
    }

    /// SIGTERM to each service; panics unless each ends with 0.
    pub async fn stop_services(&mut self) {
        for service in Part::SERVICES {
            self.stop(service.name()).await;
        }
    }

    /// Starts the services again; returns when all are ready.
    pub async fn launch_services(&mut self) {
        for service in Part::SERVICES {
            self.launch(service.name(), &[]);
        }
        for service in Part::SERVICES {
            self.ready(service.name()).await;
        }
    }

    /// Starts a program, and waits until it is ready.
    pub async fn launch_ready(&mut self, name: &str, more: &[(&str, &str)]) {
        self.launch(name, more);
        self.ready(name).await;
    }

    /// A started program.
    pub fn program(&mut self, name: &str) -> &mut Program {
        self.programs.get_mut(&named(name)).unwrap_or_else(|| panic!("{name} was not started"))
    }

    /// SIGKILL; returns when the process has ended.
    pub async fn kill(&mut self, name: &str) {
        self.program(name).kill().await.unwrap();
    }

    /// SIGTERM; panics unless the program ends with 0.
    pub async fn stop(&mut self, name: &str) {
        let status = self.program(name).stop().await.unwrap();
        assert!(status.success(), "{name} was asked to end: {status}");
    }

    /// How a program ended; `None` while it runs.
    pub fn has_ended(&mut self, name: &str) -> Option<ExitStatus> {
        self.program(name).has_ended().unwrap()
    }

    /// Waits until a program has killed itself at a crash point. That can take several journeys of orders through all services,
    /// so the deadline is longer than for one step.
    pub async fn killed_itself(&mut self, name: &str, point: &str) {
        let ended = self.program(name).ended_within(Duration::from_mins(5)).await;
        let status = ended.unwrap_or_else(|error| panic!("{name} does not reach {point}: {error}"));
        assert!(self.program(name).was_killed().unwrap(), "{name} at {point} ended otherwise: {status}");
    }

    /// Waits until a program is ready.
    pub async fn ready(&mut self, name: &str) {
        self.program(name).ready().await.unwrap();
    }

    /// Waits until a program is ready, or has ended; returns how it ended.
    pub async fn ready_or_ended(&mut self, name: &str) -> Option<ExitStatus> {
        self.program(name).ready_or_ended().await.unwrap()
    }

    /// `host:port` of a program, whether it runs or not.
    pub fn address(&self, name: &str) -> String {
        format!("127.0.0.1:{}", self.ports[&named(name)])
    }

    /// The processes of these names, as endpoints.
    pub fn endpoints(&self, names: &[&str]) -> Vec<Endpoint> {
        let endpoint = |name: &&str| Endpoint { instance: named(name), address: self.address(name) };
        names.iter().map(endpoint).collect()
    }

    /// The first so many processes of each service, as endpoints.
    pub fn services(&self, instances: usize) -> Vec<Endpoint> {
        let names = Part::SERVICES
            .into_iter()
            .flat_map(|part| (1..=instances).map(move |number| part.instance(number)));
        names.flat_map(|instance| self.endpoints(&[&instance.to_string()])).collect()
    }

    /// A client without a token: for `/health`, and for programs that are no services.
    pub fn api(&self) -> Api<'_> {
        let route = |part: Part| self.endpoints(&[part.name()]);
        Api::new(Client::new(0, String::new()).unwrap(), route)
    }

    /// A database, for what the test does behind a program's back.
    pub fn database(&self, part: Part) -> &TestDatabase {
        &self.databases[&part]
    }

    /// The databases, read-only.
    pub fn books(&self) -> Books {
        Books::new(|part| Some(self.databases[&part].owner_url()))
    }

    /// The topics.
    pub fn kafka(&self) -> Kafka {
        Kafka { brokers: self.topics.brokers(), topics: (*self.topics).clone() }
    }

    /// Runs an operator's command of a program with the settings of this installation.
    pub async fn operate(&self, part: Part, command: &[&str]) -> CommandOutput {
        self.operate_with(part, command, &[]).await
    }

    /// The same, with settings on top.
    pub async fn operate_with(&self, part: Part, command: &[&str], more: &[(&str, &str)]) -> CommandOutput {
        let mut settings = self.settings(part, 0);
        settings.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        self.operate_exactly(part, command, &settings).await
    }

    /// Runs a command of a program with these settings, and no others.
    pub async fn operate_exactly(
        &self,
        part: Part,
        command: &[&str],
        settings: &[(String, String)],
    ) -> CommandOutput {
        let (instance, folder) = (part.instance(1), programs());
        let launch = Launch { instance, command, folder: &folder, settings, log_limit: 0 };
        launch.run().await.unwrap()
    }
}

/// The folder of the programs under test.
pub fn programs() -> PathBuf {
    given("IDEM_BIN_DIR").into()
}

impl Drop for Stack {
    fn drop(&mut self) {
        self.programs.clear();
        let _ = std::fs::remove_file(&self.jwks);
    }
}
