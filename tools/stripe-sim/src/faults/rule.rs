//! One rule: what goes wrong, for which calls or events, and how often.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::dice::Roll;
use super::{Bite, Concern};
use crate::api::ROUTES;
use crate::operations::cards::RefundCourse;

/// The longest delay that can be asked for.
const MAX_DELAY_MS: u64 = 60_000;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// It takes so long. A POST holds its key meanwhile.
    Delay,
    /// 500; nothing was executed, and nothing is stored.
    ErrorBefore,
    /// Executed; 500 is stored under the key and sent.
    ErrorAfter,
    /// Executed; the connection is dropped without a byte of the answer, which is stored.
    DropReply,
    /// Executed; the connection is dropped in the middle of the answer, which is stored.
    Truncate,
    /// 429 with `Retry-After`; nothing was executed.
    RateLimit,
    /// 409, as for a key in use; nothing was executed.
    Conflict,
    /// 503; nothing was executed.
    Outage,
    /// The connection is closed without an answer; nothing was executed.
    Disconnect,
    /// The refund is pending, and succeeds later.
    RefundPending,
    /// The refund is pending, and fails later.
    RefundPendingFails,
    /// The refund succeeds, and is returned later.
    RefundFailsLater,
    /// The event is told twice.
    DuplicateWebhook,
    /// The event is told so much later.
    LateWebhook,
    /// Each event is told after a part of the delay, another part for each.
    DisorderedWebhooks,
}

/// What a kind happens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    /// Any request under `/v1`.
    Call,
    /// The making of a refund.
    Refund,
    /// The telling of an event.
    Webhook,
}

impl Kind {
    pub(super) const ALL: &'static [Self] = &[
        Self::Delay,
        Self::ErrorBefore,
        Self::ErrorAfter,
        Self::DropReply,
        Self::Truncate,
        Self::RateLimit,
        Self::Conflict,
        Self::Outage,
        Self::Disconnect,
        Self::RefundPending,
        Self::RefundPendingFails,
        Self::RefundFailsLater,
        Self::DuplicateWebhook,
        Self::LateWebhook,
        Self::DisorderedWebhooks,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Delay => "delay",
            Self::ErrorBefore => "error_before",
            Self::ErrorAfter => "error_after",
            Self::DropReply => "drop_reply",
            Self::Truncate => "truncate",
            Self::RateLimit => "rate_limit",
            Self::Conflict => "conflict",
            Self::Outage => "outage",
            Self::Disconnect => "disconnect",
            Self::RefundPending => "refund_pending",
            Self::RefundPendingFails => "refund_pending_fails",
            Self::RefundFailsLater => "refund_fails_later",
            Self::DuplicateWebhook => "duplicate_webhook",
            Self::LateWebhook => "late_webhook",
            Self::DisorderedWebhooks => "disordered_webhooks",
        }
    }

    fn scope(self) -> Scope {
        match self {
            Self::RefundPending | Self::RefundPendingFails | Self::RefundFailsLater => Scope::Refund,
            Self::DuplicateWebhook | Self::LateWebhook | Self::DisorderedWebhooks => Scope::Webhook,
            _ => Scope::Call,
        }
    }

    /// How a refund goes that has met it.
    pub(crate) fn refund_course(self) -> Option<RefundCourse> {
        match self {
            Self::RefundPending => Some(RefundCourse::PendingThenSucceeds),
            Self::RefundPendingFails => Some(RefundCourse::PendingThenFails),
            Self::RefundFailsLater => Some(RefundCourse::SucceedsThenFails),
            _ => None,
        }
    }
}

/// One rule, as a test writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    kinds: Vec<Kind>,
    #[serde(default = "always")]
    share: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<u64>,
    #[serde(default = "a_second_in_ms")]
    delay_ms: u64,
    #[serde(default = "a_second")]
    retry_after: u64,
}

fn always() -> f64 {
    1.0
}

fn a_second_in_ms() -> u64 {
    1000
}

fn a_second() -> u64 {
    1
}

impl Rule {
    /// What it happens to.
    pub(super) fn scope(&self) -> Scope {
        self.kinds.first().map_or(Scope::Call, |kind| kind.scope())
    }

    /// `Err` says what is wrong with it.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.kinds.is_empty() {
            return Err("a rule names at least one of kinds".to_owned());
        }
        if self.kinds.iter().any(|kind| kind.scope() != self.scope()) {
            return Err(
                "the kinds of one rule are all of calls, all of refunds, or all of webhooks".to_owned()
            );
        }
        if !(0.0..=1.0).contains(&self.share) {
            return Err("share is between 0 and 1".to_owned());
        }
        if self.delay_ms > MAX_DELAY_MS {
            return Err(format!("delay_ms is at most {MAX_DELAY_MS}"));
        }
        if self.route.is_some() && self.scope() != Scope::Call {
            return Err(
                "route is for faults of calls; refunds have one route, and webhooks have event".to_owned()
            );
        }
        if self.event.is_some() && self.scope() != Scope::Webhook {
            return Err("event is for faults of webhooks".to_owned());
        }
        match &self.route {
            Some(route) if !ROUTES.contains(&route.as_str()) => {
                Err(format!("no route is called '{route}': there are {}", ROUTES.join(", ")))
            }
            _ => Ok(()),
        }
    }

    /// Whether the call may meet it, which is the n-th of its reference; it has bitten so often before.
    pub(super) fn means(&self, place: &str, concern: &Concern, n: u64, bites: u64) -> bool {
        let is = |wanted: &Option<String>| wanted.as_deref().is_none_or(|wanted| wanted == place);
        is(&self.route)
            && is(&self.event)
            && self.reference.as_ref().is_none_or(|reference| concern.names.contains(reference))
            && self.call.is_none_or(|call| call == n)
            && self.times.is_none_or(|times| bites < times)
    }

    /// What happens, if the dice have fallen so.
    pub(super) fn bite(&self, roll: Roll) -> Option<Bite> {
        let which = usize::try_from(roll.pick % self.kinds.len().max(1) as u64).ok()?;
        let kind = *self.kinds.get(which).filter(|_| roll.chance < self.share)?;
        let delay = Duration::from_millis(self.delay_ms);
        Some(Bite { kind, delay, retry_after: self.retry_after, spread: roll.spread })
    }
}
