//! A database that was restored from a backup: the processor has requests that are not in its rows.

use payments::Payments;
use runtime::Service;
use testkit::TestDatabase;

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
