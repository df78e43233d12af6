//! An idle relay writes nothing to its cursor, and a busy one writes a few times a second.

use std::time::Duration;

use contracts::{OrderId, streams};
use diesel_async::SimpleAsyncConnection;
use outbox::RelaySettings;
use testkit::{TestDatabase, TestTopics, eventually};

use crate::common::{append_one, confirmed, count, is_at_the_start, progress, relay, settings, wait_for};

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_relay_writes_nothing_to_its_cursor() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    // It renews its lease every 600 ms: that shows that it is at work.
    let settings =
        RelaySettings { lease: Duration::from_secs(3), idle_poll: Duration::from_millis(5), ..settings() };
    let relay = relay(&database, &topics, settings);
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    wait_for(&topics, streams::ORDERS, 1).await;
    let settled = eventually("the end of the window", async || {
        let progress = progress(&database).await;
        (!is_at_the_start(&progress) && progress.snapshot_b.is_none()).then_some(progress)
    })
    .await;
    let mut last = settled.lease_until;
    for _ in 0..3 {
        last = eventually("a renewed lease", async || {
            // Others go on writing, so each look at the log is another window.
            count(&database, "SELECT pg_current_xact_id()::text::bigint AS count").await;
            let now = progress(&database).await;
            assert_eq!(now.written_by, settled.written_by, "the cursor's row was written: {now:?}");
            (now.lease_until != last).then_some(now.lease_until)
        })
        .await;
    }
    relay.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_relay_does_not_write_its_cursor_after_each_message() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let relay =
        relay(&database, &topics, RelaySettings { checkpoint: Duration::from_mins(10), ..settings() });
    let publish = async |number| {
        append_one(&database, 1, &confirmed(OrderId::generate())).await;
        wait_for(&topics, streams::ORDERS, number).await;
        progress(&database).await
    };
    let before = publish(1).await;
    for number in 2..=5 {
        publish(number).await;
    }
    let busy = publish(6).await;
    assert_eq!(busy.written_by, before.written_by, "the cursor's row was written: {busy:?}");
    relay.stop().await;
    let stopped = progress(&database).await;
    assert!(!is_at_the_start(&stopped), "what was published was not written down at the end: {stopped:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cursor_is_written_at_the_end_of_a_backlog() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let settings = RelaySettings { checkpoint: Duration::from_mins(10), page: 10, ..settings() };
    for _ in 0..20 {
        append_one(&database, 1, &confirmed(OrderId::generate())).await;
    }
    let relay = relay(&database, &topics, settings);
    eventually("the cursor", async || (!is_at_the_start(&progress(&database).await)).then_some(())).await;
    relay.stop().await;
}

/// Notes each look at the log: the last id by then, and whether the statement has drawn a transaction number. Each look asks for
/// the timeline. Looks are ordered by time, because a sequence would draw a transaction number itself when it writes its log.
const NOTE_LOOKS: &str = "\
    CREATE TABLE look (at timestamptz, last_id bigint, has_xid boolean); \
    GRANT SELECT ON look TO idem_service; \
    CREATE OR REPLACE FUNCTION outbox_timeline() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN \
        INSERT INTO look VALUES (clock_timestamp(), coalesce(pg_sequence_last_value('outbox_event_id_seq'), 0), \
                                                    pg_current_xact_id_if_assigned() IS NOT NULL); \
        RETURN 'timeline'; \
    END $$;";

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_relay_draws_no_transaction_number_and_a_commit_makes_it_draw_one_with_its_look() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    database.owner().await.batch_execute(NOTE_LOOKS).await.unwrap();
    let relay = relay(&database, &topics, RelaySettings { idle_poll: Duration::from_mins(10), ..settings() });
    // Each pause is twice as long as the one before. The next look by time is a second away.
    eventually("ten looks", async || {
        (count(&database, "SELECT count(*) AS count FROM look").await >= 10).then_some(())
    })
    .await;
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    wait_for(&topics, streams::ORDERS, 1).await;
    relay.stop().await;
    let idle = "SELECT count(*) AS count FROM look WHERE last_id = 0 AND has_xid";
    assert_eq!(count(&database, idle).await, 0, "an idle relay drew transaction numbers");
    let first = "SELECT has_xid::integer::bigint AS count FROM look WHERE last_id > 0 ORDER BY at LIMIT 1";
    assert_eq!(count(&database, first).await, 1, "the number was drawn by a statement of its own");
}
