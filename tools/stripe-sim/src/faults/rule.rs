//! One rule: the kind of fault, and the calls or events that it hits.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::Fault;
use super::dice::Roll;
use crate::api::ROUTES;

/// The longest delay of a rule.
const MAX_DELAY_MS: u64 = 60_000;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, VariantArray, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Kind {
    /// The call takes this long. A POST holds its key meanwhile.
    Delay,
    /// 500; nothing was executed, and nothing is stored.
    ErrorBefore,
    /// Executed; a 500 is stored under the key and sent.
    ErrorAfter,
    /// Executed; the connection is dropped before the first byte of the response, which is stored.
    DropReply,
    /// Executed; the connection is dropped in the middle of the response, which is stored.
    Truncate,
    /// 429 with `Retry-After`; nothing was executed.
    RateLimit,
    /// 409, as for a key in use; nothing was executed.
    Conflict,
    /// 503; nothing was executed.
    Outage,
    /// 400 `balance_insufficient`: the account's balance does not cover a refund. Not executed; the response is stored
    /// under the key.
    BalanceInsufficient,
    /// The event is delivered twice.
    DuplicateWebhook,
    /// The event is delivered after the delay.
    LateWebhook,
    /// Each event is delivered after another part of the delay.
    DisorderedWebhooks,
}

/// The targets of a kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    /// A request under `/v1`.
    Call,
    /// The delivery of an event.
    Webhook,
}

impl Kind {
    fn target(self) -> Target {
        match self {
            Self::DuplicateWebhook | Self::LateWebhook | Self::DisorderedWebhooks => Target::Webhook,
            _ => Target::Call,
        }
    }
}

/// One rule, as `POST /_faults` takes it.
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
    times: Option<u64>,
    #[serde(default = "one_second")]
    delay_ms: u64,
}

fn always() -> f64 {
    1.0
}

fn one_second() -> u64 {
    1000
}

impl Rule {
    pub(super) fn target(&self) -> Target {
        self.kinds.first().map_or(Target::Call, |kind| kind.target())
    }

    /// Returns what is wrong with the rule.
    pub(super) fn check(&self) -> Result<(), String> {
        let unknown = self.route.as_ref().filter(|route| !ROUTES.contains(&route.as_str()));
        let error = if self.kinds.is_empty() {
            "a rule needs at least one kind".to_owned()
        } else if self.kinds.iter().any(|kind| kind.target() != self.target()) {
            "the kinds of one rule are all for calls or all for webhooks".to_owned()
        } else if !(0.0..=1.0).contains(&self.share) {
            "share must be between 0 and 1".to_owned()
        } else if self.delay_ms > MAX_DELAY_MS {
            format!("delay_ms must be at most {MAX_DELAY_MS}")
        } else if self.route.is_some() && self.target() != Target::Call {
            "route is for faults of calls; webhooks have event".to_owned()
        } else if self.event.is_some() && self.target() != Target::Webhook {
            "event is for faults of webhooks".to_owned()
        } else if let Some(route) = unknown {
            format!("there is no route '{route}'; the routes are {}", ROUTES.join(", "))
        } else {
            return Ok(());
        };
        Err(error)
    }

    /// Returns whether the rule applies to this route or event type and reference, after this number of hits.
    pub(super) fn matches(&self, place: &str, reference: &str, hits: u64) -> bool {
        let is = |expected: &Option<String>, given: &str| expected.as_deref().is_none_or(|it| it == given);
        is(&self.route, place)
            && is(&self.event, place)
            && is(&self.reference, reference)
            && self.times.is_none_or(|times| hits < times)
    }

    /// The fault of this roll of the dice, if it hits.
    pub(super) fn fault(&self, roll: Roll) -> Option<Fault> {
        let which = usize::try_from(roll.pick % self.kinds.len().max(1) as u64).ok()?;
        let kind = *self.kinds.get(which).filter(|_| roll.chance < self.share)?;
        Some(Fault { kind, delay: Duration::from_millis(self.delay_ms), spread: roll.spread })
    }
}
