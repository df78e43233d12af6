//! The rows of a phased command. What moves a record says where it must stand, and learns whether it stood there.

use chrono::TimeDelta;
use contracts::OperationId;
use database::functions::{clock_timestamp, from_now};
use database::{Connection, Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::Value;

use super::operation::OperationState;
use crate::record::{idempotency_record, idempotency_snapshot};
use crate::{KeyedRequest, Operation, Retention, StoredResponse};

diesel::table! {
    idempotency_operation (operation_id) {
        operation_id -> Uuid,
        tenant_id -> Text,
        client_id -> Text,
        state -> Text,
        status -> Nullable<SmallInt>,
        headers -> Nullable<Jsonb>,
        body -> Nullable<Binary>,
        reply_kept -> Interval,
        tombstone_kept -> Interval,
        started_at -> Timestamptz,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

diesel::allow_tables_to_appear_in_same_query!(idempotency_record, idempotency_operation);
diesel::allow_tables_to_appear_in_same_query!(idempotency_snapshot, idempotency_operation);

pub(super) const STARTED: &str = "started";
pub(super) const COMPLETED: &str = "completed";
pub(super) const UNKNOWN: &str = "unknown";
pub(super) const FAILED_RETRYABLE: &str = "failed_retryable";
pub(super) const FAILED_TERMINAL: &str = "failed_terminal";

/// The record, `started`, and its operation, `running`.
pub(super) async fn insert(
    tx: &mut Tx,
    intent: &KeyedRequest,
    operation: &Operation,
    retention: Retention,
) -> Result<()> {
    use idempotency_operation as row;
    use idempotency_record as record;
    let (caller, id) = (&operation.caller, operation.id.uuid());
    let columns = (
        record::tenant_id.eq(caller.tenant.as_str()),
        record::client_id.eq(caller.client.as_str()),
        record::method.eq(&intent.scope.method),
        record::route.eq(&intent.scope.route),
        record::key.eq(intent.key.as_str()),
        record::fingerprint.eq(intent.fingerprint.digest().as_slice()),
        record::fingerprint_version.eq(i16::try_from(intent.fingerprint.version()).unwrap_or(0)),
        record::state.eq(STARTED),
        record::operation_id.eq(id),
    );
    diesel::insert_into(record::table).values(columns).execute(tx).await?;
    let columns = (
        row::operation_id.eq(id),
        row::tenant_id.eq(caller.tenant.as_str()),
        row::client_id.eq(caller.client.as_str()),
        row::reply_kept.eq(retention.reply),
        row::tombstone_kept.eq(retention.tombstone),
    );
    diesel::insert_into(row::table).values(columns).execute(tx).await?;
    Ok(())
}

/// Moves a record that stands in `from`, and says whether it did.
pub(super) async fn move_record(tx: &mut Tx, id: OperationId, from: &str, to: &str) -> Result<bool> {
    use idempotency_record as record;
    let standing = record::table.filter(record::operation_id.eq(id.uuid())).filter(record::state.eq(from));
    let moved = diesel::update(standing).set(record::state.eq(to)).execute(tx).await?;
    Ok(moved == 1)
}

/// Gives a record that stands in one of `from` its receipt, and says whether it did: a record gets one, once.
pub(super) async fn give_receipt(
    tx: &mut Tx,
    id: OperationId,
    from: &[&str],
    to: &str,
    receipt: &StoredResponse,
    retention: Retention,
) -> Result<bool> {
    use idempotency_record as record;
    use idempotency_snapshot as snapshot;
    let standing =
        record::table.filter(record::operation_id.eq(id.uuid())).filter(record::state.eq_any(from.to_vec()));
    let columns = (
        record::state.eq(to),
        record::status.eq(i16::try_from(receipt.status).unwrap_or(500)),
        record::completed_at.eq(clock_timestamp().nullable()),
        record::expires_at.eq(from_now(retention.reply).nullable()),
        record::tombstone_until.eq(from_now(retention.tombstone).nullable()),
    );
    if diesel::update(standing).set(columns).execute(tx).await? == 0 {
        return Ok(false);
    }
    let columns = (
        snapshot::operation_id.eq(id.uuid()),
        snapshot::headers.eq(receipt.headers_as_json()),
        snapshot::body.eq(&receipt.body),
    );
    diesel::insert_into(snapshot::table).values(columns).execute(tx).await?;
    Ok(true)
}

/// Where an operation that has not ended is now; with a reply, if its latest try or its end has one. An operation that
/// has ended stays as it is.
pub(super) async fn move_operation(
    tx: &mut Tx,
    id: OperationId,
    to: OperationState,
    reply: Option<&StoredResponse>,
) -> Result<()> {
    use idempotency_operation as row;
    let open = row::table.find(id.uuid()).filter(row::state.eq_any(["running", "unknown"]));
    let columns = (
        row::state.eq(to.name()),
        row::status.eq(reply.map(|reply| i16::try_from(reply.status).unwrap_or(500))),
        row::headers.eq(reply.map(StoredResponse::headers_as_json)),
        row::body.eq(reply.map(|reply| &reply.body)),
        row::updated_at.eq(clock_timestamp()),
    );
    diesel::update(open).set(columns).execute(tx).await?;
    Ok(())
}

/// Its next try begins now.
pub(super) async fn restart_operation(tx: &mut Tx, id: OperationId) -> Result<()> {
    move_operation(tx, id, OperationState::Running, None).await?;
    let row = diesel::update(idempotency_operation::table.find(id.uuid()));
    row.set(idempotency_operation::started_at.eq(clock_timestamp())).execute(tx).await?;
    Ok(())
}

/// Whether its latest try began longer ago than `limit`.
pub(super) async fn is_overdue(tx: &mut Tx, id: OperationId, limit: TimeDelta) -> Result<bool> {
    use idempotency_operation as row;
    let overdue = row::table.find(id.uuid()).select(row::started_at.le(from_now(-limit)));
    // A record without an operation is nobody's to wait for; the one-transaction form has none that is `started`.
    Ok(overdue.first(tx).await.optional()?.unwrap_or(true))
}

/// How long its receipt and its key are kept.
pub(super) async fn retention(tx: &mut Tx, id: OperationId) -> Result<Retention> {
    use idempotency_operation as row;
    let kept = row::table.find(id.uuid()).select((row::reply_kept, row::tombstone_kept));
    let (reply, tombstone) = kept.first(tx).await?;
    Ok(Retention { reply, tombstone })
}

/// What whoever waits for an operation sees.
#[derive(Debug)]
pub(super) enum Standing {
    /// No receipt yet.
    Started,
    /// Its receipt.
    StoredResponse(StoredResponse),
    /// No receipt: the try proved to be without effect, and this says so.
    Retryable(StoredResponse),
    /// It had one, and it is gone.
    Erased,
}

/// How it stands, in one statement.
pub(super) async fn standing(connection: &mut Connection, id: OperationId) -> Result<Standing> {
    use idempotency_operation as operation;
    use idempotency_record as record;
    use idempotency_snapshot as snapshot;
    type Reply = (Option<i16>, Option<Value>, Option<Vec<u8>>);
    let row = record::table
        .left_join(snapshot::table.on(snapshot::operation_id.eq(record::operation_id)))
        .left_join(operation::table.on(operation::operation_id.eq(record::operation_id)))
        .filter(record::operation_id.eq(id.uuid()))
        .select((
            record::state,
            (record::status, snapshot::headers.nullable(), snapshot::body.nullable()),
            (operation::status.nullable(), operation::headers.nullable(), operation::body.nullable()),
        ));
    let row: Option<(String, Reply, Reply)> = row.first(connection).await.optional()?;
    let Some((state, receipt, latest)) = row else { return Ok(Standing::Erased) };
    Ok(match state.as_str() {
        STARTED => Standing::Started,
        FAILED_RETRYABLE => read(latest).map_or(Standing::Started, Standing::Retryable),
        _ => read(receipt).map_or(Standing::Erased, Standing::StoredResponse),
    })
}

fn read((status, headers, body): (Option<i16>, Option<Value>, Option<Vec<u8>>)) -> Option<StoredResponse> {
    StoredResponse::from_columns(status, headers, body)
}
