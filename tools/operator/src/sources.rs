//! Where an installation is: the URLs of its databases, and its brokers. Each may be missing.

use audits::Database;
use clap::Args;
use envelope::Topics;
use harness::{Books, Kafka, Part};
use messaging::Brokers;

/// The databases and brokers to read.
#[derive(Debug, Clone, Args)]
pub struct Sources {
    /// URL of the database of orders
    #[arg(long, value_name = "URL", env = "IDEM_ORDERS_URL", hide_env_values = true)]
    orders: Option<String>,
    /// URL of the database of inventory
    #[arg(long, value_name = "URL", env = "IDEM_INVENTORY_URL", hide_env_values = true)]
    inventory: Option<String>,
    /// URL of the database of payments
    #[arg(long, value_name = "URL", env = "IDEM_PAYMENTS_URL", hide_env_values = true)]
    payments: Option<String>,
    /// URL of the processor's own database, which only the stand-in has
    #[arg(long, value_name = "URL", env = "IDEM_PROVIDER_URL", hide_env_values = true)]
    provider: Option<String>,
    /// The brokers, host:port, separated by commas; properties of the client are `IDEM_KAFKA__PROPERTIES__…`
    #[arg(long, env = "IDEM_KAFKA_BROKERS", value_parser = Brokers::from_environment)]
    brokers: Option<Brokers>,
    /// The name of the deployment, with which its topics begin
    #[arg(long, value_name = "NAME", env = "IDEM_DEPLOYMENT__NAME", default_value = harness::DEPLOYMENT)]
    deployment: String,
}

impl Sources {
    /// The databases, in read-only sessions.
    pub fn books(&self) -> Books {
        Books::new(|part| {
            Database::ALL.into_iter().find(|it| Part::from(*it) == part).and_then(|it| self.url(it).cloned())
        })
    }

    fn url(&self, database: Database) -> Option<&String> {
        match database {
            Database::Orders => self.orders.as_ref(),
            Database::Inventory => self.inventory.as_ref(),
            Database::Payments => self.payments.as_ref(),
            Database::Provider => self.provider.as_ref(),
        }
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
