//! How calls are locked and written, one statement for any number of them.

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
        let insert = columns!(
            InsertRows::new(call::table, added),
            call: id, tenant_id, kind, payment_id, provider_key, request, traceparent, created_at
        );
        vec![Write::new(changing(insert))]
    }
}

type Calls<Kind> = WriteRows<call::table, CallRow, Kind>;

/// Adds the columns that change. Key and request body never do.
fn changing<Kind>(write: Calls<Kind>) -> Calls<Kind> {
    columns!(
        write,
        call: attempt, in_flight, due_at, sent_since, last_sent_at, found_at, last_outcome, mode, look_ups, processor_object,
            look_up_requested, faults
    )
}
