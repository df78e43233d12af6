//! The audit finds each way in which an order can be settled wrongly.

use super::*;

/// One confirmed order: paid once, in full.
fn settled() -> Settlement {
    let (id, payment) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let (tenant_id, currency) = ("t".to_owned(), "EUR".to_owned());
    let order = StoredOrder {
        id,
        tenant_id: tenant_id.clone(),
        state: "confirmed".to_owned(),
        amount: 450,
        currency: currency.clone(),
        payment_id: Some(payment),
    };
    let state = "captured".to_owned();
    let order_id = Some(id);
    let row = StoredPayment {
        id: payment,
        tenant_id,
        order_id,
        amount: 450,
        currency,
        state,
        refunded: 0,
        refundable: 0,
    };
    Settlement {
        orders: vec![order],
        payments: BTreeMap::from([(payment, row)]),
        charges: vec![charge("ch_1", payment)],
    }
}

fn charge(id: &str, payment: Uuid) -> Charge {
    Charge {
        id: id.to_owned(),
        payment: Some(payment.to_string()),
        amount: 450,
        refunded: 0,
        currency: "EUR".to_owned(),
        succeeded: true,
    }
}

fn cancelled() -> Settlement {
    let mut cancelled = settled();
    cancelled.orders[0].state = "cancelled".to_owned();
    cancelled.charges[0].refunded = 450;
    cancelled
}

#[track_caller]
fn is_seen(what: &str, mut settlement: Settlement, break_it: impl FnOnce(&mut Settlement)) {
    assert_eq!(settlement.violations(), Vec::<String>::new(), "before {what}");
    break_it(&mut settlement);
    assert_eq!(settlement.violations().len(), 1, "{what}");
}

#[test]
fn every_wrong_end_of_a_confirmed_order_is_a_violation() {
    is_seen("a second capture", settled(), |s| s.charges.push(charge("ch_2", Uuid::from_u128(2))));
    is_seen("no capture", settled(), |s| s.charges.clear());
    is_seen("a declined charge alone", settled(), |s| s.charges[0].succeeded = false);
    is_seen("another amount", settled(), |s| s.charges[0].amount = 451);
    is_seen("another currency", settled(), |s| s.charges[0].currency = "USD".to_owned());
    is_seen("a refund", settled(), |s| s.charges[0].refunded = 1);
    is_seen("another tenant's payment", settled(), |s| {
        s.payments.values_mut().for_each(|row| row.tenant_id = "other".to_owned());
    });
}

/// A confirmed order whose client had 100 refunded; of 50 more, the outcome is unknown.
fn returned(refunded: i64) -> Settlement {
    let mut returned = settled();
    returned.payments.values_mut().for_each(|row| (row.refunded, row.refundable) = (100, 150));
    returned.charges[0].refunded = refunded;
    returned
}

#[test]
fn a_refund_that_the_client_of_a_confirmed_order_asked_for_is_no_violation_and_any_other_is() {
    is_seen("less than the client had refunded", returned(100), |s| s.charges[0].refunded = 99);
    is_seen("more than the client asked for", returned(150), |s| s.charges[0].refunded = 151);
}

#[test]
fn every_wrong_end_of_a_cancelled_order_is_a_violation() {
    is_seen("money that was kept", cancelled(), |s| s.charges[0].refunded = 449);
}

#[test]
fn a_capture_without_a_payment_is_a_violation() {
    is_seen("a charge of no payment", settled(), |s| s.charges.push(charge("ch_2", Uuid::from_u128(3))));
}

#[test]
fn the_sum_counts_captures_of_confirmed_and_cancelled_orders_apart() {
    let sum = settled().sum("t");
    assert_eq!((sum.orders, sum.captures, sum.late_captures, sum.taken, sum.owed), (1, 1, 0, 450, 450));
    let sum = cancelled().sum("t");
    assert_eq!((sum.cancelled, sum.captures, sum.late_captures, sum.taken - sum.refunded), (1, 0, 1, 0));
    assert_eq!(settled().sum("other"), Sum::default());
}
