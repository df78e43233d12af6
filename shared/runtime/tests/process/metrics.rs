//! `/metrics`: the requests, and the gauges that are read from the database.

use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use testkit::{Metrics, Proxy, eventually, given};

use crate::doctor::{doctor, faults, subjects};
use crate::greeter::{Running, Surroundings, ask};

async fn metrics(running: &Running) -> Metrics {
    Metrics::parse(&ask(running.address("admin").await, "GET", "/metrics").await.unwrap().1)
}

#[tokio::test]
async fn the_metrics_count_what_waits_for_an_operator() {
    let surroundings = Surroundings::new().await;
    surroundings
        .database
        .owner()
        .await
        .batch_execute(
            "INSERT INTO outbox_blocked (id, aggregate_id, error) VALUES (1, gen_random_uuid(), 'no topic'); \
             INSERT INTO inbox_parked (consumer, message_id, source, aggregate_id, sequence, state, topic, partition, \
                                       record_offset, headers, payload) \
             SELECT 'greeter', gen_random_uuid(), 'orders', gen_random_uuid(), 1, state, 't', 0, 0, '[]', '' \
               FROM unnest('{parked,held,held}'::text[]) AS state",
        )
        .await
        .unwrap();
    let running = Running::start(&mut surroundings.serve());
    running.ready().await;
    let (_, metrics) = ask(running.address("admin").await, "GET", "/metrics").await.unwrap();
    for line in [
        "outbox_blocked_events 1",
        "inbox_waiting_messages{state=\"parked\"} 1",
        "inbox_waiting_messages{state=\"held\"} 2",
        "inbox_stopped_partitions 0",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in {metrics}");
    }
    running.end().await;
    surroundings.clear().await;
}

#[tokio::test]
async fn the_oldest_transaction_may_be_that_of_another_role() {
    let surroundings = Surroundings::new().await;
    let running = Running::start(&mut surroundings.serve());
    running.ready().await;
    let mut person = AsyncPgConnection::establish(&surroundings.database.superuser_url()).await.unwrap();
    person.batch_execute("BEGIN; SELECT 1").await.unwrap();
    eventually("a transaction that becomes older", async || {
        (metrics(&running).await.measure("database_oldest_transaction_seconds") > 2.0).then_some(())
    })
    .await;
    let blind = "ROLLBACK; ALTER FUNCTION oldest_transaction_seconds() OWNER TO test_service";
    person.batch_execute(blind).await.unwrap();
    assert_eq!(faults(&mut doctor(&surroundings)).await, subjects(["oldest transaction"]));
    running.end().await;
    surroundings.clear().await;
}

#[tokio::test]
async fn a_request_is_counted_by_route_method_and_status_and_a_scrape_is_not() {
    let surroundings = Surroundings::new().await;
    let running = Running::start(&mut surroundings.serve());
    running.ready().await;
    let public = running.address("address").await;
    let greeted = "http_requests_total{route=\"/v1/greeting\",method=\"GET\",status=\"200\"}";
    assert!(!metrics(&running).await.series_of("http_requests_total").contains(&greeted));
    assert_eq!(ask(public, "GET", "/v1/greeting").await.unwrap().0, 200);
    assert_eq!(ask(public, "PEEK", "/no/such/path?tenant=acme").await.unwrap().0, 404);
    let counted = metrics(&running).await;
    assert_eq!(counted.count(greeted), 1);
    assert_eq!(counted.count("http_requests_total{route=\"unmatched\",method=\"other\",status=\"404\"}"), 1);
    let durations = "http_request_duration_seconds_count{route=\"/v1/greeting\",method=\"GET\"}";
    assert_eq!(counted.count(durations), 1);
    let all = counted.series_of("http_requests_total").join(" ");
    assert!(!all.contains("/metrics") && !all.contains("acme"), "{all}");
    eventually("closed connections", async || {
        (metrics(&running).await.count("http_connections") == 0).then_some(())
    })
    .await;
    running.end().await;
    surroundings.clear().await;
}

#[tokio::test]
async fn the_gauges_of_the_database_are_left_out_while_it_is_away() {
    const GAUGES: [&str; 3] =
        ["database_size_bytes", "outbox_unpublished_events", "inbox_waiting_messages{state=\"parked\"}"];
    let surroundings = Surroundings::new().await;
    let server = given("IDEM_POSTGRES_URL");
    let postgres = Proxy::to(server.rsplit('@').next().unwrap().split('/').next().unwrap()).await;
    let through = surroundings.database.service_url(Some(postgres.address()));
    let running = Running::start(surroundings.serve().env("IDEM_DATABASE__URL", through));
    running.ready().await;
    let there = metrics(&running).await;
    assert!(there.count("database_size_bytes") > 0);
    assert_eq!(there.count("database_connections_limit{pool=\"requests\"}"), 16);
    assert!(there.count("database_connections{pool=\"operators\",state=\"idle\"}") >= 1);
    postgres.cut().await;
    eventually("metrics without gauges of the database", async || {
        let away = metrics(&running).await;
        assert_eq!(away.count("outbox_appended_events_total"), 0, "counters stay");
        let is_down = away.count("idem_dependency_up{dependency=\"database\"}") == 0;
        let are_shown = GAUGES.iter().any(|gauge| !away.series_of(gauge).is_empty());
        (is_down && !are_shown).then_some(())
    })
    .await;
    postgres.mend();
    eventually("the gauges again", async || {
        let back = metrics(&running).await;
        GAUGES.iter().all(|gauge| !back.series_of(gauge).is_empty()).then_some(())
    })
    .await;
    running.end().await;
    surroundings.clear().await;
}
