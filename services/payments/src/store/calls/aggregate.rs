//! How calls are locked and written, one statement for any number of them.

use std::mem::take;

use chrono::{DateTime, Utc};
use database::functions::clock_timestamp;
use database::{Addable, Aggregate, InsertRows, Result, Tx, UpdateRows, Write, WriteRows};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::CallRow;
use crate::schema::processor_call as call;

/// Transactions lock calls after their payments, in the order of their ids, so they do not deadlock.
impl Aggregate for CallRow {
    type Key = Uuid;

    fn key(&self) -> Uuid {
        self.id
    }

    async fn load(mut tx: &Tx, calls: &[Uuid]) -> Result<Vec<(Self, DateTime<Utc>)>> {
        let rows = call::table
            .filter(call::id.eq_any(calls))
            .order(call::id)
            .select((Self::as_select(), clock_timestamp()))
            .for_update()
            .load(&mut tx)
            .await?;
        Ok(rows)
    }

    fn updates(changed: Vec<Self>) -> Vec<Write> {
        vec![Write::new(changing(UpdateRows::new(call::table, changed).key(call::id, |row| row.id)))]
    }
}

impl Addable for CallRow {
    fn inserts(added: Vec<Self>) -> Vec<Write> {
        let insert = InsertRows::new(call::table, added)
            .column(call::id, |row| row.id)
            .column(call::tenant_id, |row| take(&mut row.tenant_id))
            .column(call::kind, |row| row.kind)
            .column(call::payment_id, |row| row.payment_id)
            .column(call::provider_key, |row| take(&mut row.provider_key))
            .column(call::request, |row| take(&mut row.request))
            .column(call::traceparent, |row| row.traceparent.take())
            .column(call::created_at, |row| row.created_at);
        vec![Write::new(changing(insert))]
    }
}

type Calls<Kind> = WriteRows<call::table, CallRow, Kind>;

/// Adds the columns that change. Key and request body never do.
fn changing<Kind>(write: Calls<Kind>) -> Calls<Kind> {
    write
        .column(call::attempt, |row| row.attempt)
        .column(call::in_flight, |row| row.in_flight)
        .column(call::due_at, |row| row.due_at)
        .column(call::sent_since, |row| row.sent_since)
        .column(call::last_sent_at, |row| row.last_sent_at)
        .column(call::found_at, |row| row.found_at)
        .column(call::last_outcome, |row| row.last_outcome.take())
        .column(call::mode, |row| row.mode)
        .column(call::look_ups, |row| row.look_ups)
        .column(call::processor_object, |row| row.processor_object.take())
        .column(call::look_up_requested, |row| row.look_up_requested)
        .column(call::faults, |row| row.faults)
}
