//! A database that was restored from a backup: the processor has requests that are not in its rows.

use payments::Payments;
use runtime::Service;
use serde_json::json;
use testkit::TestDatabase;
use uuid::Uuid;

use crate::commands::{LONG, SHORT, client, key, part};
use crate::ledger::confirmed;
use crate::processor::Fate;
use crate::stage::{AMOUNT, LATER, Order, PAST, Stage, VISA, brisk, requested};

/// What a backup leaves in the table of the cursor, from before the relay has noticed the restore.
const FROM_ANOTHER_SERVER: &str = "UPDATE outbox_cursor SET server = '1234567890/00000001/5'";

impl Stage {
    /// Replaces the database by one from before the payment was requested. The processor keeps its objects.
    async fn restore(&mut self) {
        self.database = TestDatabase::with(vec![Payments::migrations()]).await;
        self.meddle(FROM_ANOTHER_SERVER).await;
    }

    /// The messages of the order are consumed, and a worker runs until no call is due.
    async fn consumes(&self, order: Order, expires_at: &str, is_cancelled: bool) {
        self.ask(&requested(order, VISA, expires_at)).await.unwrap();
        if is_cancelled {
            self.cancel(order).await;
        }
        let worker = self.worker(brisk());
        self.is_at_rest().await;
        worker.stop().await;
    }

    /// A client requests a refund of this confirmed order under this key, and a worker runs until no call is due. Returns the id
    /// of the refund.
    async fn gives_back(&self, order: Order, key: &str, amount: i64) -> String {
        let (client, worker) = (client(self, LONG).await, self.worker(brisk()));
        let response = client.refund(&order.payment.to_string(), key, &part(amount)).await;
        assert_eq!(response.status, 201, "{response:?}");
        worker.stop().await;
        response.json()["id"].as_str().unwrap().to_owned()
    }

    /// The refunds that were requested at the processor.
    fn requested_refunds(&self) -> usize {
        self.processor.posted().iter().filter(|request| request.path.ends_with("refunds")).count()
    }
}

#[tokio::test]
async fn a_captured_payment_is_looked_up_and_refunded_if_it_is_cancelled_after_a_restore() {
    let mut stage = Stage::new().await;
    let order = Order::new();
    stage.consumes(order, LATER, false).await;
    stage.restore().await;
    stage.consumes(order, LATER, true).await;
    assert_eq!(stage.state(order).await, "captured");
    assert_eq!((stage.processor.charges(), stage.processor.refunds()), (vec![AMOUNT], vec![AMOUNT]));
    assert_eq!(stage.announced_types(order).await, ["PaymentCaptured", "PaymentRefunded"]);
}

#[tokio::test]
async fn a_payment_that_was_refunded_before_a_restore_is_not_refunded_again() {
    let mut stage = Stage::new().await;
    let order = Order::new();
    stage.consumes(order, LATER, false).await;
    stage.consumes(order, LATER, true).await;
    stage.restore().await;
    stage.consumes(order, LATER, true).await;
    assert_eq!(stage.announced_types(order).await, ["PaymentCaptured", "PaymentRefunded"]);
    assert_eq!(stage.refunds(order).await, ["succeeded"]);
    let posted = stage.processor.posted();
    let refunds: Vec<_> = posted.iter().filter(|request| request.path.ends_with("refunds")).collect();
    // The processor would refuse the same key with another request.
    assert_eq!((refunds[0].key(), &refunds[0].body), (refunds[1].key(), &refunds[1].body));
    assert_eq!((stage.processor.charges(), stage.processor.refunds()), (vec![AMOUNT], vec![AMOUNT]));
}

#[tokio::test]
async fn a_captured_payment_is_found_although_it_expires_before_it_is_requested_again() {
    let mut stage = Stage::new().await;
    let order = Order::new();
    stage.consumes(order, LATER, false).await;
    stage.restore().await;
    stage.consumes(order, PAST, false).await;
    assert_eq!(stage.announced_types(order).await, ["PaymentCaptured"]);
    assert_eq!(stage.processor.posted().len(), 1, "no request is sent after the expiry");
}

#[tokio::test]
async fn a_payment_that_is_cancelled_after_a_restore_and_not_found_is_never_charged_and_is_reviewed() {
    let mut stage = Stage::new().await;
    stage.restore().await;
    let order = Order::new();
    stage.consumes(order, LATER, true).await;
    assert_eq!(stage.state(order).await, "unknown");
    assert_eq!(stage.reviews().await, ["not_found"]);
    assert_eq!(stage.processor.posted().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clients_refund_that_a_restore_has_lost_is_made_once_if_the_client_repeats_it() {
    // The processor repeats its first response under the key. If the key may be deleted, the refund is looked up first, until the
    // processor answers.
    for (is_old, unanswered, requests) in [(false, 0, 2), (true, 0, 1), (true, 2, 1)] {
        let mut stage = Stage::new().await;
        let (mut order, lost) = (Order::new(), key());
        if is_old {
            let mut id = *order.order.uuid().as_bytes();
            id[..6].fill(0); // the time in the id
            order = Order::with(Uuid::from_bytes(id).into());
        }
        stage.consumes(order, LATER, false).await;
        stage.confirm(&confirmed(order)).await.unwrap();
        let first = stage.gives_back(order, &lost, 10).await;
        stage.restore().await;
        stage.consumes(order, LATER, false).await;
        stage.confirm(&confirmed(order)).await.unwrap();
        stage.processor.order(vec![Fate::Refused(503, json!({})); unanswered]);
        assert_eq!(stage.gives_back(order, &lost, 10).await, first);
        assert_eq!((stage.processor.refunds(), stage.requested_refunds()), (vec![10], requests));
        // A refund that the processor does not know is requested.
        stage.gives_back(order, &key(), 10).await;
        assert_eq!((stage.processor.refunds(), stage.requested_refunds()), (vec![10, 10], requests + 1));
        assert_eq!(stage.reviews().await, [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_from_before_a_restore_that_is_older_than_its_key_is_looked_up_and_not_requested() {
    // Of the last one, no lookup is answered for three days.
    for (is_found, age, unanswered) in [(true, "23 h", 0), (false, "23 h", 0), (false, "3 days", 1)] {
        let stage = Stage::new().await;
        let order = Order::new();
        stage.consumes(order, LATER, false).await;
        stage.confirm(&confirmed(order)).await.unwrap();
        let client = client(&stage, SHORT).await;
        assert_eq!(client.refund(&order.payment.to_string(), &key(), &part(10)).await.status, 202);
        let older = format!(
            "UPDATE processor_call SET created_at = created_at - interval '{age}' WHERE kind = 'refund'"
        );
        stage.meddle(&older).await;
        stage.meddle(FROM_ANOTHER_SERVER).await;
        if is_found {
            stage.processor.insert(json!({
                "id": "re_lost", "object": "refund", "amount": 10, "currency": "eur", "status": "succeeded",
                "payment_intent": "pi_1", "created": 1_700_000_000,
                "metadata": { "deployment": "test", "reference": stage.text("SELECT id::text FROM refund").await },
            }));
        }
        stage.processor.order(vec![Fate::Refused(503, json!({})); unanswered]);
        let worker = stage.worker(brisk());
        stage.is_at_rest().await;
        worker.stop().await;
        let (state, reviews) = if is_found { ("succeeded", vec![]) } else { ("unknown", vec!["not_found"]) };
        assert_eq!(stage.refunds(order).await, [state]);
        assert_eq!(stage.reviews().await, reviews.into_iter().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(stage.requested_refunds(), 0);
        let looked_up = "SELECT count(*) FROM processor_call WHERE kind = 'refund' AND attempt = 1";
        assert_eq!(stage.database.count(looked_up).await, i64::from(is_found || unanswered == 1));
    }
}
