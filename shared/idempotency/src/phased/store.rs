//! The SQL of phased commands. Every update of a record names the state that the record must have, and reports whether
//! it had that state.

use std::time::Duration;

use chrono::TimeDelta;
use database::functions::{clock_timestamp, from_now, from_now_by};
use database::{Connection, Result, Tx};
use diesel::dsl::case_when;
use diesel::prelude::*;
use diesel::result::Error::SerializationError;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use envelope::OperationId;
use serde::Serialize;
use strum::{EnumString, IntoStaticStr};

use crate::record::{RecordState, idempotency_record, idempotency_snapshot};
use crate::stored_response::ResponseColumns;
use crate::{KeyedRequest, Operation, Outcome, Retention, StoredResponse};

diesel::table! {
    idempotency_operation (operation_id) {
        operation_id -> Uuid,
        tenant_id -> Text,
        client_id -> Text,
        state -> Text,
        status -> Nullable<Integer>,
        headers -> Nullable<Jsonb>,
        body -> Nullable<Binary>,
        reply_kept -> Interval,
        tombstone_kept -> Interval,
        started_at -> Timestamptz,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
        erase_at -> Nullable<Timestamptz>,
    }
}

diesel::allow_tables_to_appear_in_same_query!(idempotency_record, idempotency_operation);
diesel::allow_tables_to_appear_in_same_query!(idempotency_snapshot, idempotency_operation);

/// The state of an operation. A closed list: a new value is a new version of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, Serialize)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = OperationStatus))]
pub enum OperationState {
    /// The operation has not ended, and nothing about it is in doubt.
    Running,
    /// The command took effect. Final.
    Succeeded,
    /// The command took no effect and never will. Final.
    Failed,
    /// It is not known yet whether the command took effect.
    Unknown,
}

database::stored_as_text!(OperationState);

/// Inserts the record, `started`, and its operation, `running`.
pub(super) async fn insert(
    tx: &mut Tx,
    request: &KeyedRequest,
    operation: &Operation,
    retention: Retention,
) -> Result<()> {
    use idempotency_operation as row;
    use idempotency_record as record;
    let (caller, id) = (&operation.caller, operation.id.uuid());
    let columns = (
        record::tenant_id.eq(caller.tenant.as_str()),
        record::client_id.eq(caller.client.as_str()),
        record::method.eq(&request.scope.method),
        record::route.eq(&request.scope.route),
        record::key.eq(request.key.as_str()),
        record::fingerprint.eq(request.fingerprint.digest().as_slice()),
        record::fingerprint_version.eq(request.fingerprint.version()),
        record::state.eq(RecordState::Started),
        record::operation_id.eq(id),
    );
    diesel::insert_into(record::table).values(columns).execute(tx).await?;
    let columns = (
        row::operation_id.eq(id),
        row::tenant_id.eq(caller.tenant.as_str()),
        row::client_id.eq(caller.client.as_str()),
        row::state.eq(OperationState::Running),
        row::reply_kept.eq(retention.reply),
        row::tombstone_kept.eq(retention.tombstone),
    );
    diesel::insert_into(row::table).values(columns).execute(tx).await?;
    Ok(())
}

/// Moves a record that is in state `from`. Returns whether it was.
pub(super) async fn move_record(
    tx: &mut Tx,
    id: OperationId,
    from: RecordState,
    to: RecordState,
) -> Result<bool> {
    use idempotency_record as record;
    let row = record::table.filter(record::operation_id.eq(id.uuid())).filter(record::state.eq(from));
    let moved = diesel::update(row).set(record::state.eq(to)).execute(tx).await?;
    Ok(moved == 1)
}

/// Moves a record that is in one of the states `from`, and stores its response. Returns whether it was in one of them.
/// These states have no response, so a response is stored once.
pub(super) async fn store_response(
    tx: &mut Tx,
    id: OperationId,
    from: &[RecordState],
    to: RecordState,
    response: &StoredResponse,
    retention: Retention,
) -> Result<bool> {
    use idempotency_record as record;
    use idempotency_snapshot as snapshot;
    let row =
        record::table.filter(record::operation_id.eq(id.uuid())).filter(record::state.eq_any(from.to_vec()));
    let columns = (
        record::state.eq(to),
        record::status.eq(i32::from(response.status)),
        record::completed_at.eq(clock_timestamp().nullable()),
        record::expires_at.eq(from_now(retention.reply).nullable()),
        record::tombstone_until.eq(from_now(retention.tombstone).nullable()),
    );
    if diesel::update(row).set(columns).execute(tx).await? == 0 {
        return Ok(false);
    }
    let columns = (
        snapshot::operation_id.eq(id.uuid()),
        snapshot::headers.eq(response.headers_as_json()),
        snapshot::body.eq(&response.body),
    );
    diesel::insert_into(snapshot::table).values(columns).execute(tx).await?;
    Ok(true)
}

/// Moves an operation that has not ended. Stores the response of its last attempt or of its end, or clears it. From its end
/// on, an operation is kept as long as a key. An operation that has ended does not change. Returns whether it
/// had not ended.
pub(super) async fn move_operation(
    tx: &mut Tx,
    id: OperationId,
    to: OperationState,
    response: Option<&StoredResponse>,
) -> Result<bool> {
    use idempotency_operation as row;
    let open = [OperationState::Running, OperationState::Unknown];
    let open = row::table.find(id.uuid()).filter(row::state.eq_any(open));
    let has_ended = matches!(to, OperationState::Succeeded | OperationState::Failed);
    let kept_until = from_now_by(row::tombstone_kept).nullable();
    let columns = (
        row::state.eq(to),
        row::erase_at.eq(case_when(has_ended.into_sql::<Bool>(), kept_until)),
        row::status.eq(response.map(|response| i32::from(response.status))),
        row::headers.eq(response.map(StoredResponse::headers_as_json)),
        row::body.eq(response.map(|response| &response.body)),
        row::updated_at.eq(clock_timestamp()),
    );
    Ok(diesel::update(open).set(columns).execute(tx).await? == 1)
}

/// Starts the next attempt of an operation now.
pub(super) async fn restart_operation(tx: &mut Tx, id: OperationId) -> Result<()> {
    move_operation(tx, id, OperationState::Running, None).await?;
    let row = diesel::update(idempotency_operation::table.find(id.uuid()));
    row.set(idempotency_operation::started_at.eq(clock_timestamp())).execute(tx).await?;
    Ok(())
}

/// Reports whether the last attempt began longer ago than `limit`.
pub(super) async fn is_overdue(tx: &mut Tx, id: OperationId, limit: Duration) -> Result<bool> {
    use idempotency_operation as row;
    let limit = TimeDelta::from_std(limit).map_err(|error| SerializationError(Box::new(error)))?;
    let is_overdue = row::table.find(id.uuid()).select(row::started_at.le(from_now(-limit)));
    // A `started` record without an operation: no worker can conclude it, so do not wait.
    Ok(is_overdue.first(tx).await.optional()?.unwrap_or(true))
}

/// How long the operation's response and key are kept; `None` if the operation has been erased.
pub(super) async fn retention(tx: &mut Tx, id: OperationId) -> Result<Option<Retention>> {
    use idempotency_operation as row;
    let columns = row::table.find(id.uuid()).select((row::reply_kept, row::tombstone_kept));
    let kept = columns.first(tx).await.optional()?;
    Ok(kept.map(|(reply, tombstone)| Retention { reply, tombstone }))
}

/// Reads the outcome of an operation by one statement; `None` as long as there is no response.
pub(super) async fn find_outcome(connection: &mut Connection, id: OperationId) -> Result<Option<Outcome>> {
    use idempotency_operation as operation;
    use idempotency_record as record;
    use idempotency_snapshot as snapshot;
    let row = record::table
        .left_join(snapshot::table.on(snapshot::operation_id.eq(record::operation_id)))
        .left_join(operation::table.on(operation::operation_id.eq(record::operation_id)))
        .filter(record::operation_id.eq(id.uuid()))
        .select((
            record::state,
            (record::status, snapshot::headers.nullable(), snapshot::body.nullable()),
            (operation::status.nullable(), operation::headers.nullable(), operation::body.nullable()),
        ));
    let row: Option<(RecordState, ResponseColumns, ResponseColumns)> =
        row.first(connection).await.optional()?;
    let Some((state, stored, last_attempt)) = row else { return Ok(Some(Outcome::Expired)) };
    Ok(match state {
        RecordState::Started => None,
        RecordState::FailedRetryable => Option::try_from(last_attempt)?.map(Outcome::Refused),
        RecordState::Completed
        | RecordState::Unknown
        | RecordState::FailedTerminal
        | RecordState::Expired
        | RecordState::Fenced => Some(Option::try_from(stored)?.map_or(Outcome::Expired, Outcome::Executed)),
    })
}
