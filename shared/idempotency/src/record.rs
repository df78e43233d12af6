//! The record of one key: found, compared, written.

use chrono::{DateTime, Utc};
use contracts::OperationId;
use database::functions::{clock_timestamp, from_now, pg_try_advisory_xact_lock};
use database::{Buffered, Insert, Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::try_join;
use serde_json::Value;
use uuid::Uuid;

use crate::{Answer, Intent, Receipt, Retention, Scope};

diesel::table! {
    idempotency_record (tenant_id, client_id, method, route, key) {
        tenant_id -> Text,
        client_id -> Text,
        method -> Text,
        route -> Text,
        key -> Text,
        fingerprint -> Binary,
        fingerprint_version -> SmallInt,
        state -> Text,
        operation_id -> Uuid,
        status -> Nullable<SmallInt>,
        created_at -> Timestamptz,
        completed_at -> Nullable<Timestamptz>,
        expires_at -> Nullable<Timestamptz>,
        tombstone_until -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    idempotency_snapshot (operation_id) {
        operation_id -> Uuid,
        headers -> Jsonb,
        body -> Binary,
    }
}

diesel::allow_tables_to_appear_in_same_query!(idempotency_record, idempotency_snapshot);

/// A record as it was found, with its answer if it still has one.
#[derive(Debug, Queryable)]
pub(crate) struct Found {
    operation_id: Uuid,
    fingerprint: Vec<u8>,
    state: String,
    status: Option<i16>,
    created_at: DateTime<Utc>,
    expired: Option<bool>,
    headers: Option<Value>,
    body: Option<Vec<u8>>,
}

impl Found {
    pub(crate) fn operation(&self) -> OperationId {
        self.operation_id.into()
    }

    pub(crate) fn state(&self) -> &str {
        &self.state
    }

    /// What the same key gets now.
    pub(crate) fn answer(self, intent: &Intent) -> Answer {
        let same = self.fingerprint == intent.fingerprint.digest();
        // The mutant answers another request with the receipt of the first.
        if !same && !cfg!(feature = "mutant-no-fingerprint") {
            return Answer::Reused;
        }
        match self.state.as_str() {
            "completed" | "unknown" | "failed_terminal" | "expired" => {}
            _ => return Answer::InProgress,
        }
        if self.expired != Some(false) {
            return Answer::Expired;
        }
        // A missing snapshot has been erased: never carried out again.
        let Some(receipt) = Receipt::from_columns(self.status, self.headers, self.body) else {
            return Answer::Expired;
        };
        Answer::Replayed { receipt, first: self.created_at }
    }
}

/// What stands at the beginning of a unit of work.
pub(crate) struct Sight {
    /// The key's lock is ours until the transaction ends.
    pub(crate) locked: bool,
    /// The moment, by the database's clock.
    pub(crate) at: DateTime<Utc>,
    /// The key's record, if there is one.
    pub(crate) found: Option<Found>,
}

/// Asks for the key's lock, then looks: two statements in that order, sent together.
///
/// In one statement the snapshot would be older than the lock, and the winner's record invisible to the loser.
pub(crate) async fn lock_and_find(tx: &Tx, intent: &Intent) -> Result<Sight> {
    use idempotency_record as record;
    use idempotency_snapshot as snapshot;
    let caller = &intent.scope.caller;
    let lock = diesel::select((pg_try_advisory_xact_lock(intent.lock_number()), clock_timestamp()));
    let find = record::table
        .left_join(snapshot::table.on(snapshot::operation_id.eq(record::operation_id)))
        .filter(record::tenant_id.eq(caller.tenant.as_str()))
        .filter(record::client_id.eq(caller.client.as_str()))
        .filter(record::method.eq(&intent.scope.method))
        .filter(record::route.eq(&intent.scope.route))
        .filter(record::key.eq(intent.key.as_str()))
        .select((
            record::operation_id,
            record::fingerprint,
            record::state,
            record::status,
            record::created_at,
            record::expires_at.le(clock_timestamp().nullable()),
            snapshot::headers.nullable(),
            snapshot::body.nullable(),
        ));
    let (mut first, mut second) = (tx, tx);
    let ((locked, at), found) =
        try_join(lock.get_result(&mut first), find.get_results::<Found>(&mut second)).await?;
    Ok(Sight { locked, at, found: found.into_iter().next() })
}

/// The completed record, waiting for the end of its transaction.
pub(crate) struct Completed {
    pub(crate) intent: Intent,
    pub(crate) operation: OperationId,
    pub(crate) receipt: Receipt,
    pub(crate) retention: Retention,
}

impl Completed {
    fn inserts(self) -> [Insert; 2] {
        use idempotency_record as record;
        let Self { intent, operation, receipt, retention } = self;
        let Scope { caller, method, route } = intent.scope;
        let columns = (
            record::tenant_id.eq(String::from(caller.tenant)),
            record::client_id.eq(String::from(caller.client)),
            record::method.eq(method),
            record::route.eq(route),
            record::key.eq(intent.key.as_str().to_owned()),
            record::fingerprint.eq(intent.fingerprint.digest().to_vec()),
            record::fingerprint_version.eq(i16::try_from(intent.fingerprint.version()).unwrap_or(0)),
            record::state.eq("completed"),
            record::operation_id.eq(operation.uuid()),
            record::status.eq(i16::try_from(receipt.status).unwrap_or(500)),
            record::completed_at.eq(clock_timestamp().nullable()),
            record::expires_at.eq(from_now(retention.reply).nullable()),
            record::tombstone_until.eq(from_now(retention.tombstone).nullable()),
        );
        let snapshot = (
            idempotency_snapshot::operation_id.eq(operation.uuid()),
            idempotency_snapshot::headers.eq(receipt.headers_as_json()),
            idempotency_snapshot::body.eq(receipt.body),
        );
        [
            Insert::new(diesel::insert_into(record::table).values(columns)),
            Insert::new(diesel::insert_into(idempotency_snapshot::table).values(snapshot)),
        ]
    }
}

impl Buffered for Completed {
    fn inserts(rows: Vec<Self>) -> Vec<Insert> {
        rows.into_iter().flat_map(Self::inserts).collect()
    }
}
