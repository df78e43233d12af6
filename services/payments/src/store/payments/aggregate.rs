//! How payments are locked and written, one statement for any number of them.

use std::mem::take;

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
        let insert = InsertRows::new(payment::table, added)
            .column(payment::id, |row| row.id)
            .column(payment::tenant_id, |row| take(&mut row.tenant_id))
            .column(payment::order_id, |row| row.order_id)
            .column(payment::operation_id, |row| row.operation_id)
            .column(payment::reference, |row| row.reference.take())
            .column(payment::amount, |row| row.amount)
            .column(payment::currency, |row| take(&mut row.currency))
            .column(payment::payment_method, |row| take(&mut row.payment_method))
            .column(payment::expires_at, |row| row.expires_at)
            .column(payment::created_at, |row| row.created_at);
        vec![Write::new(changing(insert))]
    }
}

type Payments<Kind> = WriteRows<payment::table, PaymentRow, Kind>;

/// Adds the columns that change.
fn changing<Kind>(write: Payments<Kind>) -> Payments<Kind> {
    write
        .column(payment::state, |row| take(&mut row.state))
        .column(payment::cancel_requested, |row| row.cancel_requested)
        .column(payment::decline_code, |row| row.decline_code.take())
        .column(payment::processor_intent, |row| row.processor_intent.take())
        .column(payment::processor_charge, |row| row.processor_charge.take())
        .column(payment::refund_reserved, |row| row.refund_reserved)
        .column(payment::confirmed, |row| row.confirmed)
        .column(payment::fee, |row| row.fee)
        .column(payment::fee_currency, |row| row.fee_currency.take())
        .column(payment::fee_transaction, |row| row.fee_transaction.take())
        .column(payment::sequence, |row| row.sequence)
        .column(payment::updated_at, |row| row.updated_at)
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
