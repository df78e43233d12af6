//! A row of `processor_call`.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use uuid::Uuid;

use crate::domain::{CallKind, CallMode};
use crate::schema::processor_call as call;

/// A stored call. It has no `Debug`, because it holds the processor's idempotency key.
#[derive(Clone, Queryable, Selectable)]
#[diesel(table_name = call)]
pub(crate) struct CallRow {
    pub(crate) id: Uuid,
    pub(super) tenant_id: String,
    pub(crate) kind: CallKind,
    pub(super) payment_id: Uuid,
    pub(crate) provider_key: String,
    pub(crate) request: Vec<u8>,
    pub(crate) attempt: i32,
    pub(crate) in_flight: bool,
    pub(super) due_at: Option<DateTime<Utc>>,
    pub(super) sent_since: Option<DateTime<Utc>>,
    pub(super) last_sent_at: Option<DateTime<Utc>>,
    pub(super) found_at: Option<DateTime<Utc>>,
    pub(super) last_outcome: Option<String>,
    pub(super) mode: CallMode,
    pub(super) look_ups: i32,
    pub(crate) processor_object: Option<String>,
    pub(super) look_up_requested: bool,
    pub(crate) faults: i32,
    pub(crate) traceparent: Option<String>,
    pub(super) created_at: DateTime<Utc>,
}

impl CallRow {
    /// Returns whether the processor may have received a request. It never received one for a refund made by hand.
    pub(crate) fn is_sent(&self) -> bool {
        self.sent_since.is_some()
    }

    /// Returns whether the latest lookup found nothing.
    pub(crate) fn was_not_found(&self) -> bool {
        self.look_ups > 0
    }

    /// The earliest time at which the processor may have received a request. Before a first attempt, this is the time
    /// at which the call was stored.
    pub(crate) fn sent_since(&self) -> DateTime<Utc> {
        self.sent_since.unwrap_or(self.created_at)
    }

    /// The time of the latest request.
    pub(crate) fn last_sent_at(&self) -> DateTime<Utc> {
        self.last_sent_at.unwrap_or_else(|| self.sent_since())
    }
}
