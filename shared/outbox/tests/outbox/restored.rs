//! A database that is an earlier one than the relay has seen: restored from a dump, copied, or promoted.

use chrono::{DateTime, Utc};
use contracts::{OrderId, streams};
use database::functions::clock_timestamp;
use database::{Database, Settings};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use testkit::{Proxy, TestDatabase, TestTopics, eventually};
use tokio::runtime::Handle;

use crate::common::{
    append_one, confirmed, count, first_occurrences, patient, progress, relay, settings, short_lived,
    wait_for, write,
};

/// A dump that was restored on another server: the row of the cursor still names the server of the dump.
const FROM_ANOTHER_SERVER: &str = "UPDATE outbox_cursor SET server = '1234567890/00000001/5'";

/// A dump brings the numbers of another server. The relay compares no number across sessions. What was published may be lost at a
/// consumer that was restored, too.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_restore_every_row_is_published_old_and_new() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let first = relay(&database, &topics, settings());
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    wait_for(&topics, streams::ORDERS, 1).await;
    first.stop().await;
    let waiting = OrderId::generate();
    append_one(&database, 1, &confirmed(waiting)).await;
    let mut owner = database.owner().await;
    owner.batch_execute(FROM_ANOTHER_SERVER).await.unwrap();
    owner.batch_execute("UPDATE outbox_event SET xid = ('9000000000' || id::text)::xid8").await.unwrap();
    let relay = relay(&database, &topics, settings());
    let new = OrderId::generate();
    append_one(&database, 1, &confirmed(new)).await;
    wait_for(&topics, streams::ORDERS, 4).await; // the first one again
    relay.stop().await;
    let published = first_occurrences(&topics.messages(streams::ORDERS).await);
    assert!(published.contains_key(&waiting.uuid()) && published.contains_key(&new.uuid()), "{published:?}");
}

/// A standby without the last rows takes over, and gives their ids again. Here the row is removed, and the sequence put back, while the
/// relay is cut off.
#[tokio::test(flavor = "multi_thread")]
async fn ids_that_a_lagging_standby_gives_again_are_published() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let proxy = Proxy::to_postgres().await;
    let url = database.service_url(Some(proxy.address()));
    let through = Database::new(&Settings::new(url), Handle::current()).unwrap();
    let relay = relay(&through, &topics, short_lived());
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    let replicated = eventually("a cursor behind the first row", async || {
        Some(progress(&database).await).filter(|progress| progress.position == 1)
    })
    .await;
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    eventually("the second row", async || (progress(&database).await.position == 2).then_some(())).await;

    proxy.cut().await;
    let promoted = format!(
        "DELETE FROM outbox_event WHERE id = 2; SELECT setval('outbox_event_id_seq', 1); \
         UPDATE outbox_cursor SET position = {}, gaps = '{}'",
        replicated.position, replicated.gaps
    );
    database.owner().await.batch_execute(&promoted).await.unwrap();
    let given_again = OrderId::generate();
    append_one(&database, 1, &confirmed(given_again)).await;
    proxy.mend();
    wait_for(&topics, streams::ORDERS, 3).await;
    relay.stop().await;
    let published = first_occurrences(&topics.messages(streams::ORDERS).await);
    assert!(published.contains_key(&given_again.uuid()), "{published:?}");
}

/// Logical replication copies the rows, and not the position of the sequence.
#[tokio::test(flavor = "multi_thread")]
async fn if_the_sequence_went_back_the_relay_waits_for_writers_and_publishes_every_row_again() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let first = relay(&database, &topics, settings());
    for _ in 0..2 {
        append_one(&database, 1, &confirmed(OrderId::generate())).await;
    }
    wait_for(&topics, streams::ORDERS, 2).await;
    first.stop().await;
    database.owner().await.batch_execute("SELECT setval('outbox_event_id_seq', 1, false)").await.unwrap();
    let early = OrderId::generate();
    let mut open = patient(&database).begin().await.unwrap();
    write(&mut open, 1, &confirmed(early)).await; // with the id of the first row
    let relay = relay(&database, &topics, settings());
    eventually("a relay that waits for the writer", async || {
        let waits = "SELECT count(*) AS count FROM pg_locks WHERE NOT granted AND mode = 'ShareLock' \
                        AND relation = 'outbox_event'::regclass \
                        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        (count(&database, waits).await == 1).then_some(())
    })
    .await;
    open.commit().await.unwrap();
    wait_for(&topics, streams::ORDERS, 5).await; // two rows again, and the new one
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    wait_for(&topics, streams::ORDERS, 6).await;
    relay.stop().await;
    let published = first_occurrences(&topics.messages(streams::ORDERS).await);
    assert!(published.contains_key(&early.uuid()), "{published:?}");
}

/// The service asks before the relay has noted the restore, afterwards, and without a restore.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_learns_that_its_database_was_restored_after_a_time() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    database.owner().await.batch_execute(FROM_ANOTHER_SERVER).await.unwrap();
    let before = now(&database).await;
    assert!(is_restored_since(&database, before).await);
    let relay = relay(&database, &topics, settings());
    eventually("the server in the cursor's row", async || {
        let noted = "SELECT count(*) AS count FROM outbox_cursor WHERE server = outbox_server()";
        (count(&database, noted).await == 1).then_some(())
    })
    .await;
    assert!(is_restored_since(&database, before).await);
    assert!(!is_restored_since(&database, now(&database).await).await, "a later time");
    relay.stop().await;
    let other = TestDatabase::plain().await;
    assert!(!is_restored_since(&other, before).await);
}

async fn now(database: &Database) -> DateTime<Utc> {
    diesel::select(clock_timestamp()).get_result(&mut database.connection().await.unwrap()).await.unwrap()
}

async fn is_restored_since(database: &Database, time: DateTime<Utc>) -> bool {
    let mut tx = database.begin().await.unwrap();
    let is_restored = outbox::is_restored_since(&mut tx, time).await.unwrap();
    tx.rollback().await.unwrap();
    is_restored
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_begins_again_on_the_same_server_repeats_nothing() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    for position in 1..=2 {
        let relay = relay(&database, &topics, short_lived());
        append_one(&database, 1, &confirmed(OrderId::generate())).await;
        eventually("a drained outbox", async || {
            let progress = progress(&database).await;
            (progress.position == position && progress.gaps == "{}").then_some(())
        })
        .await;
        relay.stop().await;
    }
    assert_eq!(topics.count(streams::ORDERS).await, 2, "none twice");
}
