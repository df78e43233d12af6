//! What is to be asked of the processor, and who is asking. A row is locked only after its payment.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use contracts::{PaymentId, TenantId};
use database::functions::{FromNow, clock_timestamp, from_now};
use database::{Result, Tx};
use diesel::dsl::Nullable;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::payments::PaymentRow;
use super::unreadable;
use crate::domain::{Deadlines, Next, Outcome};
use crate::schema::{coalesce, intent, payment};

/// What an intent asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// To charge its payment.
    Charge,
    /// To give back a part of it, or all.
    Refund,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Charge => "charge",
            Self::Refund => "refund",
        }
    }
}

/// An intent as it is stored. It holds the processor's key, so it is not printed.
#[derive(Clone, Queryable, Selectable)]
#[diesel(table_name = intent)]
pub(crate) struct IntentRow {
    pub(crate) id: Uuid,
    kind: String,
    pub(crate) payment_id: Uuid,
    pub(crate) provider_key: String,
    pub(crate) request: Vec<u8>,
    pub(crate) attempt: i32,
    pub(crate) in_flight: bool,
    pub(crate) traceparent: Option<String>,
}

impl IntentRow {
    pub(crate) fn kind(&self) -> Result<Kind> {
        match self.kind.as_str() {
            "charge" => Ok(Kind::Charge),
            "refund" => Ok(Kind::Refund),
            _ => Err(unreadable("intent.kind")),
        }
    }
}

/// An intent that is to be carried out, from now on.
pub(crate) struct NewIntent<'a> {
    pub(crate) id: Uuid,
    pub(crate) tenant: &'a TenantId,
    pub(crate) kind: Kind,
    pub(crate) payment: PaymentId,
    pub(crate) provider_key: String,
    pub(crate) request: Vec<u8>,
}

/// Inserts it. Key and request never change any more.
pub(crate) async fn insert(tx: &mut Tx, new: NewIntent<'_>) -> Result<()> {
    let traceparent = tx.traceparent().map(str::to_owned);
    diesel::insert_into(intent::table)
        .values((
            intent::id.eq(new.id),
            intent::tenant_id.eq(new.tenant.as_str()),
            intent::kind.eq(new.kind.name()),
            intent::payment_id.eq(new.payment.uuid()),
            intent::provider_key.eq(new.provider_key),
            intent::request.eq(new.request),
            intent::traceparent.eq(traceparent),
        ))
        .execute(tx)
        .await?;
    Ok(())
}

/// An intent that has come due, with its payment; both are locked.
pub(crate) struct Due {
    pub(crate) intent: IntentRow,
    pub(crate) payment: PaymentRow,
    pub(crate) deadlines: Deadlines,
}

/// Takes what is due, the most overdue first. What somebody else has locked is left to them: this never waits.
pub(crate) async fn due(tx: &mut Tx, limit: i64, key_life: Duration) -> Result<Vec<Due>> {
    let key_life = TimeDelta::from_std(key_life).unwrap_or(TimeDelta::MAX);
    let rows: Vec<(IntentRow, PaymentRow, bool, Option<bool>)> = intent::table
        .inner_join(payment::table)
        .filter(intent::due_at.le(clock_timestamp().nullable()))
        .order(intent::due_at)
        .limit(limit)
        .select((
            IntentRow::as_select(),
            PaymentRow::as_select(),
            payment::expires_at.le(clock_timestamp()),
            intent::sent_since.le(from_now(-key_life).nullable()),
        ))
        .for_update()
        .skip_locked()
        .load(tx)
        .await?;
    let due = |(intent, payment, expired, key_forgotten): (_, _, _, Option<bool>)| Due {
        intent,
        payment,
        deadlines: Deadlines { expired, key_forgotten: key_forgotten.unwrap_or(false) },
    };
    Ok(rows.into_iter().map(due).collect())
}

/// Begins an attempt and leases it; returns its number, the fence.
pub(crate) async fn begin(tx: &mut Tx, id: Uuid, lease: Duration) -> Result<i32> {
    let attempt = diesel::update(intent::table.find(id))
        .set((
            intent::attempt.eq(intent::attempt + 1),
            intent::in_flight.eq(true),
            intent::due_at.eq(after(lease)),
            intent::sent_since.eq(coalesce(intent::sent_since, clock_timestamp()).nullable()),
        ))
        .returning(intent::attempt)
        .get_result(tx)
        .await?;
    Ok(attempt)
}

/// Locks an intent that is there. Its payment is locked.
pub(crate) async fn lock(tx: &mut Tx, id: Uuid) -> Result<IntentRow> {
    Ok(intent::table.find(id).select(IntentRow::as_select()).for_update().first(tx).await?)
}

/// Nothing is to be asked any more.
pub(crate) async fn rest(tx: &mut Tx, id: Uuid) -> Result<()> {
    let at_rest = (intent::in_flight.eq(false), intent::due_at.eq(NEVER));
    diesel::update(intent::table.find(id)).set(at_rest).execute(tx).await?;
    Ok(())
}

/// Leaves it as it is for so long.
pub(crate) async fn postpone(tx: &mut Tx, id: Uuid, pause: Duration) -> Result<()> {
    diesel::update(intent::table.find(id)).set(intent::due_at.eq(after(pause))).execute(tx).await?;
    Ok(())
}

/// Ends an attempt as the decision about its outcome says.
pub(crate) async fn end(tx: &mut Tx, id: Uuid, outcome: &Outcome, next: Next, pause: Duration) -> Result<()> {
    let shown = intent::last_outcome.eq(outcome.to_string());
    let row = diesel::update(intent::table.find(id));
    match next {
        // Somebody else is asking, or nobody needs to.
        Next::Keep => 0,
        Next::Rest => {
            row.set((shown, intent::in_flight.eq(false), intent::due_at.eq(NEVER))).execute(tx).await?
        }
        Next::Attempt | Next::Retry { in_doubt: true } => {
            row.set((shown, intent::in_flight.eq(false), intent::due_at.eq(after(pause)))).execute(tx).await?
        }
        Next::Retry { in_doubt: false } => {
            let unsent = intent::sent_since.eq(NEVER);
            row.set((shown, unsent, intent::in_flight.eq(false), intent::due_at.eq(after(pause))))
                .execute(tx)
                .await?
        }
    };
    Ok(())
}

const NEVER: Option<DateTime<Utc>> = None;

fn after(length: Duration) -> Nullable<FromNow> {
    from_now(TimeDelta::from_std(length).unwrap_or(TimeDelta::MAX)).nullable()
}
