//! From "listening" to "ready": PostgreSQL, tables, Kafka, topics, and then whoever works in the background.

use std::sync::Arc;
use std::time::Duration;

use contracts::{Stream, Topics};
use database::MigrateError;
use edge::{Authenticator, Edge, JwksError};
use inbox::{Consumer, Runner, RunnerSettings};
use messaging::topics::{TopicSpec, ensure};
use outbox::{Relay, RelaySettings};
use secrecy::SecretString;

use crate::patience::{Obstacle, until_done};
use crate::process::Process;
use crate::schema::{migrations, pending};
use crate::{Job, Service, housekeeping};

/// How long a broker may take to say that it is there.
const SOON: Duration = Duration::from_secs(2);

impl Process {
    /// Waits until the database answers and has its tables; makes them if it may.
    pub(crate) async fn open_database<S: Service>(&self) -> Result<(), String> {
        until_done("PostgreSQL", || async {
            self.database.ping().await.map_err(|error| {
                Obstacle::Passing(format!("{error}; is it running, and does IDEM_DATABASE__URL lead to it?"))
            })
        })
        .await?;
        match &self.migration_url {
            Some(url) => until_done("the migrations", || migrate::<S>(url)).await?,
            None => until_done("the migrations", || self.migrated::<S>()).await?,
        }
        self.health.migrated();
        tracing::info!("the database is open");
        self.work.keep("housekeeping", housekeeping::run(self.database.clone(), self.work.stop_token()));
        Ok(())
    }

    /// Somebody else migrates; we see whether it is done.
    async fn migrated<S: Service>(&self) -> Result<(), Obstacle> {
        match pending(&self.database, migrations::<S>()).await {
            Ok(0) => Ok(()),
            Ok(number) => Err(Obstacle::Passing(format!(
                "{number} pending; run `{} migrate`, or set IDEM_DATABASE__MIGRATION_URL",
                S::NAME
            ))),
            Err(error) => {
                Err(Obstacle::Passing(format!("{error}; run `{} migrate` if it was never run", S::NAME)))
            }
        }
    }

    /// What requests need of the database beside their own rows.
    pub(crate) async fn open_edge(&self, edge: &Edge) -> Result<(), String> {
        let open = || async { edge.open().await.map_err(|error| Obstacle::Passing(error.to_string())) };
        until_done("the secret of cursors", open).await
    }

    /// Waits until there are keys to check tokens with, and keeps them fresh from then on.
    pub(crate) fn start_keys(&self, authenticator: Arc<Authenticator>, every: Duration) {
        let (health, stop) = (Arc::clone(&self.health), self.work.stop_token());
        let keys = async move {
            if !authenticator.has_keys() {
                until_done("the key set", || first_keys(&authenticator)).await?;
            }
            health.keyed();
            authenticator.keep_fresh(every).await;
            Ok(())
        };
        self.work.keep("key set", async move { stop.run_until_cancelled(keys).await.unwrap_or(Ok(())) });
    }

    pub(crate) fn start_jobs(&self, jobs: Vec<Job>) {
        for job in jobs {
            let run = (job.run)(self.work.stop_token());
            self.work.keep(job.name, async move {
                run.await;
                Ok(())
            });
        }
    }

    /// Waits until the broker answers and has the topics that this service writes and reads.
    pub(crate) async fn open_topics<S: Service>(&self, reactions: Option<&Consumer>) -> Result<(), String> {
        let topics = needed_topics(&self.topics, S::STREAM, reactions);
        until_done("Kafka", || async {
            // First the short question: who waits for an answer that never comes should hear of it soon.
            let open = async {
                messaging::health(&self.brokers, SOON).await?;
                ensure(&self.brokers, &topics).await
            };
            open.await.map_err(|error| match error {
                messaging::Error::Configuration { .. } | messaging::Error::PartitionCount { .. } => {
                    Obstacle::Lasting(error.to_string())
                }
                error => Obstacle::Passing(error.to_string()),
            })
        })
        .await?;
        self.health.connected();
        tracing::info!("the topics are open");
        let watch = housekeeping::watch_broker(
            self.brokers.clone(),
            Arc::clone(&self.health),
            self.work.stop_token(),
        );
        self.work.keep("broker watch", watch);
        Ok(())
    }

    pub(crate) fn start_inbox(&self, reactions: Consumer, settings: RunnerSettings) {
        let (database, brokers) = (self.database.clone(), self.brokers.clone());
        let runner = Runner::new(database, brokers, self.topics.clone(), reactions, settings);
        let stop = self.work.stop_token();
        self.work.keep("inbox", async move { runner.run(stop).await.map_err(|error| error.to_string()) });
    }

    pub(crate) fn start_relay(&self, settings: RelaySettings) {
        let (database, brokers) = (self.database.clone(), self.brokers.clone());
        let relay = Relay::new(database, brokers, self.topics.clone(), settings);
        let stop = self.relay.stop_token();
        self.relay.keep("relay", async move {
            relay.run(stop).await;
            Ok(())
        });
    }
}

async fn migrate<S: Service>(url: &SecretString) -> Result<(), Obstacle> {
    database::migrate(url, migrations::<S>()).await.map_err(|error| match error {
        MigrateError::Connect(_) => {
            Obstacle::Passing(format!("{error}; does IDEM_DATABASE__MIGRATION_URL lead to it?"))
        }
        MigrateError::Lock(_) => Obstacle::Passing(error.to_string()),
        MigrateError::Migration(_) => Obstacle::Lasting(error.to_string()),
    })
}

/// A key set that is there and of no use is a fault of the configuration: waiting does not mend it.
async fn first_keys(authenticator: &Authenticator) -> Result<(), Obstacle> {
    authenticator.refresh().await.map_err(|error| match error {
        JwksError::Read { .. } => Obstacle::Passing(format!("{error}; does IDEM_AUTH__JWKS lead to it?")),
        JwksError::Unusable { .. } | JwksError::Location(_) => {
            Obstacle::Lasting(format!("IDEM_AUTH__JWKS must be the path or URL of a key set: {error}"))
        }
    })
}

/// What the service says, whom it listens to, and where it puts copies of what it cannot apply.
fn needed_topics(topics: &Topics, own: Stream, reactions: Option<&Consumer>) -> Vec<TopicSpec> {
    let mut streams = vec![own];
    streams.extend(reactions.into_iter().flat_map(Consumer::streams));
    streams.sort_unstable();
    streams.dedup();
    let mut needed: Vec<TopicSpec> =
        streams.into_iter().map(|stream| TopicSpec::new(topics.events(stream), Topics::PARTITIONS)).collect();
    needed.extend(reactions.map(|reactions| TopicSpec::new(topics.dead_letters(reactions.name()), 1)));
    needed
}

#[cfg(test)]
mod tests {
    use contracts::events::StockReserved;

    use super::*;

    #[test]
    fn a_service_needs_its_own_topic_and_those_that_it_reads() {
        let topics = Topics::with_prefix("t.");
        let names =
            |needed: Vec<TopicSpec>| needed.into_iter().map(|t| (t.name, t.partitions)).collect::<Vec<_>>();
        let silent = needed_topics(&topics, Stream::Payments, None);
        assert_eq!(names(silent), [("t.payments.events".to_owned(), Topics::PARTITIONS)]);
        let reactions = Consumer::of("orders").ignoring::<StockReserved>();
        let listening = names(needed_topics(&topics, Stream::Orders, Some(&reactions)));
        assert_eq!(
            listening,
            [
                ("t.orders.events".to_owned(), Topics::PARTITIONS),
                ("t.inventory.events".to_owned(), Topics::PARTITIONS),
                ("t.orders.dlq".to_owned(), 1),
            ]
        );
    }
}
