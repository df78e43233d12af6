//! A backlog is read one page ahead of what is published.

use std::time::Duration;

use diesel_async::SimpleAsyncConnection;
use envelope::Topics;
use outbox::{Relay, RelaySettings};
use testkit::{Background, TestDatabase, eventually};

use crate::common::{count, fill, is_at_the_start, progress, settings};

/// Counts the rows that the service reads. A sequence moves before the transaction ends.
const COUNT_ROWS: &str = "\
    CREATE SEQUENCE rows_read; \
    GRANT USAGE, SELECT ON SEQUENCE rows_read TO idem_service; \
    ALTER TABLE outbox_event ENABLE ROW LEVEL SECURITY; \
    CREATE POLICY counts_rows ON outbox_event USING (nextval('rows_read') > 0);";

async fn rows_read(database: &TestDatabase) -> i64 {
    count(database, "SELECT coalesce(pg_sequence_last_value('rows_read'), 0) AS count").await
}

/// A page has more rows than the producer takes without a report, and no broker ever reports. So the first page stays half
/// published.
#[tokio::test(flavor = "multi_thread")]
async fn the_next_page_and_no_further_one_is_read_while_a_page_is_published() {
    const PAGE: i64 = 12_000;
    let database = TestDatabase::plain().await;
    fill(&database, 4 * PAGE, "clock_timestamp()").await;
    database.owner().await.batch_execute(COUNT_ROWS).await.unwrap();
    // It renews its lease every 600 ms: that shows that it is at work.
    let settings =
        RelaySettings { lease: Duration::from_secs(3), page: usize::try_from(PAGE).unwrap(), ..settings() };
    let (no_broker, topics) = ("127.0.0.1:1".parse().unwrap(), Topics::of("none"));
    let relay = Relay::new((*database).clone(), no_broker, topics, settings);
    let relay = Background::run(|stop| relay.run(stop));
    eventually("a second page", async || (rows_read(&database).await >= 2 * PAGE).then_some(())).await;
    let mut last = progress(&database).await;
    for _ in 0..2 {
        last = eventually("a renewed lease", async || {
            let now = progress(&database).await;
            (now.lease_until != last.lease_until).then_some(now)
        })
        .await;
    }
    assert_eq!(rows_read(&database).await, 2 * PAGE, "more than one page was read ahead");
    assert!(is_at_the_start(&last), "the cursor has moved over rows that are not acknowledged: {last:?}");
    relay.kill().await;
}
