//! Where an installation is: the URLs of its databases (`IDEM_ORDERS_URL` and so on), and its brokers. Each may be missing.

use clap::Args;
use envelope::Topics;
use harness::{Books, Kafka};
use messaging::Brokers;

/// The databases and brokers to read.
#[derive(Debug, Clone, Args)]
pub struct Sources {
    /// The brokers, host:port, separated by commas; properties of the client are `IDEM_KAFKA__PROPERTIES__…`
    #[arg(long, env = "IDEM_KAFKA_BROKERS", value_parser = Brokers::from_environment)]
    brokers: Option<Brokers>,
    /// The name of the deployment, with which its topics begin
    #[arg(long, value_name = "NAME", env = "IDEM_DEPLOYMENT__NAME", default_value = harness::DEPLOYMENT)]
    deployment: String,
}

impl Sources {
    /// The databases, in read-only sessions. Their URLs are variables, because a command line is visible to other users.
    pub fn books(&self) -> Books {
        Books::new(|part| std::env::var(format!("IDEM_{}_URL", part.name().to_uppercase())).ok())
    }

    /// The brokers, if they are given.
    pub fn kafka(&self) -> Option<Kafka> {
        Some(Kafka { brokers: self.brokers.clone()?, topics: self.topics() })
    }

    /// The names of the topics.
    pub fn topics(&self) -> Topics {
        Topics::of(self.deployment.as_str())
    }
}
