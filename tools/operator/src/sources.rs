//! Where an installation is: the URLs of its databases, and its brokers. Each may be missing.

use std::collections::BTreeMap;

use audits::Database;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use envelope::Topics;
use harness::{Books, Kafka};
use messaging::Brokers;

/// The databases and brokers to read.
#[derive(Debug, Clone, Args)]
pub struct Sources {
    #[command(flatten)]
    urls: Urls,
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
        Books::new(|part| self.urls.0.get(part.name()).cloned())
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

/// The URL of each database, by its name. The processor's own database is that of the stand-in.
#[derive(Debug, Clone)]
struct Urls(BTreeMap<&'static str, String>);

impl FromArgMatches for Urls {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let names = Database::all().map(Database::name);
        Ok(Self(names.filter_map(|name| Some((name, matches.get_one(name).cloned()?))).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Urls {
    fn augment_args(command: Command) -> Command {
        command.args(Database::all().map(Database::name).map(|name| {
            let url =
                Arg::new(name).long(name).value_name("URL").help(format!("URL of the database of {name}"));
            url.env(format!("IDEM_{}_URL", name.to_uppercase())).hide_env_values(true)
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
