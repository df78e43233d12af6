//! Old webhook events are deleted once nothing is left to be done with them, and may then be delivered again.

use chrono::TimeDelta;
use payments::delete_webhook_events;
use tokio_util::sync::CancellationToken;

use crate::stage::{Stage, VISA, brisk};
use crate::webhooks::{Sender, event};

async fn pass(stage: &Stage) -> u64 {
    delete_webhook_events(&stage.database, TimeDelta::days(90), &CancellationToken::new()).await.unwrap()
}

/// Ages all events, and deletes the old ones.
async fn delete(stage: &Stage) -> u64 {
    stage.meddle("UPDATE webhook_event SET received_at = received_at - interval '91 days'").await;
    pass(stage).await
}

#[actix_web::test]
async fn an_event_that_was_deleted_with_age_has_no_effect_when_it_is_delivered_again() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    stage.is_at_rest().await;
    let succeeded = Sender::of(&event("evt_1", "payment_intent.succeeded", order));
    assert_eq!(succeeded.send(&stage).await.0, 200);
    let state = "SELECT format('%s %s %s', payment, call, (SELECT count(*) FROM ledger_entry)) \
                   FROM payment JOIN processor_call AS call ON call.payment_id = payment.id";
    let (before, announced) = (stage.text(state).await, stage.announced(order).await);
    assert_eq!(pass(&stage).await, 0, "it is young");
    assert_eq!((delete(&stage).await, stage.events().await), (1, 0));

    assert_eq!(succeeded.send(&stage).await.0, 200);
    assert_eq!(stage.events().await, 1, "it is stored again");
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!((stage.text(state).await, stage.announced(order).await), (before, announced));
    assert_eq!((stage.processor.charges().len(), stage.processor.looked_up().len()), (1, 0));
}

#[actix_web::test]
async fn an_event_stays_while_its_call_or_a_review_is_open() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    assert_eq!(Sender::of(&event("evt_1", "payment_intent.succeeded", order)).send(&stage).await.0, 200);
    let mut foreign = event("evt_2", "payment_intent.succeeded", order);
    foreign["data"]["object"]["metadata"]["deployment"] = "another".into();
    assert_eq!(Sender::of(&foreign).send(&stage).await.0, 200);
    assert_eq!(delete(&stage).await, 1, "an event without a call has nothing left to do");
    assert_eq!(delete(&stage).await, 0, "its call is due");
    stage.meddle("UPDATE processor_call SET due_at = NULL").await;
    let review = "INSERT INTO review (id, tenant_id, subject, subject_id, payment_id, reason) \
                  SELECT gen_random_uuid(), tenant_id, 'payment', id, id, 'not_found' FROM payment";
    stage.meddle(review).await;
    assert_eq!(delete(&stage).await, 0, "an operator still reads it");
    stage.meddle("UPDATE review SET resolution = 'not_captured', resolved_by = 'ada', note = 'x', resolved_at = now()").await;
    assert_eq!(delete(&stage).await, 1);
}

#[actix_web::test]
async fn many_events_are_deleted_in_batches_by_several_instances() {
    let stage = Stage::new().await;
    stage
        .meddle(
            "INSERT INTO webhook_event (id, kind, body_hash, created_at, received_at) \
             SELECT 'evt_' || n, 'x', sha256(''), now(), now() - interval '1 day' * (n % 100) FROM generate_series(0, 4999) AS n",
        )
        .await;
    let stopped = CancellationToken::new();
    stopped.cancel();
    let days = TimeDelta::days(50);
    assert_eq!(delete_webhook_events(&stage.database, days, &stopped).await.unwrap(), 0);
    let running = CancellationToken::new();
    let passes = (0..3).map(|_| delete_webhook_events(&stage.database, days, &running));
    let deleted: u64 = futures_util::future::join_all(passes).await.into_iter().map(Result::unwrap).sum();
    // The rows of exactly 50 days are old by now.
    assert_eq!((deleted, stage.events().await), (2_500, 2_500));
}
