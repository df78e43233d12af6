//! The start-up, from "listening" to "ready": PostgreSQL, migrations, deployment, jobs, Kafka and its topics, relay,
//! consumer.
//!
//! A server that is not reachable is waited for without limit. A wrong configuration ends the start-up.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use database::MigrateError;
use edge::{Authenticator, JwksError};
use envelope::{Stream, Topics};
use idempotency::ReplayCache;
use inbox::{Consumer, Runner, RunnerSettings};
use messaging::topics::{TopicSpec, ensure};
use outbox::{Relay, RelaySettings};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::deployment::Identity;
use crate::process::Process;
use crate::schema::{migrations, pending, versions};
use crate::wait::{WaitError, wait_for};
use crate::{HousekeepingJob, Job, Service, housekeeping};

/// The pause between two confirmations of the replay cache. Several may fail before its replays end.
const REPLAYS_CONFIRMED: Duration = Duration::from_secs(2);

/// The time limit for the first question to a broker.
const BROKER_TIMEOUT: Duration = Duration::from_secs(2);

/// The pause between two checks of the broker, and the time limit of one.
const BROKER_CHECK: Duration = Duration::from_secs(5);

/// The time without partitions after which a log line says so. A group waits so long for a member that has died.
const JOIN_TIMEOUT: Duration = Duration::from_secs(6);

impl Process {
    /// Waits until the database answers and all migrations are applied. Applies them if `migration_url` is set. Then reads can be
    /// answered.
    pub(crate) async fn open_database<S: Service>(&self) -> Result<(), String> {
        wait_for("PostgreSQL", || async {
            self.pools.operators.ping().await.map_err(|error| {
                WaitError::Transient(format!(
                    "{error}; is it running, and does IDEM_DATABASE__URL lead to it?"
                ))
            })
        })
        .await?;
        wait_for("a usable session", || self.has_usable_sessions()).await?;
        match &self.migration_url {
            Some(url) => wait_for("the migrations", || migrate::<S>(url)).await?,
            None => wait_for("the migrations", || self.migrated::<S>()).await?,
        }
        // Before requests are processed, so that no command is refused at a usual start.
        if wait_for("the deployment", || self.identity())
            .await?
            .refusal(S::NAME, self.topics.deployment())
            .is_none()
        {
            self.health.adopted();
        }
        self.health.migrated();
        tracing::info!("the database is open");
        Ok(())
    }

    /// Waits until the database is the one of this deployment. Returns its id.
    pub(crate) async fn adopted<S: Service>(&self) -> Result<Uuid, String> {
        let id = wait_for("the adoption of the database", || async {
            let identity = self.identity().await?;
            match identity.refusal(S::NAME, self.topics.deployment()) {
                Some(refusal) => Err(WaitError::Transient(refusal)),
                None => Ok(identity.id),
            }
        })
        .await?;
        self.health.adopted();
        self.start_housekeeping(housekeeping::schedule(&self.retention));
        Ok(id)
    }

    async fn identity(&self) -> Result<Identity, WaitError> {
        let identity = Identity::claim(&self.pools.operators, self.topics.deployment()).await;
        identity.map_err(|error| WaitError::Transient(error.to_string()))
    }

    pub(crate) fn start_housekeeping(&self, jobs: Vec<HousekeepingJob>) {
        for job in jobs {
            self.work.keep(job.name, job.run(self.pools.housekeeping.clone(), self.work.stop_token()));
        }
    }

    /// Checks that sessions have their timeouts, and that errors of the server can be classified.
    async fn has_usable_sessions(&self) -> Result<(), WaitError> {
        match self.pools.operators.unusable_session().await {
            Ok(None) => Ok(()),
            Ok(Some(fault)) => Err(WaitError::Permanent(fault.to_string())),
            Err(error) => Err(WaitError::Transient(error.to_string())),
        }
    }

    /// Checks whether another process has applied the migrations.
    async fn migrated<S: Service>(&self) -> Result<(), WaitError> {
        let expected = versions(migrations::<S>()).map_err(WaitError::Permanent)?;
        match pending(&self.pools.operators, expected).await {
            Ok(0) => Ok(()),
            Ok(number) => Err(WaitError::Transient(format!(
                "{number} pending; run `{} migrate`, or set IDEM_DATABASE__MIGRATION_URL",
                S::NAME
            ))),
            Err(error) => {
                Err(WaitError::Transient(format!("{error}; run `{} migrate` if it was never run", S::NAME)))
            }
        }
    }

    /// Lets replays come from memory for as long as the database confirms that no response was taken back.
    pub(crate) fn start_replays(&self) {
        let database = self.pools.operators.clone();
        let confirm = move |_| {
            let database = database.clone();
            async move { ReplayCache::confirm(&database).await }
        };
        self.start_jobs(vec![Job::every("replay cache", REPLAYS_CONFIRMED, confirm)]);
    }

    /// Waits for the keys that check tokens, and then refreshes them periodically.
    pub(crate) fn start_keys(&self, authenticator: Arc<Authenticator>, every: Duration) {
        let (health, stop) = (Arc::clone(&self.health), self.work.stop_token());
        let keys = async move {
            if !authenticator.has_keys() {
                wait_for("the key set", || first_keys(&authenticator)).await?;
            }
            health.set_keys_read(true);
            authenticator.keep_fresh(every, |are_read| health.set_keys_read(are_read)).await;
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
    pub(crate) async fn open_topics<S: Service>(&self, consumer: Option<&Consumer>) -> Result<(), String> {
        let topics = needed_topics(&self.topics, S::STREAM, consumer);
        wait_for("Kafka", || async {
            // The short question first, so that an unreachable broker is reported soon.
            let open = async {
                messaging::health(&self.brokers, BROKER_TIMEOUT).await?;
                ensure(&self.brokers, &topics).await
            };
            open.await.map_err(|error| match error {
                messaging::Error::Configuration { .. } | messaging::Error::PartitionCount { .. } => {
                    WaitError::Permanent(error.to_string())
                }
                error => WaitError::Transient(error.to_string()),
            })
        })
        .await?;
        self.health.set_broker_reachable(true);
        tracing::info!("the topics are open");
        self.start_broker_watch();
        Ok(())
    }

    /// Reports to `health` whether the broker answers. The Kafka clients log its outages themselves.
    fn start_broker_watch(&self) {
        let (brokers, health) = (self.brokers.clone(), Arc::clone(&self.health));
        let check = move |stop: CancellationToken| {
            let (brokers, health) = (brokers.clone(), Arc::clone(&health));
            async move {
                let checked = stop.run_until_cancelled(messaging::health(&brokers, BROKER_CHECK)).await;
                if let Some(checked) = checked {
                    health.set_broker_reachable(checked.is_ok());
                }
                Ok::<(), Infallible>(())
            }
        };
        self.start_jobs(vec![Job::every("broker watch", BROKER_CHECK, check)]);
    }

    /// Starts the consumer, and waits until its group has assigned it partitions once.
    pub(crate) async fn start_inbox(
        &self,
        consumer: Consumer,
        settings: RunnerSettings,
    ) -> Result<(), String> {
        let runner = Runner::join(self.pools.inbox.clone(), &self.brokers, &self.topics, consumer, settings)
            .map_err(|error| error.to_string())?;
        let (joined, stop) = (runner.joined(), self.work.stop_token());
        self.work.keep("inbox", async move {
            runner.run(stop).await;
            Ok(())
        });
        wait_for("the consumer group", async || {
            let assigned = tokio::time::timeout(JOIN_TIMEOUT, joined.wait()).await;
            assigned.map(drop).map_err(|_| WaitError::Transient("no partitions are assigned yet".to_owned()))
        })
        .await
    }

    pub(crate) fn start_relay(&self, settings: RelaySettings) {
        let (database, brokers) = (self.pools.relay.clone(), self.brokers.clone());
        let relay = Relay::new(database, brokers, self.topics.clone(), settings);
        let stop = self.relay.stop_token();
        self.relay.keep("relay", async move {
            relay.run(stop).await;
            Ok(())
        });
    }
}

async fn migrate<S: Service>(url: &SecretString) -> Result<(), WaitError> {
    database::migrate(url, migrations::<S>()).await.map_err(|error| match error {
        MigrateError::Connect(_) => {
            WaitError::Transient(format!("{error}; does IDEM_DATABASE__MIGRATION_URL lead to it?"))
        }
        MigrateError::Lock(_) | MigrateError::Busy(_) => WaitError::Transient(error.to_string()),
        MigrateError::Migration(_) => WaitError::Permanent(error.to_string()),
    })
}

/// Reads the first key set. An unusable key set is a configuration error, because waiting does not change it.
async fn first_keys(authenticator: &Authenticator) -> Result<(), WaitError> {
    authenticator.refresh().await.map_err(|error| match error {
        JwksError::Read { .. } => WaitError::Transient(format!("{error}; does IDEM_AUTH__JWKS lead to it?")),
        JwksError::Unusable { .. } | JwksError::Location(_) => {
            WaitError::Permanent(format!("IDEM_AUTH__JWKS must be the path or URL of a key set: {error}"))
        }
    })
}

/// The topics of the service: its own events, the events that it reads, and its dead letters.
pub(crate) fn needed_topics(topics: &Topics, own: Stream, consumer: Option<&Consumer>) -> Vec<TopicSpec> {
    let mut streams = vec![own];
    streams.extend(consumer.into_iter().flat_map(Consumer::streams));
    streams.sort_unstable();
    streams.dedup();
    let mut needed: Vec<TopicSpec> =
        streams.into_iter().map(|stream| TopicSpec::new(topics.events(stream), Topics::PARTITIONS)).collect();
    needed.extend(consumer.map(|consumer| TopicSpec::new(topics.dead_letters(consumer.name()), 1)));
    needed
}

#[cfg(test)]
mod tests {
    use contracts::events::StockReserved;
    use contracts::streams;

    use super::*;

    #[test]
    fn a_service_needs_its_own_topic_and_those_that_it_reads() {
        let topics = Topics::of("t");
        let names =
            |needed: Vec<TopicSpec>| needed.into_iter().map(|t| (t.name, t.partitions)).collect::<Vec<_>>();
        let silent = needed_topics(&topics, streams::INVENTORY, None);
        assert_eq!(names(silent), [("t.inventory.events".to_owned(), Topics::PARTITIONS)]);
        let consumer = Consumer::of("orders").ignoring::<StockReserved>();
        let listening = names(needed_topics(&topics, streams::ORDERS, Some(&consumer)));
        assert_eq!(
            listening,
            [
                ("t.inventory.events".to_owned(), Topics::PARTITIONS),
                ("t.orders.events".to_owned(), Topics::PARTITIONS),
                ("t.orders.dlq".to_owned(), 1),
            ]
        );
    }
}
