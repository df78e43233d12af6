//! Two requests at the same moment, a hundred times.

use std::sync::Arc;

use database::{Database, Tx};
use futures_util::future::join_all;
use idempotency::{KeyedRequest, Operation, Outcome, Retention, StoredResponse};
use testkit::{TestDatabase, eventually};
use tokio::sync::Barrier;

use crate::shop::{self, Runs, effects, records, request, send};

const ROUNDS: usize = 100;

/// Two pools, as of two instances.
struct Race {
    instances: [Database; 2],
    runs: Runs,
}

impl Race {
    async fn prepare(database: &TestDatabase) -> Self {
        let instances = [database.second_instance(), database.second_instance()];
        for instance in &instances {
            instance.ping().await.unwrap();
        }
        Self { instances, runs: Runs::default() }
    }

    /// Sends both requests at the same moment, each over its own connection.
    async fn run(&self, requests: [KeyedRequest; 2]) -> [Outcome; 2] {
        let start = Arc::new(Barrier::new(2));
        let sent = self.instances.iter().zip(requests).map(|(instance, request)| {
            let (start, runs, database) = (Arc::clone(&start), self.runs.clone(), instance.clone());
            instance.spawn(async move {
                let command = async move |tx: &mut Tx, operation: &Operation| {
                    runs.add();
                    shop::order(tx, operation).await
                };
                start.wait().await;
                idempotency::execute(&database, Retention::default(), request, command).await.unwrap()
            })
        });
        let outcomes: Vec<Outcome> = join_all(sent).await.into_iter().map(Result::unwrap).collect();
        outcomes.try_into().unwrap()
    }
}

fn key(round: usize) -> String {
    format!("00000000-0000-4000-8000-{round:012}")
}

/// Returns the executed response of the two outcomes. At least one must be executed.
fn executed(outcomes: &[Outcome]) -> StoredResponse {
    let mut executed = outcomes.iter().filter_map(|outcome| match outcome {
        Outcome::Executed(stored) => Some(stored.clone()),
        _ => None,
    });
    let first = executed.next().unwrap_or_else(|| panic!("no request was executed: {outcomes:?}"));
    assert_eq!(executed.next(), None, "both were carried out");
    first
}

/// Sends again while the outcome is "in progress".
async fn insist(database: &Database, request: &KeyedRequest) -> Outcome {
    eventually("the request in progress ends", async || {
        match send(database, request.clone()).await.unwrap() {
            Outcome::InProgress => None,
            outcome => Some(outcome),
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_parallel_requests_one_is_executed_and_the_others_get_409_or_its_response() {
    let database = shop::open().await;
    let race = Race::prepare(&database).await;
    for round in 0..ROUNDS {
        let request = request(&key(round), "a");
        let outcomes = race.run([request.clone(), request.clone()]).await;
        let first = executed(&outcomes);
        for outcome in outcomes {
            match outcome {
                Outcome::Executed(_) | Outcome::InProgress => {}
                Outcome::Replayed { response: stored, .. } => assert_eq!(stored, first),
                other => panic!("round {round}: {other:?}"),
            }
        }
        let again = insist(&database, &request).await;
        assert!(
            matches!(again, Outcome::Replayed { response: stored, .. } if stored == first),
            "round {round}"
        );
    }
    let rounds = i64::try_from(ROUNDS).unwrap();
    assert_eq!((effects(&database).await, records(&database).await), (rounds, rounds));
    // The command ran once, because the executor takes the lock before it reads the record and runs the command.
    assert_eq!(race.runs.number(), ROUNDS);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_requests_with_one_key_one_wins_and_the_other_is_refused() {
    let database = shop::open().await;
    let race = Race::prepare(&database).await;
    for round in 0..ROUNDS {
        let requests = [request(&key(round), "a"), request(&key(round), "b")];
        let outcomes = race.run(requests.clone()).await;
        let first = executed(&outcomes);
        for (outcome, request) in outcomes.into_iter().zip(requests) {
            match outcome {
                Outcome::Executed(_) => {
                    let again = send(&database, request).await.unwrap();
                    assert!(matches!(again, Outcome::Replayed { response: stored, .. } if stored == first));
                }
                Outcome::InProgress | Outcome::Reused => {
                    assert_eq!(insist(&database, &request).await, Outcome::Reused, "round {round}");
                }
                other => panic!("round {round}: {other:?}"),
            }
        }
    }
    let rounds = i64::try_from(ROUNDS).unwrap();
    assert_eq!((effects(&database).await, records(&database).await), (rounds, rounds));
    assert_eq!(race.runs.number(), ROUNDS);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_keys_with_the_same_request_are_fifty_commands() {
    let database = shop::open().await;
    let sent = (0..50).map(async |number| send(&database, request(&key(number), "a")).await);
    let outcomes = join_all(sent).await;
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(Outcome::Executed(_)))), "{outcomes:?}");
    assert_eq!(effects(&database).await, 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_requests_with_the_same_key_have_one_effect() {
    let database = shop::open().await;
    let outcomes = join_all((0..50).map(|_| send(&database, request(&key(0), "a")))).await;
    let outcomes: Vec<Outcome> = outcomes.into_iter().map(Result::unwrap).collect();
    let first = executed(&outcomes);
    for outcome in outcomes {
        assert!(!matches!(outcome, Outcome::Reused | Outcome::Expired | Outcome::Refused(_)), "{outcome:?}");
    }
    let again = send(&database, request(&key(0), "a")).await.unwrap();
    assert!(matches!(again, Outcome::Replayed { response: stored, .. } if stored == first));
    assert_eq!(effects(&database).await, 1);
}
