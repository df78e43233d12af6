//! What is to be asked of the processor, and who is asking. A row is locked only after its payment.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use contracts::{PaymentId, TenantId};
use database::functions::{FromNow, clock_timestamp, from_now};
use database::{Result, Tx, UnitOfWork};
use diesel::dsl::{Nullable, case_when};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::payments::PaymentRow;
use super::unreadable;
use crate::domain::{Asks, Deadlines, Next};
use crate::intake::ACCEPTED;
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
    pub(crate) provider_key: String,
    pub(crate) request: Vec<u8>,
    pub(crate) attempt: i32,
    pub(crate) in_flight: bool,
    pub(crate) traceparent: Option<String>,
    asks: String,
    woken: bool,
    look_ups: i32,
    pub(crate) processor_object: Option<String>,
    sent_since: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
}

impl IntentRow {
    fn asks(&self) -> Result<Asks> {
        match self.asks.as_str() {
            "request" => Ok(Asks::Request),
            "look_up" => Ok(Asks::LookUp),
            _ => Err(unreadable("intent.asks")),
        }
    }

    /// When something may have been sent for the first time.
    pub(crate) fn sent_since(&self) -> DateTime<Utc> {
        self.sent_since.unwrap_or(self.created_at)
    }

    fn deadlines(&self, payment: &PaymentRow, now: DateTime<Utc>, patience: Patience) -> Result<Deadlines> {
        let key_life = TimeDelta::from_std(patience.key_life).unwrap_or(TimeDelta::MAX);
        let is_old = |since| now.signed_duration_since(since) >= key_life;
        Ok(Deadlines {
            expired: payment.expires_at <= now,
            key_forgotten: self.sent_since.is_some_and(is_old),
            asks: self.asks()?,
            woken: self.woken,
            searched_enough: self.look_ups.saturating_add(1) >= patience.look_ups,
        })
    }

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

/// How long it is asked, and how often it is searched for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// How long the processor is trusted to remember a key, from its first use.
    pub(crate) key_life: Duration,
    /// Look-ups in a row that may find nothing.
    pub(crate) look_ups: i32,
}

/// An intent with its payment; both are locked.
pub(crate) struct Due {
    pub(crate) intent: IntentRow,
    pub(crate) payment: PaymentRow,
    pub(crate) deadlines: Deadlines,
}

impl Due {
    fn read(row: (IntentRow, PaymentRow, DateTime<Utc>), patience: Patience) -> Result<Self> {
        let (intent, payment, now) = row;
        let deadlines = intent.deadlines(&payment, now, patience)?;
        Ok(Self { intent, payment, deadlines })
    }
}

/// Takes what is due, the most overdue first. What somebody else has locked is left to them: this never waits.
pub(crate) async fn due(tx: &mut Tx, limit: i64, patience: Patience) -> Result<Vec<Due>> {
    let rows: Vec<(IntentRow, PaymentRow, DateTime<Utc>)> = intent::table
        .inner_join(payment::table)
        .filter(intent::due_at.le(clock_timestamp().nullable()))
        .order(intent::due_at)
        .limit(limit)
        .select((IntentRow::as_select(), PaymentRow::as_select(), clock_timestamp()))
        .for_update()
        .skip_locked()
        .load(tx)
        .await?;
    rows.into_iter().map(|row| Due::read(row, patience)).collect()
}

/// Locks an intent that is there, with its deadlines as they are now. Its payment is locked.
pub(crate) async fn lock(tx: &mut Tx, id: Uuid, patience: Patience) -> Result<Due> {
    let row = intent::table
        .inner_join(payment::table)
        .filter(intent::id.eq(id))
        .select((IntentRow::as_select(), PaymentRow::as_select(), clock_timestamp()))
        .for_update()
        .first(tx)
        .await?;
    Due::read(row, patience)
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

/// Begins a look-up and leases it; returns its number, the fence. Whoever wanted one has it now.
pub(crate) async fn begin_look_up(tx: &mut Tx, id: Uuid, lease: Duration) -> Result<i32> {
    let attempt = diesel::update(intent::table.find(id))
        .set((
            intent::attempt.eq(intent::attempt + 1),
            intent::in_flight.eq(true),
            intent::woken.eq(false),
            intent::due_at.eq(after(lease)),
        ))
        .returning(intent::attempt)
        .get_result(tx)
        .await?;
    Ok(attempt)
}

/// Nothing is to be asked any more.
pub(crate) async fn rest(tx: &mut Tx, id: Uuid) -> Result<()> {
    let at_rest = (intent::in_flight.eq(false), intent::woken.eq(false), intent::due_at.eq(NEVER));
    diesel::update(intent::table.find(id)).set(at_rest).execute(tx).await?;
    Ok(())
}

/// Somebody has heard that there is news: the processor is asked as soon as can be. While a worker is asking, that is
/// after it, because its answer may be older than the news. Its payment is locked.
///
/// What has never been sent is left alone: the processor cannot have news of it.
pub(crate) async fn look_up_soon(tx: &mut Tx, id: Uuid) -> Result<()> {
    let sent_or_ended = intent::sent_since.is_not_null().or(intent::due_at.is_null());
    let due_at = case_when(intent::in_flight, intent::due_at).otherwise(clock_timestamp().nullable());
    diesel::update(intent::table.find(id).filter(sent_or_ended))
        .set((intent::woken.eq(true), intent::due_at.eq(due_at)))
        .execute(tx)
        .await?;
    tx.wake_after_commit(ACCEPTED);
    Ok(())
}

/// What is known of an intent that could not be taken.
#[derive(Queryable)]
pub(crate) struct Faults {
    /// How often that has happened.
    pub(crate) number: i32,
    /// Something may have been sent.
    pub(crate) is_sent: bool,
}

/// It could not be taken once more.
pub(crate) async fn note_fault(tx: &mut Tx, id: Uuid) -> Result<Faults> {
    let faults = diesel::update(intent::table.find(id))
        .set(intent::faults.eq(intent::faults + 1))
        .returning((intent::faults, intent::sent_since.is_not_null()))
        .get_result(tx)
        .await?;
    Ok(faults)
}

/// Leaves it as it is for so long.
pub(crate) async fn postpone(tx: &mut Tx, id: Uuid, pause: Duration) -> Result<()> {
    diesel::update(intent::table.find(id)).set(intent::due_at.eq(after(pause))).execute(tx).await?;
    Ok(())
}

/// Nothing is asked before then.
pub(crate) async fn postpone_until(tx: &mut Tx, id: Uuid, at: DateTime<Utc>) -> Result<()> {
    diesel::update(intent::table.find(id)).set(intent::due_at.eq(at)).execute(tx).await?;
    Ok(())
}

/// Asks now what was to be asked later; what is being asked, or has nothing to ask, stays as it is. Its payment is
/// locked.
pub(crate) async fn hasten(tx: &mut Tx, id: Uuid) -> Result<()> {
    let waiting =
        intent::table.find(id).filter(intent::in_flight.eq(false)).filter(intent::due_at.is_not_null());
    diesel::update(waiting).set(intent::due_at.eq(clock_timestamp().nullable())).execute(tx).await?;
    tx.wake_after_commit(ACCEPTED);
    Ok(())
}

/// What an attempt or a look-up has shown.
pub(crate) struct Shown<'a> {
    /// For people.
    pub(crate) text: String,
    /// The processor's name of it, if it was named.
    pub(crate) object: Option<&'a str>,
}

/// Ends an attempt or a look-up as the decision about it says.
pub(crate) async fn end(tx: &mut Tx, id: Uuid, shown: Shown<'_>, next: Next, pause: Duration) -> Result<()> {
    let row = diesel::update(intent::table.find(id));
    let object = shown.object.map(|object| intent::processor_object.eq(object));
    let ended = (intent::last_outcome.eq(shown.text), object, intent::in_flight.eq(false));
    // Who was woken in the meantime looks again at once.
    let at_rest = case_when(intent::woken, clock_timestamp().nullable()).otherwise(NEVER);
    let later = case_when(intent::woken, clock_timestamp().nullable()).otherwise(after(pause));
    let found = intent::look_ups.eq(0);
    match next {
        // Somebody else is asking, or nobody needs to.
        Next::Keep => 0,
        Next::Rest => row.set((ended, found, intent::due_at.eq(at_rest))).execute(tx).await?,
        Next::Retry { in_doubt: false } => {
            let unsent = (intent::sent_since.eq(NEVER), intent::due_at.eq(after(pause)));
            row.set((ended, found, unsent)).execute(tx).await?
        }
        Next::Attempt | Next::Retry { in_doubt: true } => {
            row.set((ended, found, intent::due_at.eq(later))).execute(tx).await?
        }
        Next::LookUp | Next::LookLater { in_vain: false } => {
            let look_up = (intent::asks.eq(LOOK_UP), intent::due_at.eq(later));
            row.set((ended, look_up)).execute(tx).await?
        }
        Next::LookLater { in_vain: true } => {
            let look_up = (intent::asks.eq(LOOK_UP), intent::look_ups.eq(intent::look_ups + 1));
            row.set((ended, look_up, intent::due_at.eq(later))).execute(tx).await?
        }
    };
    Ok(())
}

const LOOK_UP: &str = "look_up";
const NEVER: Option<DateTime<Utc>> = None;

fn after(length: Duration) -> Nullable<FromNow> {
    from_now(TimeDelta::from_std(length).unwrap_or(TimeDelta::MAX)).nullable()
}
