//! What a run stands on: servers that are durable, and databases, roles and topics that nobody else has.

mod facts;
mod kafka;
mod postgres;
mod process;
mod program;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use contracts::{Stream, Topics};
use messaging::topics::{TopicSpec, ensure};
use messaging::{Brokers, admin};
use uuid::Uuid;

pub(crate) use facts::Facts;
pub(crate) use kafka::Watcher;
pub(crate) use postgres::{Postgres, Session, TestBed};
pub(crate) use process::{cpu_seconds, resident_mib};
pub(crate) use program::{Program, settings_of_service};

use crate::trouble::{Doing, Trouble};

/// Where things are; `./dev bench` says so.
#[derive(clap::Args)]
pub(crate) struct Places {
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
    /// What was checked out
    #[arg(long, env = "IDEM_BENCH_COMMIT", hide = true, default_value = "unknown")]
    commit: String,
    /// Another setting of orders, as an experiment, such as `IDEM_DATABASE__POOL_SIZE=32`. Its log must go on telling where
    /// it listens: `IDEM_LOG__LEVEL=warn,runtime=info`
    #[arg(long, num_args = 1.., value_name = "NAME=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("NAME=VALUE is wanted")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// The tenant whose token it is.
pub(crate) const TENANT: &str = "bench";

/// One run's servers and belongings.
pub(crate) struct Ground {
    pub(crate) postgres: Postgres,
    pub(crate) brokers: Brokers,
    pub(crate) bin_dir: PathBuf,
    pub(crate) jwks: PathBuf,
    pub(crate) token: String,
    /// Settings of orders that the run was asked to change.
    pub(crate) experiment: Vec<(String, String)>,
    facts: Facts,
    prefix: String,
    topics: Mutex<Vec<Topics>>,
}

impl Ground {
    /// Looks at the servers, and refuses those whose commits do not last.
    pub(crate) async fn prepare(places: &Places) -> Result<Self, Trouble> {
        let run = Uuid::new_v4().simple().to_string().split_off(24);
        let brokers: Brokers = places.kafka_brokers.parse().doing("read the brokers' addresses")?;
        messaging::health(&brokers, Duration::from_secs(5)).await.doing("reach Kafka")?;
        let admin = Session::open(&places.postgres_url).await?;
        let facts = Facts::gather(&admin, &places.commit, &places.set).await?;
        let postgres = Postgres::prepare(admin, &places.postgres_url, &run).await?;
        Ok(Self {
            postgres,
            brokers,
            bin_dir: places.bin_dir.clone(),
            jwks: places.jwks.clone(),
            token: places.token.clone(),
            experiment: places.set.clone(),
            facts,
            prefix: format!("bench-{run}."),
            topics: Mutex::new(Vec::new()),
        })
    }

    /// Machine and servers, for the report's head.
    pub(crate) fn facts(&self) -> Facts {
        self.facts.clone()
    }

    /// Topics of an installation of its own; removed at the end.
    pub(crate) fn topics(&self, name: &str) -> Topics {
        let topics = Topics::with_prefix(format!("{}{name}.", self.prefix));
        self.topics.lock().unwrap_or_else(PoisonError::into_inner).push(topics.clone());
        topics
    }

    /// Makes the topic of orders' events, as a service would.
    pub(crate) async fn make_topic(&self, topics: &Topics) -> Result<String, Trouble> {
        let name = topics.events(Stream::Orders);
        let spec = TopicSpec::new(name.clone(), Topics::PARTITIONS);
        ensure(&self.brokers, &[spec]).await.doing("make a topic")?;
        Ok(name)
    }

    /// Removes what this run has made.
    pub(crate) async fn clean(&self) -> Result<(), Trouble> {
        self.postgres.clean().await?;
        let installations = self.topics.lock().unwrap_or_else(PoisonError::into_inner).split_off(0);
        let mut names = Vec::new();
        let mut groups = Vec::new();
        for topics in installations {
            for stream in Stream::ALL {
                names.extend([topics.events(stream), topics.dead_letters(stream.name())]);
                groups.push(topics.group(stream.name()));
            }
            groups.push(topics.group(crate::parts::inbox::CONSUMER));
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        admin::delete_topics(&self.brokers, &names).await.doing("delete the topics")?;
        self.delete_groups(&groups).await
    }

    /// Members that were killed are forgotten once their session has ended.
    async fn delete_groups(&self, groups: &[String]) -> Result<(), Trouble> {
        let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
        for _ in 0..200 {
            match admin::delete_groups(&self.brokers, &groups).await {
                Err(messaging::Error::GroupActive { .. }) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                deleted => return deleted.doing("delete the consumer groups"),
            }
        }
        Err(Trouble::Refused(format!("one of the groups {groups:?} still has members, and was left")))
    }
}
