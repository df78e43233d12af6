//! The record of one key: compared and written.

use std::mem::take;

use chrono::{DateTime, Utc};
use contracts::OperationId;
use database::functions::{clock_timestamp, from_now};
use database::{Buffered, Insert, InsertRows};
use diesel::prelude::*;
use diesel::sql_types::Text;
use serde_json::Value;
use uuid::Uuid;

use crate::{KeyedRequest, Operation, Outcome, Retention, StoredResponse};

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
#[derive(Debug, Clone, Queryable)]
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
    pub(crate) fn answer(self, intent: &KeyedRequest) -> Outcome {
        let same = self.fingerprint == intent.fingerprint.digest();
        // The mutant answers another request with the receipt of the first.
        if !same && !cfg!(feature = "mutant-no-fingerprint") {
            return Outcome::Reused;
        }
        match self.state.as_str() {
            "completed" | "unknown" | "failed_terminal" | "expired" => {}
            _ => return Outcome::InProgress,
        }
        if self.expired != Some(false) {
            return Outcome::Expired;
        }
        // A missing snapshot has been erased: never carried out again.
        let Some(receipt) = StoredResponse::from_columns(self.status, self.headers, self.body) else {
            return Outcome::Expired;
        };
        Outcome::Replayed { receipt, first: self.created_at }
    }
}

/// Completed records with their answers, waiting for the end of their transaction.
pub(crate) struct Completed {
    pub(crate) retention: Retention,
    pub(crate) all: Vec<(KeyedRequest, Operation, StoredResponse)>,
}

impl Completed {
    fn inserts(self) -> [Insert; 2] {
        use idempotency_record as record;
        use idempotency_snapshot as snapshot;
        let Self { retention, mut all } = self;
        let answers: Vec<(Uuid, Value, Vec<u8>)> = all
            .iter_mut()
            .map(|(_, operation, receipt)| {
                (operation.id.uuid(), receipt.headers_as_json(), take(&mut receipt.body))
            })
            .collect();
        let snapshots = InsertRows::new(snapshot::table, answers)
            .column(snapshot::operation_id, |(operation, ..)| *operation)
            .column(snapshot::headers, |(_, headers, _)| headers.take())
            .column(snapshot::body, |(.., body)| take(body));
        let records = InsertRows::new(record::table, all)
            .column(record::tenant_id, |(intent, ..)| intent.scope.caller.tenant.to_string())
            .column(record::client_id, |(intent, ..)| intent.scope.caller.client.to_string())
            .column(record::method, |(intent, ..)| take(&mut intent.scope.method))
            .column(record::route, |(intent, ..)| take(&mut intent.scope.route))
            .column(record::key, |(intent, ..)| intent.key.as_str().to_owned())
            .column(record::fingerprint, |(intent, ..)| intent.fingerprint.digest().to_vec())
            .column(record::fingerprint_version, |(intent, ..)| {
                i16::try_from(intent.fingerprint.version()).unwrap_or(0)
            })
            .all(record::state, "completed".into_sql::<Text>())
            .column(record::operation_id, |(_, operation, _)| operation.id.uuid())
            .column(record::status, |(.., receipt)| Some(i16::try_from(receipt.status).unwrap_or(500)))
            .column(record::created_at, |(_, operation, _)| operation.at)
            .all(record::completed_at, clock_timestamp().nullable())
            .all(record::expires_at, from_now(retention.reply).nullable())
            .all(record::tombstone_until, from_now(retention.tombstone).nullable());
        [Insert::new(snapshots), Insert::new(records)]
    }
}

impl Buffered for Completed {
    fn inserts(rows: Vec<Self>) -> Vec<Insert> {
        rows.into_iter().flat_map(Self::inserts).collect()
    }
}
