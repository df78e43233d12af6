//! Two connections, released together, a hundred times.

use std::sync::Arc;

use database::{Database, Tx};
use futures_util::future::join_all;
use idempotency::{KeyedRequest, Operation, Outcome, Retention, StoredResponse};
use testkit::{TestDatabase, eventually};
use tokio::sync::Barrier;

use crate::shop::{self, Runs, effects, intent, records, send};

const ROUNDS: usize = 100;

/// Two pools, as two instances of the service have them.
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

    /// Sends both at the same moment, each over its own connection.
    async fn run(&self, intents: [KeyedRequest; 2]) -> [Outcome; 2] {
        let start = Arc::new(Barrier::new(2));
        let sent = self.instances.iter().zip(intents).map(|(instance, intent)| {
            let (start, runs, database) = (Arc::clone(&start), self.runs.clone(), instance.clone());
            instance.spawn(async move {
                let command = async move |tx: &mut Tx, operation: &Operation| {
                    runs.add();
                    shop::order(tx, operation).await
                };
                start.wait().await;
                idempotency::execute(&database, Retention::default(), intent, command).await.unwrap()
            })
        });
        let answers: Vec<Outcome> = join_all(sent).await.into_iter().map(Result::unwrap).collect();
        answers.try_into().unwrap()
    }
}

fn key(round: usize) -> String {
    format!("00000000-0000-4000-8000-{round:012}")
}

/// What was carried out, of two answers of which one at least was.
fn executed(answers: &[Outcome]) -> StoredResponse {
    let mut executed = answers.iter().filter_map(|answer| match answer {
        Outcome::Executed(receipt) => Some(receipt.clone()),
        _ => None,
    });
    let first = executed.next().unwrap_or_else(|| panic!("nobody was carried out: {answers:?}"));
    assert_eq!(executed.next(), None, "both were carried out");
    first
}

/// Whoever is told "in progress" waits and sends again.
async fn insist(database: &Database, intent: &KeyedRequest) -> Outcome {
    eventually("the request in progress ends", async || match send(database, intent.clone()).await.unwrap() {
        Outcome::InProgress => None,
        answer => Some(answer),
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_parallel_requests_one_is_carried_out_and_the_others_wait_or_replay() {
    let database = shop::open().await;
    let race = Race::prepare(&database).await;
    for round in 0..ROUNDS {
        let intent = intent(&key(round), "a");
        let answers = race.run([intent.clone(), intent.clone()]).await;
        let first = executed(&answers);
        for answer in answers {
            match answer {
                Outcome::Executed(_) | Outcome::InProgress => {}
                Outcome::Replayed { response: receipt, .. } => assert_eq!(receipt, first),
                other => panic!("round {round}: {other:?}"),
            }
        }
        let again = insist(&database, &intent).await;
        assert!(
            matches!(again, Outcome::Replayed { response: receipt, .. } if receipt == first),
            "round {round}"
        );
    }
    let rounds = i64::try_from(ROUNDS).unwrap();
    assert_eq!((effects(&database).await, records(&database).await), (rounds, rounds));
    // Not even tried twice: the lock comes before the command, and the look after the lock.
    assert_eq!(race.runs.number(), ROUNDS);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_requests_with_one_key_one_wins_and_the_other_is_refused() {
    let database = shop::open().await;
    let race = Race::prepare(&database).await;
    for round in 0..ROUNDS {
        let intents = [intent(&key(round), "a"), intent(&key(round), "b")];
        let answers = race.run(intents.clone()).await;
        let first = executed(&answers);
        for (answer, intent) in answers.into_iter().zip(intents) {
            match answer {
                Outcome::Executed(_) => {
                    let again = send(&database, intent).await.unwrap();
                    assert!(matches!(again, Outcome::Replayed { response: receipt, .. } if receipt == first));
                }
                Outcome::InProgress | Outcome::Reused => {
                    assert_eq!(insist(&database, &intent).await, Outcome::Reused, "round {round}");
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
async fn fifty_keys_with_the_same_request_are_fifty_intents() {
    let database = shop::open().await;
    let sent = (0..50).map(async |number| send(&database, intent(&key(number), "a")).await);
    let answers = join_all(sent).await;
    assert!(answers.iter().all(|answer| matches!(answer, Ok(Outcome::Executed(_)))), "{answers:?}");
    assert_eq!(effects(&database).await, 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_requests_with_the_same_key_have_one_effect() {
    let database = shop::open().await;
    let answers = join_all((0..50).map(|_| send(&database, intent(&key(0), "a")))).await;
    let answers: Vec<Outcome> = answers.into_iter().map(Result::unwrap).collect();
    let first = executed(&answers);
    for answer in answers {
        assert!(!matches!(answer, Outcome::Reused | Outcome::Expired | Outcome::Refused(_)), "{answer:?}");
    }
    let again = send(&database, intent(&key(0), "a")).await.unwrap();
    assert!(matches!(again, Outcome::Replayed { response: receipt, .. } if receipt == first));
    assert_eq!(effects(&database).await, 1);
}
