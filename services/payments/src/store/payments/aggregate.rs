//! How payments are locked and written, one statement for any number of them.

use chrono::{DateTime, Utc};
use contracts::PaymentId;
use database::functions::clock_timestamp;
use database::{Addable, Aggregate, InsertRows, Result, Tx, UpdateRows, Write, WriteRows};
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
