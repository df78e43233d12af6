//! Overload: requests that use up their connections make requests wait, and nothing else.

use diesel_async::SimpleAsyncConnection;
use testkit::{Metrics, eventually};

use crate::greeter::{Running, Surroundings, ask};
use crate::operators::greeted;

/// An event that the relay publishes and the consumer reads.
pub(crate) const CONFIRMED: &str = r#"
    INSERT INTO outbox_event (event_id, topic, partition_key, aggregate_type, aggregate_id, sequence, type, source, tenant_id, payload)
    SELECT gen_random_uuid(), 'orders.events', id, 'order', id, 1, 'orders.OrderConfirmed.v1', 'orders', 'acme',
           convert_to(format('{"order":"%s","payment":"%s"}', id, id), 'UTF8')
      FROM (SELECT '01a21314-5464-73b6-becc-c94c4dc5a5b6'::uuid) AS confirmed (id)"#;

#[tokio::test]
async fn a_pool_that_requests_use_up_is_overload_and_no_outage() {
    let surroundings = Surroundings::new().await;
    let mut serve = surroundings.serve();
    serve.env("IDEM_DATABASE__POOL_SIZE", "1").env("IDEM_DATABASE__POOL_WAIT_MILLISECONDS", "100");
    serve
        .env("IDEM_DATABASE__LOCK_TIMEOUT_SECONDS", "60")
        .env("IDEM_DATABASE__STATEMENT_TIMEOUT_SECONDS", "60");
    let running = Running::start(&mut serve);
    running.ready().await;
    let admin = running.address("admin").await;
    let metrics = async || Metrics::parse(&ask(admin, "GET", "/metrics").await.unwrap().1);
    assert_eq!(metrics().await.count("database_connections_limit{pool=\"requests\"}"), 1);

    let mut report = surroundings.database.owner().await;
    report.batch_execute("BEGIN; LOCK TABLE greeting IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let held = running.get("/v1/greeting");
    let meanwhile = async {
        let in_use = "database_connections{pool=\"requests\",state=\"in_use\"}";
        eventually("a request that waits for the table", async || {
            (metrics().await.count(in_use) == 1).then_some(())
        })
        .await;
        let (status, problem) = running.get("/v1/greeting").await.unwrap();
        assert!(status == 503 && problem.contains("unavailable"), "{status} {problem}");
        let began = metrics().await.count("idem_uptime_seconds");
        eventually("health checks older than the overload to be forgotten", async || {
            (metrics().await.count("idem_uptime_seconds") >= began + 3).then_some(())
        })
        .await;
        running.ready().await;
        // Relay and consumer have connections of their own.
        assert_eq!(greeted(&surroundings).await, []);
        surroundings.database.owner().await.batch_execute(CONFIRMED).await.unwrap();
        eventually("an event that was published and consumed", async || {
            (greeted(&surroundings).await.len() == 1).then_some(())
        })
        .await;
        let overloaded = metrics().await;
        assert_eq!(overloaded.count(in_use), 1);
        assert_eq!(overloaded.count("idem_dependency_up{dependency=\"database\"}"), 1);
        assert!(overloaded.count("database_size_bytes") > 0, "the gauges of the database are read");
        report.batch_execute("COMMIT").await.unwrap();
    };
    let (response, ()) = tokio::join!(held, meanwhile);
    assert_eq!(response, Some((200, "\"Hello\"".to_owned())));
    running.end().await;
    surroundings.clear().await;
}
