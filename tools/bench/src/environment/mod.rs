//! The environment of a run: durable servers, and databases, roles and topics of the run's own.

mod clock;
mod machine;
mod postgres;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use contracts::streams;
use envelope::Topics;
use harness::{
    CommandOutput, Context, Error, Instance, Kafka, Launch, Part, Program, Result, kafka_variables, process,
};
use messaging::Brokers;
use messaging::topics::{TopicSpec, ensure};
use uuid::Uuid;

pub(crate) use clock::Clock;
pub(crate) use machine::MachineInfo;
pub(crate) use postgres::{Postgres, Session, TestBed};

/// The servers and programs; `./dev bench` sets these variables.
#[derive(Clone, clap::Args)]
pub(crate) struct Servers {
    /// URL of a superuser
    #[arg(long, env = "IDEM_POSTGRES_URL", hide = true, hide_env_values = true)]
    postgres_url: String,
    #[arg(long, env = "IDEM_KAFKA_BROKERS", hide = true)]
    kafka_brokers: String,
    /// The folder of the programs to measure
    #[arg(long, env = "IDEM_BIN_DIR", hide = true)]
    bin_dir: PathBuf,
    #[arg(long, env = "IDEM_BENCH_JWKS", hide = true)]
    jwks: PathBuf,
    /// A token for the tenant `bench`, valid for as long as the run takes
    #[arg(long, env = "IDEM_BENCH_TOKEN", hide = true, hide_env_values = true)]
    token: String,
    /// More tenants, as `name=token`
    #[arg(long, env = "IDEM_BENCH_TENANTS", hide = true, hide_env_values = true, value_delimiter = ',', value_parser = tenant)]
    tenants: Vec<(String, String)>,
    /// The file by which libfaketime moves the clock of PostgreSQL; for `days` alone
    #[arg(long, env = "IDEM_BENCH_CLOCK", hide = true)]
    clock: Option<PathBuf>,
    /// What was checked out
    #[arg(long, env = "IDEM_BENCH_COMMIT", hide = true, default_value = "unknown")]
    commit: String,
}

fn tenant(text: &str) -> std::result::Result<(String, String), String> {
    let (name, token) = text.split_once('=').ok_or("expected NAME=TOKEN")?;
    Ok((name.to_owned(), token.to_owned()))
}

/// Processor time of a program so far.
pub(crate) fn cpu_seconds(program: &Program) -> Option<f64> {
    Some(process::cpu_time(program.pid()?)?.as_secs_f64())
}

/// Processor time of this process, the load generator.
pub(crate) fn own_cpu_seconds() -> Option<f64> {
    Some(process::cpu_time(std::process::id())?.as_secs_f64())
}

/// The tenant of the token.
pub(crate) const TENANT: &str = "bench";

/// The consumer of the subject `inbox`.
pub(crate) const CONSUMER: &str = "bench";

/// The servers of a run, and what the run has made on them.
pub(crate) struct Environment {
    pub(crate) postgres: Postgres,
    pub(crate) brokers: Brokers,
    servers: Servers,
    machine: MachineInfo,
    prefix: String,
    topics: Mutex<Vec<Topics>>,
}

impl Environment {
    /// Connects to the servers. Refuses a PostgreSQL whose commits are not durable.
    pub(crate) async fn prepare(servers: Servers) -> Result<Self> {
        let run = Uuid::new_v4().simple().to_string().split_off(24);
        let brokers =
            Brokers::from_environment(&servers.kafka_brokers).context("read the brokers' addresses")?;
        messaging::health(&brokers, Duration::from_secs(5)).await.context("reach Kafka")?;
        let admin = Session::open(&servers.postgres_url).await?;
        let machine = MachineInfo::gather(&admin, &servers.commit).await?;
        let postgres = Postgres::prepare(admin, &servers.postgres_url, &run).await?;
        let (prefix, topics) = (format!("bench-{run}."), Mutex::new(Vec::new()));
        Ok(Self { postgres, brokers, servers, machine, prefix, topics })
    }

    /// The token of the tenant `bench`.
    pub(crate) fn token(&self) -> &str {
        &self.servers.token
    }

    /// More tenants, each with its token.
    pub(crate) fn tenants(&self) -> &[(String, String)] {
        &self.servers.tenants
    }

    /// Machine and servers, for the head of the report.
    pub(crate) fn machine(&self) -> MachineInfo {
        self.machine.clone()
    }

    /// The clock of PostgreSQL, if it can be moved.
    pub(crate) fn clock(&self) -> Result<Clock> {
        let Some(file) = &self.servers.clock else {
            let text = "the clock of this PostgreSQL cannot be moved: use ./dev bench --only days";
            return Err(Error::Refused(text.to_owned()));
        };
        Ok(Clock::new(file.clone(), self.servers.postgres_url.clone()))
    }

    /// Topics of one installation; removed at the end.
    pub(crate) fn topics(&self, name: &str) -> Topics {
        let topics = Topics::of(format!("{}{name}", self.prefix));
        self.topics.lock().unwrap_or_else(PoisonError::into_inner).push(topics.clone());
        topics
    }

    /// Creates the topic of the events of orders, as the service would.
    pub(crate) async fn make_topic(&self, topics: &Topics) -> Result<String> {
        let name = topics.events(streams::ORDERS);
        let spec = TopicSpec::new(name.clone(), Topics::PARTITIONS);
        ensure(&self.brokers, &[spec]).await.context("make a topic")?;
        Ok(name)
    }

    /// Starts a process of `instance.part`, such as `orders relay`, with exactly these settings.
    pub(crate) fn start(&self, instance: Instance, settings: &[(String, String)]) -> Result<Program> {
        Program::start(&self.launch(instance, &[instance.role.command()], settings))
    }

    /// Makes the tables of a service in a database.
    pub(crate) async fn migrate(&self, part: Part, database: &TestBed, topics: &Topics) -> Result<()> {
        let settings = self.service_settings(database, topics);
        let output = self.run(part.instance(1), &["migrate"], &settings).await?;
        output.expect_success(format!("{} migrate", part.name())).map(drop)
    }

    /// Runs a command of a service to its end.
    pub(crate) async fn run(
        &self,
        instance: Instance,
        command: &[&str],
        settings: &[(String, String)],
    ) -> Result<CommandOutput> {
        self.launch(instance, command, settings).run().await
    }

    fn launch<'a>(
        &'a self,
        instance: Instance,
        command: &'a [&'a str],
        settings: &'a [(String, String)],
    ) -> Launch<'a> {
        Launch { instance, command, folder: &self.servers.bin_dir, settings, log_limit: 64 * 1024 }
    }

    /// The settings that a service needs, without a limit of requests. All others keep their defaults.
    pub(crate) fn service_settings(&self, database: &TestBed, topics: &Topics) -> Vec<(String, String)> {
        let settings = [
            ("IDEM_MODE__DEVELOPMENT", "true".to_owned()),
            ("IDEM_HTTP__PORT", "0".to_owned()),
            ("IDEM_ADMIN__PORT", "0".to_owned()),
            ("IDEM_DATABASE__URL", database.service_url.clone()),
            ("IDEM_DATABASE__MIGRATION_URL", database.owner_url.clone()),
            ("IDEM_DEPLOYMENT__NAME", topics.deployment().to_owned()),
            ("IDEM_AUTH__JWKS", self.servers.jwks.display().to_string()),
            ("IDEM_LIMITS__REQUESTS_PER_SECOND", "0".to_owned()),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value));
        settings.into_iter().chain(kafka_variables(&self.brokers)).collect()
    }

    /// Returns how many messages of orders these topics hold.
    pub(crate) async fn messages(&self, topics: &Topics) -> Result<usize> {
        let kafka = Kafka { brokers: self.brokers.clone(), topics: topics.clone() };
        kafka.count(streams::ORDERS).await
    }

    /// Removes what this run has made.
    pub(crate) async fn clean(&self) -> Result<()> {
        self.postgres.clean().await?;
        let installations = self.topics.lock().unwrap_or_else(PoisonError::into_inner).split_off(0);
        let mut names = Vec::new();
        let mut groups = Vec::new();
        for topics in installations {
            for part in Part::SERVICES {
                names.extend([topics.events(part.stream()), topics.dead_letters(part.name())]);
                groups.push(topics.group(part.name()));
            }
            groups.push(topics.group(CONSUMER));
        }
        testkit::delete_topics(&names).await.context("delete the topics")?;
        // Sessions of killed members have to end first.
        testkit::delete_groups(&groups).await.context(format!("delete the consumer groups {groups:?}"))
    }
}
