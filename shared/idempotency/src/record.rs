//! The record of a key: its table, its states, and the statement that stores completed records.
//!
//! A record that was read is compared with the request. A key with another fingerprint is never answered with the
//! stored response. `erasure/` moves a record to the tombstones once its response has expired.

use std::mem::take;

use chrono::{DateTime, Utc};
use database::functions::{clock_timestamp, from_now};
use database::{Buffered, InsertRows, Result, Write};
use diesel::prelude::*;
use diesel::result::Error::DeserializationError;
use diesel::sql_types::Text;
use envelope::OperationId;
use serde::Serialize;
use serde_json::Value;
use strum::{EnumString, IntoStaticStr};
use uuid::Uuid;

use crate::stored_response::ResponseColumns;
use crate::{KeyedRequest, Operation, Outcome, Retention, StoredResponse};

diesel::table! {
    idempotency_record (tenant_id, client_id, method, route, key) {
        tenant_id -> Text,
        client_id -> Text,
        method -> Text,
        route -> Text,
        key -> Text,
        fingerprint -> Binary,
        fingerprint_version -> Integer,
        state -> Text,
        operation_id -> Uuid,
        status -> Nullable<Integer>,
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

/// The state of a record. The table in `phased/mod.rs` lists the transitions. In the table and in JSON: in snake case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, Serialize)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum RecordState {
    /// A phased command was accepted and has no response yet.
    Started,
    /// The response is stored.
    Completed,
    /// The response is 202; the outcome is still open.
    Unknown,
    /// The last attempt had no effect; a retry executes the command again.
    FailedRetryable,
    /// The command can never be executed; the response is stored.
    FailedTerminal,
    /// The response has been erased; the key is still remembered. The state of every tombstone.
    Expired,
    /// No command is executed under the key any more. The state of every fence, and of no record.
    Fenced,
}

impl RecordState {
    /// Reports whether a record in this state has, or had, a response for its key.
    pub(crate) const fn has_response(self) -> bool {
        match self {
            Self::Started | Self::FailedRetryable | Self::Fenced => false,
            Self::Completed | Self::Unknown | Self::FailedTerminal | Self::Expired => true,
        }
    }
}

database::stored_as_text!(RecordState);

/// A record as it was read, with its response if that has not been erased. A tombstone is read as an expired record, a fence as one
/// without an operation.
#[derive(Debug, Clone, Queryable)]
pub(crate) struct StoredRecord {
    operation_id: Uuid,
    fingerprint: Vec<u8>,
    fingerprint_version: i32,
    state: RecordState,
    created_at: DateTime<Utc>,
    expires_at: Option<DateTime<Utc>>,
    is_expired: Option<bool>,
    #[diesel(deserialize_as = ResponseColumns)]
    pub(crate) response: Option<StoredResponse>,
}

impl StoredRecord {
    /// The record of a command that is about to commit. Its row expires a little later, because the database adds the retention
    /// when it writes the row.
    pub(crate) fn completed(
        request: &KeyedRequest,
        operation: &Operation,
        response: &StoredResponse,
        retention: Retention,
    ) -> Self {
        Self {
            operation_id: operation.id.uuid(),
            fingerprint: request.fingerprint.digest().to_vec(),
            fingerprint_version: request.fingerprint.version(),
            state: RecordState::Completed,
            created_at: operation.at,
            expires_at: operation.at.checked_add_signed(retention.reply),
            is_expired: Some(false),
            response: Some(response.clone()),
        }
    }

    /// The time at which the response expires. The record never changes before. `None` if the record may change, or has no response.
    pub(crate) fn replayable_until(&self) -> Option<DateTime<Utc>> {
        let is_final = self.state == RecordState::Completed && self.is_expired == Some(false);
        self.expires_at.filter(|_| is_final && self.response.is_some())
    }

    pub(crate) fn operation(&self) -> OperationId {
        self.operation_id.into()
    }

    pub(crate) fn state(&self) -> RecordState {
        self.state
    }

    /// The outcome of a request with the key of this record.
    ///
    /// Time decides first. Otherwise the outcome would change when a job moves the record to the tombstones, which have no
    /// fingerprint.
    pub(crate) fn outcome(self, request: &KeyedRequest) -> Result<Outcome> {
        if self.state == RecordState::Fenced {
            return Ok(Outcome::Fenced);
        }
        if self.state.has_response() && self.is_expired != Some(false) {
            return Ok(Outcome::Expired);
        }
        let Some(digest) = request.fingerprint.digest_by(self.fingerprint_version) else {
            let unknown = format!("fingerprint version {} is not known", self.fingerprint_version);
            return Err(DeserializationError(unknown.into()).into());
        };
        if self.fingerprint != digest {
            return Ok(Outcome::Reused);
        }
        if !self.state.has_response() {
            return Ok(Outcome::InProgress);
        }
        // A record without its snapshot: the response was erased, and the command must not run again.
        let Some(response) = self.response else { return Ok(Outcome::Expired) };
        request.log_replayed(self.operation_id.into());
        Ok(Outcome::Replayed { response, executed_at: self.created_at })
    }
}

/// Completed records with their responses, buffered until COMMIT.
pub(crate) struct CompletedRecords {
    pub(crate) retention: Retention,
    pub(crate) records: Vec<(KeyedRequest, Operation, StoredResponse)>,
}

impl CompletedRecords {
    fn parts(self) -> [Write; 2] {
        use idempotency_record as record;
        use idempotency_snapshot as snapshot;
        let Self { retention, mut records } = self;
        let snapshots: Vec<(Uuid, Value, Vec<u8>)> = records
            .iter_mut()
            .map(|(_, operation, response)| {
                (operation.id.uuid(), response.headers_as_json(), take(&mut response.body))
            })
            .collect();
        let snapshots = InsertRows::new(snapshot::table, snapshots)
            .column(snapshot::operation_id, |(operation, ..)| *operation)
            .column(snapshot::headers, |(_, headers, _)| headers.take())
            .column(snapshot::body, |(.., body)| take(body));
        let records = InsertRows::new(record::table, records)
            .column(record::tenant_id, |(request, ..)| request.scope.caller.tenant.to_string())
            .column(record::client_id, |(request, ..)| request.scope.caller.client.to_string())
            .column(record::method, |(request, ..)| take(&mut request.scope.method))
            .column(record::route, |(request, ..)| take(&mut request.scope.route))
            .column(record::key, |(request, ..)| request.key.as_str().to_owned())
            .column(record::fingerprint, |(request, ..)| request.fingerprint.digest().to_vec())
            .column(record::fingerprint_version, |(request, ..)| request.fingerprint.version())
            .all(record::state, RecordState::Completed.into_sql::<Text>())
            .column(record::operation_id, |(_, operation, _)| operation.id.uuid())
            .column(record::status, |(.., response)| Some(i32::from(response.status)))
            .column(record::created_at, |(_, operation, _)| operation.at)
            .all(record::completed_at, clock_timestamp().nullable())
            .all(record::expires_at, from_now(retention.reply).nullable())
            .all(record::tombstone_until, from_now(retention.tombstone).nullable());
        [Write::new(snapshots), Write::new(records)]
    }
}

impl Buffered for CompletedRecords {
    fn writes(rows: Vec<Self>) -> Vec<Write> {
        rows.into_iter().flat_map(Self::parts).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fingerprint::{Fingerprint, FingerprintInput};
    use crate::{Key, KeyPolicy, KeyScope};

    /// A request of a program whose newest version is 2.
    pub(crate) fn request(body: &str) -> KeyedRequest {
        let input = FingerprintInput {
            method: "POST",
            route_template: "/v1/orders",
            path_parameters: &[],
            query: &[],
            media_type: "application/json",
            actor: "web-shop",
            body: body.as_bytes(),
        };
        let first = |request: &FingerprintInput<'_>| *Fingerprint::of(request).digest();
        let second = |_: &FingerprintInput<'_>| [2; 32];
        let caller =
            envelope::Caller { tenant: "acme".parse().unwrap(), client: "web-shop".parse().unwrap() };
        let key = b"8e03978e-40d5-43e8-bc93-6894a57f9324";
        KeyedRequest {
            scope: KeyScope { caller, method: "POST".to_owned(), route: "/v1/orders".to_owned() },
            key: Key::parse(key, KeyPolicy::Uuid).unwrap(),
            fingerprint: Fingerprint::by((2, second), &[(1, first)], &input),
            traceparent: None,
        }
    }

    /// The outcome of a request whose key has a record with this fingerprint.
    fn outcome(version: i32, digest: &[u8; 32], body: &str) -> Result<Outcome> {
        let record = StoredRecord {
            operation_id: Uuid::nil(),
            fingerprint: digest.to_vec(),
            fingerprint_version: version,
            state: RecordState::Completed,
            created_at: DateTime::default(),
            expires_at: None,
            is_expired: Some(false),
            response: Some(StoredResponse { status: 201, headers: Vec::new(), body: Vec::new() }),
        };
        record.outcome(&request(body))
    }

    #[test]
    fn a_record_is_compared_by_the_version_that_it_was_stored_with() {
        let stored = request("a").fingerprint;
        for version in [1, 2] {
            let digest = stored.digest_by(version).unwrap();
            assert!(matches!(outcome(version, digest, "a"), Ok(Outcome::Replayed { .. })), "{version}");
        }
        let first = stored.digest_by(1).unwrap();
        assert!(matches!(outcome(1, first, "b"), Ok(Outcome::Reused)));
        assert!(matches!(outcome(2, first, "a"), Ok(Outcome::Reused)));
        assert!(outcome(3, first, "a").is_err());
    }
}
