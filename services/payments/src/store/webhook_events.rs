//! The table `webhook_event`: the events of the processor that were received, and the calls they are about.

use chrono::{DateTime, TimeDelta, Utc};
use contracts::PaymentId;
use database::{Result, Tx, unreadable};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Interval};
use diesel_async::RunQueryDsl;
use envelope::TenantId;
use uuid::Uuid;

use crate::schema::{processor_call as call, webhook_event};

/// An event to insert.
pub(crate) struct NewEvent<'a> {
    /// The processor's id of the event.
    pub(crate) id: &'a str,
    pub(crate) kind: &'a str,
    /// The processor's id of the event's object.
    pub(crate) object: Option<&'a str>,
    /// The call that the event is about, if it is one of ours.
    pub(crate) call: Option<&'a KnownCall>,
    /// SHA-256.
    pub(crate) body_hash: &'a [u8],
    /// By the processor's clock.
    pub(crate) created_at: DateTime<Utc>,
}

/// Inserts an event. Returns `false` if it is stored already.
pub(crate) async fn insert(tx: &mut Tx, new: &NewEvent<'_>) -> Result<bool> {
    let inserted = diesel::insert_into(webhook_event::table)
        .values((
            webhook_event::id.eq(new.id),
            webhook_event::kind.eq(new.kind),
            webhook_event::object_id.eq(new.object),
            webhook_event::tenant_id.eq(new.call.map(|call| call.tenant.as_str())),
            webhook_event::call_id.eq(new.call.map(|call| call.id)),
            webhook_event::body_hash.eq(new.body_hash),
            webhook_event::created_at.eq(new.created_at),
        ))
        .on_conflict_do_nothing()
        .execute(tx)
        .await?;
    Ok(inserted == 1)
}

/// Deletes the oldest events, up to `limit`, that were received longer than `keep` ago. Returns their number.
///
/// The events of a call stay while the call has something left to do, which is while it is due or leased, and while a review
/// about it is open, because an operator reads them as evidence.
pub(crate) async fn delete_finished(tx: &mut Tx, keep: TimeDelta, limit: i64) -> Result<u64> {
    const DELETE: &str = "\
        DELETE FROM webhook_event WHERE id IN ( \
            SELECT event.id FROM webhook_event AS event \
             WHERE event.received_at < (SELECT clock_timestamp()) - $1 \
               AND NOT EXISTS (SELECT FROM processor_call AS call \
                                WHERE call.id = event.call_id AND call.due_at IS NOT NULL) \
               AND NOT EXISTS (SELECT FROM review \
                                WHERE review.subject_id = event.call_id::text AND review.resolution IS NULL) \
             ORDER BY event.received_at LIMIT $2)";
    let delete = diesel::sql_query(DELETE).bind::<Interval, _>(keep).bind::<BigInt, _>(limit);
    Ok(u64::try_from(delete.execute(tx).await?).unwrap_or(u64::MAX))
}

/// A call that an object of the processor belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownCall {
    pub(crate) id: Uuid,
    pub(crate) payment: PaymentId,
    pub(crate) tenant: TenantId,
}

/// Finds the call with the id `reference`, or else the call of the first of these objects that has one.
pub(crate) async fn find_call(
    tx: &mut Tx,
    reference: Option<Uuid>,
    objects: &[String],
) -> Result<Option<KnownCall>> {
    if let Some(reference) = reference {
        let row = call::table.find(reference).select((call::id, call::payment_id, call::tenant_id));
        if let Some(found) = row.first(tx).await.optional()? {
            return KnownCall::read(found).map(Some);
        }
    }
    for object in objects {
        let row = call::table.filter(call::processor_object.eq(object));
        let row = row.select((call::id, call::payment_id, call::tenant_id));
        if let Some(found) = row.first(tx).await.optional()? {
            return KnownCall::read(found).map(Some);
        }
    }
    Ok(None)
}

impl KnownCall {
    fn read((id, payment, tenant): (Uuid, Uuid, String)) -> Result<Self> {
        let tenant = tenant.parse().map_err(|_| unreadable("processor_call.tenant_id"))?;
        Ok(Self { id, payment: payment.into(), tenant })
    }
}
