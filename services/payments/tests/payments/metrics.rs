//! The metrics of money: each is moved by a change that must move it, and by no other.

use std::time::Duration;

use database::Database;
use metrics::{Readings, Registry};
use payments::processor::{BreakerSettings, ClientSettings};
use payments::{Payments, PaymentsMetrics, register_circuit_breaker};
use runtime::Service;
use serde_json::json;
use testkit::{Metrics, eventually, labelled};

use crate::processor::{Fate, client_settings};
use crate::stage::{Stage, VISA, brisk, worker};

/// The states that payments and refunds have reached, with their numbers.
fn reached(stage: &Stage) -> [Vec<(String, i64)>; 2] {
    let counted = Metrics::counted::<PaymentsMetrics>(&stage.database);
    ["payments_reached_total", "payments_refunds_reached_total"].map(|family| counted.by_label(family))
}

/// The gauges that a scrape reads.
async fn read(stage: &Stage) -> Metrics {
    read_on(&stage.database).await
}

async fn read_on(database: &Database) -> Metrics {
    let (connection, mut readings) = (database.connection().await.unwrap(), Readings::default());
    Payments::read_metrics(&connection, &mut readings).await.unwrap();
    Metrics::read(&readings)
}

#[tokio::test]
async fn captures_declines_cancellations_and_refunds_are_counted_once_each() {
    let stage = Stage::new().await;
    let cancelled = stage.request(VISA).await;
    stage.cancel(cancelled).await;
    stage.cancel(cancelled).await;
    assert_eq!(reached(&stage), [labelled(&[("cancelled", 1)]), labelled(&[])]);

    let worker = stage.worker(brisk());
    let captured = stage.request(VISA).await;
    stage.becomes(captured, "captured").await;
    stage.is_at_rest().await;
    assert_eq!(reached(&stage), [labelled(&[("cancelled", 1), ("captured", 1)]), labelled(&[])]);
    assert_eq!(read(&stage).await.count("payments_ledger_sum{currency=\"EUR\"}"), 0);

    stage.cancel(captured).await;
    stage.is_at_rest().await;
    worker.stop().await;
    let refunded = labelled(&[("pending", 1), ("succeeded", 1)]);
    assert_eq!(reached(&stage), [labelled(&[("cancelled", 1), ("captured", 1)]), refunded]);
}

#[tokio::test]
async fn a_decline_is_counted_and_no_capture() {
    let stage = Stage::new().await;
    let declined = stage.request("pm_card_chargeDeclined").await;
    let worker = stage.worker(brisk());
    stage.becomes(declined, "declined").await;
    worker.stop().await;
    assert_eq!(reached(&stage), [labelled(&[("declined", 1)]), labelled(&[])]);
}

#[tokio::test]
async fn an_unknown_outcome_is_counted_and_shown_until_it_is_known_and_opens_the_circuit_breaker() {
    let stage = Stage::new().await;
    stage.processor.order([Fate::Refused(503, json!({}))]);
    let breaker = BreakerSettings { failures: 1, pause: Duration::from_hours(1) };
    let client = stage.processor.client_with(&ClientSettings { breaker, ..client_settings() });
    let mut registry = Registry::default();
    register_circuit_breaker(&client, &mut registry);
    let state = || Metrics::of_registry(&registry).by_label("payments_circuit_breaker");
    assert_eq!(state(), labelled(&[("closed", 1)]));
    let known = read(&stage).await;
    assert_eq!(known.by_label("payments_unknown"), []);

    let broken = worker(Database::clone(&stage.database), client, brisk());
    let asked = stage.request(VISA).await;
    stage.becomes(asked, "unknown").await;
    broken.stop().await;
    assert_eq!(state(), labelled(&[("open", 1)]));
    assert_eq!(reached(&stage)[0], labelled(&[("unknown", 1)]));
    let unknown = read(&stage).await;
    assert_eq!(unknown.by_label("payments_unknown"), labelled(&[("charge", 1)]));
    assert!(unknown.measure("payments_oldest_unknown_seconds{kind=\"charge\"}") > 0.0);
    assert_eq!(unknown.count("payments_oldest_unknown_seconds{kind=\"refund\"}"), 0);

    let worker = stage.worker(brisk());
    stage.becomes(asked, "captured").await;
    worker.stop().await;
    assert_eq!(read(&stage).await.by_label("payments_unknown"), []);
}

#[tokio::test]
async fn open_reviews_are_counted_by_reason_and_resolved_ones_are_not() {
    let stage = Stage::new().await;
    let review = |reason: &str, resolution: &str| {
        format!(
            "INSERT INTO review (id, subject, subject_id, reason, resolution, resolved_by, note, resolved_at) \
             VALUES (gen_random_uuid(), 'orphan', gen_random_uuid()::text, '{reason}', {resolution})"
        )
    };
    stage.meddle(&review("orphan", "NULL, NULL, NULL, NULL")).await;
    stage.meddle(&review("orphan", "'captured', 'ada', 'known', clock_timestamp()")).await;
    let reviews = read(&stage).await;
    assert_eq!(reviews.by_label("payments_open_reviews"), labelled(&[("orphan", 1)]));
    assert!(reviews.measure("payments_oldest_review_seconds") > 0.0);
}

#[tokio::test]
async fn a_review_is_counted_when_it_opens_and_a_refusal_that_passes_opens_none() {
    let stage = Stage::new().await;
    let opened = || {
        let counted = Metrics::counted::<PaymentsMetrics>(&stage.database);
        counted.by_label("payments_opened_reviews_total")
    };
    let worker = stage.worker(brisk());
    for (refusal, reviews) in [("balance_insufficient", &[][..]), ("invalid_state", &[("refund_failed", 1)])]
    {
        let error = json!({ "error": { "type": "invalid_request_error", "code": refusal } });
        stage.processor.order([Fate::Answered, Fate::Refused(400, error)]);
        let captured = stage.request(VISA).await;
        stage.becomes(captured, "captured").await;
        stage.cancel(captured).await;
        stage.is_at_rest().await;
        assert_eq!(opened(), labelled(reviews), "after {refusal}");
    }
    worker.stop().await;
    assert_eq!(stage.reviews().await, ["refund_failed"]);
}

#[tokio::test]
async fn a_ledger_that_does_not_balance_shows() {
    let stage = Stage::new().await;
    stage.meddle("INSERT INTO ledger_balance VALUES ('acme', 'clearing', 'EUR', 7, 0)").await;
    assert_eq!(read(&stage).await.count("payments_ledger_sum{currency=\"EUR\"}"), 7);
}

#[tokio::test]
async fn a_reading_costs_a_fixed_number_of_rows_among_many_payments() {
    let stage = Stage::new().await;
    let many = "INSERT INTO payment (id, tenant_id, amount, currency, payment_method, expires_at, state) \
                SELECT gen_random_uuid(), 'acme', 1, 'EUR', 'pm_x', now(), CASE WHEN n > 3 THEN 'requested' ELSE 'unknown' END \
                  FROM generate_series(1, 20000) AS n";
    stage.meddle(many).await;
    let reader = stage.database.second_instance();
    assert_eq!(read_on(&reader).await.count("payments_unknown{kind=\"charge\"}"), 3);
    drop(reader); // the end of a session reports its counters
    let unknown =
        "SELECT idx_tup_read AS count FROM pg_stat_user_indexes WHERE indexrelname = 'payment_unknown'";
    eventually("the counters of the reader's session", async || {
        (stage.count(unknown).await >= 3).then_some(())
    })
    .await;
    let all = "SELECT ((SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'payment') \
                      + (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'payment'))::bigint AS count";
    let read = stage.count(all).await;
    assert!(read < 100, "{read} entries were read");
}
