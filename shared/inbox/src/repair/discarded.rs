//! `has_discarded`: whether an operator has discarded an event of an aggregate. The audit fact of the discard says so.

use database::{Result, Tx};
use diesel::QueryableByName;
use diesel::sql_types::{Bool, Text};
use diesel_async::RunQueryDsl;
use envelope::{Event, TenantId};
use uuid::Uuid;

/// Uses the index `audit_fact_discarded`, whose condition is the same.
const DISCARDED: &str = "\
    SELECT EXISTS (SELECT FROM audit_fact \
                    WHERE action = 'inbox.discard' AND details ->> 'aggregate_id' = $1 \
                      AND tenant_id = $2 AND details ->> 'consumer' = $3 AND details ->> 'type' = $4) AS is_discarded";

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Bool)]
    is_discarded: bool,
}

/// Reports whether this consumer's message of type `E` about the aggregate of this tenant was discarded. A command that makes
/// up for the discarded message requires it as evidence that the event was announced. The message of another tenant is none.
///
/// # Errors
/// Database errors.
pub async fn has_discarded<E: Event>(
    tx: &mut Tx,
    consumer: &str,
    tenant: &TenantId,
    aggregate: Uuid,
) -> Result<bool> {
    let query = diesel::sql_query(DISCARDED)
        .bind::<Text, _>(aggregate.to_string())
        .bind::<Text, _>(tenant.to_string())
        .bind::<Text, _>(consumer.to_owned())
        .bind::<Text, _>(E::TYPE);
    let row: Row = query.get_result(tx).await?;
    Ok(row.is_discarded)
}
