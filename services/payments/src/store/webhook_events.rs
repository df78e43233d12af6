//! What the processor told us of its own accord: that it did, and what it was about.

use chrono::{DateTime, Utc};
use contracts::{PaymentId, TenantId};
use database::{Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::unreadable;
use crate::schema::{intent, webhook_event};

/// An event that has come.
pub(crate) struct NewEvent<'a> {
    /// The processor's.
    pub(crate) id: &'a str,
    pub(crate) kind: &'a str,
    /// The processor's name of what it is about.
    pub(crate) object: Option<&'a str>,
    /// Ours of what it is about.
    pub(crate) subject: Option<&'a Known>,
    /// SHA-256.
    pub(crate) body_hash: &'a [u8],
    /// By the processor's clock.
    pub(crate) created_at: DateTime<Utc>,
}

/// Inserts it; `false` if it has come before.
pub(crate) async fn insert(tx: &mut Tx, new: &NewEvent<'_>) -> Result<bool> {
    let inserted = diesel::insert_into(webhook_event::table)
        .values((
            webhook_event::id.eq(new.id),
            webhook_event::kind.eq(new.kind),
            webhook_event::object_id.eq(new.object),
            webhook_event::tenant_id.eq(new.subject.map(|known| known.tenant.as_str())),
            webhook_event::intent_id.eq(new.subject.map(|known| known.intent)),
            webhook_event::body_hash.eq(new.body_hash),
            webhook_event::created_at.eq(new.created_at),
        ))
        .on_conflict_do_nothing()
        .execute(tx)
        .await?;
    Ok(inserted == 1)
}

/// An intent of ours that an object of the processor belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) intent: Uuid,
    pub(crate) payment: PaymentId,
    pub(crate) tenant: TenantId,
}

/// The intent of this reference, or else of the first of these objects that has one.
pub(crate) async fn known(tx: &mut Tx, reference: Option<Uuid>, objects: &[String]) -> Result<Option<Known>> {
    if let Some(reference) = reference {
        let row = intent::table.find(reference).select((intent::id, intent::payment_id, intent::tenant_id));
        if let Some(known) = row.first(tx).await.optional()? {
            return Known::of(known).map(Some);
        }
    }
    for object in objects {
        let row = intent::table.filter(intent::processor_object.eq(object));
        let row = row.select((intent::id, intent::payment_id, intent::tenant_id));
        if let Some(known) = row.first(tx).await.optional()? {
            return Known::of(known).map(Some);
        }
    }
    Ok(None)
}

impl Known {
    fn of((intent, payment, tenant): (Uuid, Uuid, String)) -> Result<Self> {
        let tenant = tenant.parse().map_err(|_| unreadable("intent.tenant_id"))?;
        Ok(Self { intent, payment: payment.into(), tenant })
    }
}
