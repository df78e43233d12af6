//! What `orders` lets you set.

use std::time::Duration;

use chrono::TimeDelta;
use runtime::Fields;

/// The section `[saga]` of `config.toml`.
#[derive(Debug, Clone)]
pub struct Settings {
    /// An order that is not confirmed after this long is cancelled.
    pub expiry: Duration,
    /// How often the expiry job looks.
    pub expiry_poll: Duration,
}

impl Settings {
    pub(crate) fn read(fields: &mut Fields) -> Self {
        Self {
            expiry: fields.seconds("saga.expiry_seconds", 1..=86_400),
            expiry_poll: fields.milliseconds("saga.expiry_poll_milliseconds", 10..=60_000),
        }
    }

    /// The life of an open order.
    pub(crate) fn expires_in(&self) -> TimeDelta {
        TimeDelta::from_std(self.expiry).unwrap_or(TimeDelta::MAX)
    }
}
