//! The settings that only `orders` has.

use std::time::Duration;

use runtime::SettingsReader;

/// The section `[saga]` of `config.toml`.
#[derive(Debug, Clone)]
pub struct Settings {
    /// An order that is not confirmed after this time is cancelled.
    pub expiry: Duration,
    /// The pause between two rounds of the expiry job.
    pub expiry_poll: Duration,
}

impl Settings {
    pub(crate) fn read(fields: &mut SettingsReader) -> Self {
        Self {
            expiry: fields.seconds("saga.expiry_seconds", 1..=86_400),
            expiry_poll: fields.milliseconds("saga.expiry_poll_milliseconds", 10..=60_000),
        }
    }
}
