//! How payments are locked and written, one statement for any number of them.

use chrono::{DateTime, Utc};
use contracts::{OrderId, PaymentId};
use database::functions::clock_timestamp;
use database::{Addable, Aggregate, InsertRows, Locked, Result, Tx, UpdateRows, Write, WriteRows};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::row::PaymentRow;
use crate::schema::payment;

/// Transactions lock payments in the order of their ids, so they do not deadlock.
impl Aggregate for PaymentRow {
    type Key = PaymentId;

    fn key(&self) -> PaymentId {
        self.id()
    }

    async fn load(mut tx: &Tx, payments: &[PaymentId]) -> Result<Vec<(Self, DateTime<Utc>)>> {
        let ids: Vec<Uuid> = payments.iter().copied().map(PaymentId::uuid).collect();
        let rows = payment::table
            .filter(payment::id.eq_any(ids))
            .order(payment::id)
            .select((Self::as_select(), clock_timestamp()))
            .for_update()
            .load(&mut tx)
            .await?;
        Ok(rows)
    }

    fn updates(changed: Vec<Self>) -> Vec<Write> {
        vec![Write::new(changing(UpdateRows::new(payment::table, changed).key(payment::id, |row| row.id)))]
    }
}

impl Addable for PaymentRow {
    fn inserts(added: Vec<Self>) -> Vec<Write> {
        let insert = columns!(
            InsertRows::new(payment::table, added),
            payment: id, tenant_id, order_id, operation_id, reference, amount, currency, payment_method, expires_at, created_at
        );
        vec![Write::new(changing(insert))]
    }
}

type Payments<Kind> = WriteRows<payment::table, PaymentRow, Kind>;

/// Adds the columns that change.
fn changing<Kind>(write: Payments<Kind>) -> Payments<Kind> {
    columns!(
        write,
        payment: state, cancel_requested, decline_code, processor_intent, processor_charge, refund_reserved, confirmed, fee,
            fee_currency, fee_transaction, sequence, updated_at
    )
}

/// The id of an order's payment, by the order. Locks the payment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PaymentOfOrder {
    pub(super) order: OrderId,
    pub(super) payment: PaymentId,
}

impl Aggregate for PaymentOfOrder {
    type Key = OrderId;

    fn key(&self) -> OrderId {
        self.order
    }

    async fn load(mut tx: &Tx, orders: &[OrderId]) -> Result<Vec<(Self, DateTime<Utc>)>> {
        let ids: Vec<Uuid> = orders.iter().copied().map(OrderId::uuid).collect();
        let rows: Vec<(PaymentRow, DateTime<Utc>)> = payment::table
            .filter(payment::order_id.eq_any(ids))
            .order(payment::id)
            .select((PaymentRow::as_select(), clock_timestamp()))
            .for_update()
            .load(&mut tx)
            .await?;
        let of_order = |row: Locked<PaymentRow>| {
            let (payment, at) = (row.id(), row.at());
            row.order().map(|order| (Self { order, payment }, at))
        };
        Ok(tx.adopt(rows).into_iter().filter_map(of_order).collect())
    }

    /// The payment itself is written.
    fn updates(_: Vec<Self>) -> Vec<Write> {
        Vec::new()
    }
}

impl Addable for PaymentOfOrder {
    fn inserts(_: Vec<Self>) -> Vec<Write> {
        Vec::new()
    }
}
