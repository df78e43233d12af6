//! The circuit breaker of the service: while it is open, nothing is sent, and no outcome becomes unknown.

use std::time::Duration;

use database::Database;
use payments::processor::{BreakerSettings, ClientSettings};
use serde_json::json;
use testkit::eventually;

use crate::processor::{Fate, client_settings, held};
use crate::stage::{AMOUNT, Stage, VISA, brisk, worker};

#[tokio::test]
async fn while_the_processor_is_down_nothing_is_sent_and_no_outcome_is_unknown() {
    let stage = Stage::new().await;
    stage.processor.order([Fate::Refused(503, json!({}))]);
    let breaker = BreakerSettings { failures: 1, pause: Duration::from_hours(1) };
    let client = stage.processor.client_with(&ClientSettings { breaker, ..client_settings() });
    let worker = worker(Database::clone(&stage.database), client, brisk());
    let asked = stage.request(VISA).await;
    stage.becomes(asked, "unknown").await;
    let spared = stage.request(VISA).await;
    eventually("three attempts of each", async || {
        (stage.count("SELECT min(attempt)::bigint AS count FROM processor_call").await >= 3).then_some(())
    })
    .await;
    worker.stop().await;
    assert_eq!(stage.processor.received().len(), 1);
    assert_eq!(
        (stage.state(asked).await.as_str(), stage.state(spared).await.as_str()),
        ("unknown", "requested")
    );
    assert_eq!(stage.count("SELECT count(*) FROM processor_call WHERE last_outcome = 'not sent'").await, 2);
    // No attempt was made, so the payment can be cancelled without a lookup.
    stage.cancel(spared).await;
    assert_eq!(stage.state(spared).await, "cancelled");
}

#[tokio::test]
async fn when_the_processor_is_back_everything_goes_on() {
    let stage = Stage::new().await;
    stage.processor.order((0..3).map(|_| Fate::Refused(503, json!({}))));
    let breaker = BreakerSettings { failures: 2, pause: Duration::from_millis(20) };
    let client = stage.processor.client_with(&ClientSettings { breaker, ..client_settings() });
    let worker = worker(Database::clone(&stage.database), client, brisk());
    for _ in 0..3 {
        stage.request(VISA).await;
    }
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!(stage.processor.charges(), [AMOUNT; 3]);
}

#[tokio::test]
async fn no_more_requests_of_any_kind_are_in_flight_than_the_setting_permits() {
    let stage = Stage::new().await;
    stage.processor.order([Fate::FailedForEver { acted: true }]);
    let client = stage.processor.client_with(&ClientSettings { concurrency: 1, ..client_settings() });
    let worker = worker(Database::clone(&stage.database), client, brisk());
    let looked_up = stage.request(VISA).await;
    stage.becomes(looked_up, "captured").await;
    let before = stage.processor.received().len();
    stage.processor.order([held()]);
    stage.request(VISA).await;
    stage.request(VISA).await;
    stage.wake().await;
    eventually("three intents that wait", async || {
        (stage.count("SELECT count(*) FROM processor_call WHERE in_flight").await == 3).then_some(())
    })
    .await;
    stage.processor.has_received(before + 1).await;
    assert_eq!(stage.processor.received().len(), before + 1);
    stage.processor.release();
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!(stage.processor.charges(), [AMOUNT; 3]);
}
