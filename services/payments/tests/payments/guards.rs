//! The constraints and rights of the database, and the messages that a handler refuses.

use database::Error;
use diesel::sql_query;
use diesel_async::RunQueryDsl;
use inbox::HandlerError;

use crate::stage::{LATER, Order, Stage, VISA, brisk, requested};

impl Stage {
    /// Runs a statement as the service. Returns PostgreSQL's error.
    pub(crate) async fn attempt(&self, sql: &str) -> Result<(), Error> {
        let mut tx = self.database.begin().await.unwrap();
        sql_query(sql).execute(&mut tx).await?;
        tx.commit().await
    }
}

#[tokio::test]
async fn no_refund_beyond_the_capture_can_be_stored() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    let claim = |amount: i64| format!("UPDATE payment SET refund_reserved = {amount}");
    let refused = |done: Result<(), Error>| matches!(done, Err(Error::Constraint { constraint, .. }) if constraint == "refunds_within_capture");
    assert!(refused(stage.attempt(&claim(1)).await), "before anything was captured");
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    worker.stop().await;
    assert!(refused(stage.attempt(&claim(2000)).await), "more than was captured");
    stage.attempt(&claim(1999)).await.unwrap();
}

#[tokio::test]
async fn a_frozen_request_and_its_key_cannot_be_changed() {
    let stage = Stage::new().await;
    stage.request(VISA).await;
    for column in ["request = ''", "provider_key = 'another'", "payment_id = id"] {
        let done = stage.attempt(&format!("UPDATE processor_call SET {column}")).await;
        assert!(done.unwrap_err().to_string().contains("permission denied"), "{column}");
    }
    let deleted = stage.attempt("DELETE FROM payment").await;
    assert!(deleted.unwrap_err().to_string().contains("permission denied"));
}

#[tokio::test]
async fn two_requests_for_one_payment_are_one_charge() {
    let stage = Stage::new().await;
    let order = Order::new();
    for _ in 0..3 {
        stage.ask(&requested(order, VISA, LATER)).await.unwrap();
    }
    assert_eq!(stage.count("SELECT count(*) FROM payment").await, 1);
    assert_eq!(stage.count("SELECT count(*) FROM processor_call").await, 1);
    assert_eq!(stage.facts().await, ["payment.charge"]);
}

#[tokio::test]
async fn an_inconsistent_request_is_refused_and_leaves_no_row() {
    let stage = Stage::new().await;
    let known = stage.request(VISA).await;
    let mut free_of_charge = requested(Order::new(), VISA, LATER);
    free_of_charge.data.amount.amount = 0;
    let mut cheaper = requested(known, VISA, LATER);
    cheaper.data.amount.amount = 1;
    let nonsense = [
        requested(Order { payment: Order::new().payment, ..known }, VISA, LATER),
        requested(Order { order: Order::new().order, ..known }, VISA, LATER),
        requested(Order::new(), VISA, "tomorrow"),
        free_of_charge,
        cheaper,
    ];
    for message in nonsense {
        let result = stage.ask(&message).await;
        assert!(matches!(result, Err(HandlerError::Refused(_))), "{message:?}: {result:?}");
    }
    assert_eq!(stage.count("SELECT count(*) FROM payment").await, 1);
    assert_eq!(stage.facts().await, ["payment.charge"]);
}
