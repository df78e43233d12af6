//! What the processor tells of its own accord. Nothing of it is believed beyond "it is worth asking": the worker asks,
//! and the processor's answer counts. So an event may come twice, late, early, out of order, or never.

mod event;
mod receive;
mod signature;

use std::time::Duration;

use runtime::Fields;
use secrecy::{ExposeSecret, SecretString};

pub(crate) use receive::receive_event;

/// How an event is known to be the processor's.
#[derive(Clone, Default)]
pub struct Webhooks {
    /// While secrets change there are several. Without any, no event is believed.
    pub secrets: Vec<SecretString>,
    /// How far the time of signing may be from ours.
    pub tolerance: Duration,
}

impl Webhooks {
    /// The settings `processor.webhook_…`.
    pub(crate) fn read(fields: &mut Fields) -> Self {
        let listed = fields.optional_secret("processor.webhook_secrets");
        let listed = listed.as_ref().map_or("", |secrets| secrets.expose_secret());
        let secrets: Vec<SecretString> =
            listed.split(',').map(str::trim).filter(|_| !listed.is_empty()).map(SecretString::from).collect();
        if secrets.iter().any(|secret| secret.expose_secret().is_empty()) {
            fields.refuse("processor.webhook_secrets", "secrets with a comma between two of them");
        }
        Self { secrets, tolerance: fields.seconds("processor.webhook_tolerance_seconds", 1..=3_600) }
    }
}
