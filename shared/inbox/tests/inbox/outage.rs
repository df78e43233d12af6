//! An outage of the database: all messages wait. None is parked or lost.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use contracts::OrderId;
use contracts::events::OrderConfirmed;
use database::{Database, Error, Settings, Tx};
use diesel_async::SimpleAsyncConnection;
use envelope::Message;
use inbox::{Consumer, HandlerError, Runner, RunnerSettings, no_locks};
use testkit::{Background, Proxy, TestDatabase, TestTopics, eventually};
use tokio::runtime::Handle;

use crate::common::{
    CONSUMER, confirmed, database, effects, parked, publish, record, record_effect, recording, run, settings,
    wait_for_effects, wait_until_done,
};

/// The consumer's database, behind a proxy that the test can cut.
fn through(proxy: &Proxy, database: &TestDatabase) -> Database {
    let url = database.service_url(Some(proxy.address()));
    Database::new(&Settings::new(url), Handle::current()).unwrap()
}

/// The first messages of many aggregates, over all partitions.
async fn post_some(topics: &TestTopics, messages: usize) {
    let records: Vec<_> = std::iter::repeat_with(|| record(topics, 1, &confirmed(OrderId::generate())))
        .take(messages)
        .collect();
    publish(topics, &records).await;
}

/// Waits until each message has failed more often than the limit for permanent failures allows.
async fn outlast_the_attempts(proxy: &Proxy) {
    let before = proxy.refused();
    eventually("many failed attempts", async || (proxy.refused() > before + 100).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_outage_parks_nothing() {
    let (database, topics, proxy) =
        (database().await, TestTopics::create().await, Proxy::to_postgres().await);
    let runner = run(&through(&proxy, &database), &topics, recording("one"));
    post_some(&topics, 20).await;
    wait_for_effects(&database, 20).await;

    proxy.cut().await;
    post_some(&topics, 20).await;
    outlast_the_attempts(&proxy).await;
    proxy.mend();
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await.len(), 40);
    assert!(parked(&database).await.is_empty());
}

/// Transient failures never park a message, even if there are more of them than attempts.
#[tokio::test(flavor = "multi_thread")]
async fn an_outage_costs_no_attempts() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let outages: [fn(String) -> Error; 3] = [Error::Unavailable, Error::Contention, Error::CommitUnknown];
    let failures: Vec<Error> =
        outages.iter().cycle().take(15).map(|outage| outage("away".to_owned())).collect();
    let failures = Arc::new(Mutex::new(failures));
    let left = Arc::clone(&failures);
    let consumer =
        Consumer::of(CONSUMER).on(no_locks, async move |tx: &mut Tx, m: &Message<OrderConfirmed>| {
            record_effect(tx, "one", m).await?;
            let failure = failures.lock().unwrap().pop();
            failure.map_or(Ok(()), |error| Err(error.into()))
        });
    post_some(&topics, 1).await;
    let runner = run(&database, &topics, consumer);
    wait_until_done(&topics).await;
    runner.stop().await;
    assert!(left.lock().unwrap().is_empty());
    assert!(parked(&database).await.is_empty());
    assert_eq!(effects(&database).await.len(), 1);
}

/// The handler's statement fails with each of these errors. Of these, a message is to blame for none.
const SERVER_ERRORS: [(&str, &str); 8] = [
    ("53100", "could not extend file \"base/16384/1\": No space left on device"),
    ("53200", "out of memory"),
    ("57014", "canceling statement due to statement timeout"),
    ("55P03", "canceling statement due to lock timeout"),
    ("25006", "cannot execute INSERT in a read-only transaction"),
    ("58030", "could not read block 0 in file \"base/16384/1\""),
    ("42P01", "relation \"stock\" does not exist"),
    ("XX000", "an unknown error"),
];

async fn raise(tx: &mut Tx, (code, message): (&str, &str)) -> Result<(), HandlerError> {
    let raise = format!("DO $$ BEGIN RAISE '{message}' USING ERRCODE = '{code}'; END $$");
    tx.batch_execute(&raise).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_the_server_cost_no_attempts() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let failures = Arc::new(Mutex::new(SERVER_ERRORS.repeat(2)));
    let left = Arc::clone(&failures);
    let consumer =
        Consumer::of(CONSUMER).on(no_locks, async move |tx: &mut Tx, m: &Message<OrderConfirmed>| {
            record_effect(tx, "one", m).await?;
            let failure = failures.lock().unwrap().pop();
            match failure {
                Some(failure) => raise(tx, failure).await,
                None => Ok(()),
            }
        });
    post_some(&topics, 1).await;
    let runner = run(&database, &topics, consumer);
    wait_until_done(&topics).await;
    runner.stop().await;
    assert!(left.lock().unwrap().is_empty());
    assert!(parked(&database).await.is_empty(), "{:?}", parked(&database).await);
    assert_eq!(effects(&database).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_data_are_attempts() {
    let errors = [("22003", "integer out of range"), ("23514", "a rule of the table refuses the row")];
    for error in errors {
        let (database, topics) = (database().await, TestTopics::create().await);
        let consumer = Consumer::of(CONSUMER)
            .on(no_locks, async move |tx: &mut Tx, _: &Message<OrderConfirmed>| raise(tx, error).await);
        post_some(&topics, 1).await;
        let runner = run(&database, &topics, consumer);
        wait_until_done(&topics).await;
        runner.stop().await;
        assert_eq!(parked(&database).await.len(), 1, "{error:?}");
    }
}

/// The handler of one order always times out. All messages are in one partition.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_handler_always_times_out_does_not_hold_its_partition_for_ever() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let slow = OrderId::generate();
    let orders = [OrderId::generate(), slow, OrderId::generate()];
    let same = orders.map(|order| record(&topics, 1, &confirmed(order)).keyed("all in one partition"));
    publish(&topics, &same).await;
    let consumer =
        Consumer::of(CONSUMER).on(no_locks, async move |tx: &mut Tx, m: &Message<OrderConfirmed>| {
            if m.data.order == slow {
                return raise(tx, ("57014", "canceling statement due to statement timeout")).await;
            }
            record_effect(tx, "one", m).await
        });
    let settings = RunnerSettings { handler_limit: Duration::from_millis(300), ..settings() };
    let runner = Runner::join(database.clone(), &topics.brokers(), &topics, consumer, settings).unwrap();
    let runner = Background::run(|stop| async move { runner.run(stop).await });
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await, [(orders[0].uuid(), 1), (orders[2].uuid(), 1)]);
    let parked = parked(&database).await;
    assert_eq!(parked.iter().map(|row| row.aggregate_id).collect::<Vec<_>>(), [slow.uuid()]);
    assert!(parked[0].error.as_ref().unwrap().contains("statement timeout"), "{parked:?}");
}

/// The batch of ten fails once, so its halves are tried. The stop arrives during the first one.
#[tokio::test(flavor = "multi_thread")]
async fn a_runner_that_stops_gives_the_rest_of_its_batch_back() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let records: Vec<_> = std::iter::repeat_with(OrderId::generate)
        .take(10)
        .map(|order| record(&topics, 1, &confirmed(order)).keyed("all in one partition"))
        .collect();
    publish(&topics, &records).await;
    let (tables, names) = (database.clone(), (*topics).clone());
    let brokers = topics.brokers();
    let runner = Background::run(|stop| {
        let (token, calls) = (stop.clone(), Arc::new(AtomicUsize::new(0)));
        let consumer =
            Consumer::of(CONSUMER).on(no_locks, async move |tx: &mut Tx, m: &Message<OrderConfirmed>| {
                if AtomicUsize::fetch_add(&calls, 1, Ordering::SeqCst) == 0 {
                    return Err(Error::Contention("away".to_owned()).into());
                }
                token.cancel();
                record_effect(tx, "one", m).await
            });
        let runner = Runner::join(tables, &brokers, &names, consumer, settings()).unwrap();
        async move { runner.run(stop).await }
    });
    wait_for_effects(&database, 1).await;
    runner.stop().await;
    assert_eq!(effects(&database).await.len(), 5);

    let successor = run(&database, &topics, recording("another"));
    wait_until_done(&topics).await;
    successor.stop().await;
    assert_eq!(effects(&database).await.len(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_uncommitted_batch_is_delivered_to_the_next_member() {
    let (database, topics, proxy) =
        (database().await, TestTopics::create().await, Proxy::to_postgres().await);
    proxy.cut().await;
    let runner = run(&through(&proxy, &database), &topics, recording("one"));
    post_some(&topics, 20).await;
    outlast_the_attempts(&proxy).await;
    runner.stop().await; // it leaves the group with what it has committed: nothing
    assert!(effects(&database).await.is_empty());

    let successor = run(&database, &topics, recording("another"));
    wait_until_done(&topics).await;
    successor.stop().await;
    assert_eq!(effects(&database).await.len(), 20);
    assert!(parked(&database).await.is_empty());
}

/// Connections break at every moment of a transaction, including COMMIT.
#[tokio::test(flavor = "multi_thread")]
async fn connections_that_break_again_and_again_lose_and_double_nothing() {
    let (database, topics, proxy) =
        (database().await, TestTopics::create().await, Proxy::to_postgres().await);
    let runner = run(&through(&proxy, &database), &topics, recording("one"));
    let mut posted = 0;
    for _ in 0..10 {
        post_some(&topics, 20).await;
        posted += 20;
        let at_least = effects(&database).await.len() + 1;
        wait_for_effects(&database, at_least).await;
        proxy.cut().await;
        proxy.mend();
    }
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await.len(), posted);
    assert!(parked(&database).await.is_empty());
}
