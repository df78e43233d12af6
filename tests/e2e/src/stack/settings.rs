//! What each program is told.

use super::Stack;
use crate::Part;

/// What payments shows to the processor. Nobody else must ever see it.
pub const SECRET_KEY: &str = "sk_test_canary_5d2f7c1e9b";

/// What the processor signs its events with. Nobody else must ever see it.
pub const WEBHOOK_SECRET: &str = "whsec_canary_8a41d6e03f";

impl Stack {
    pub(super) fn settings(&self, part: &Part, port: u16) -> Vec<(String, String)> {
        let (program, options) = (part.program, &self.options);
        let database = &self.databases[program];
        let through = options.orders_database.filter(|_| program == "orders");
        let mut settings = vec![
            ("IDEM_HTTP__PORT", port.to_string()),
            ("IDEM_DATABASE__URL", database.service_url(through)),
            ("IDEM_DATABASE__MIGRATION_URL", database.owner_url()),
        ];
        if program != "provider" {
            settings.extend([
                ("IDEM_ADMIN__PORT", "0".to_owned()),
                ("IDEM_KAFKA__BROKERS", self.topics.brokers().to_string()),
                ("IDEM_KAFKA__TOPIC_PREFIX", self.topics.prefixed("")),
                ("IDEM_AUTH__JWKS", self.jwks.display().to_string()),
                ("IDEM_RELAY__IN_PROCESS", (!options.relays_apart).to_string()),
                // A test looks as often as it likes.
                ("IDEM_LIMITS__REQUESTS_PER_SECOND", "0".to_owned()),
            ]);
        }
        if let Some(level) = options.log_level {
            settings.push(("IDEM_LOG__LEVEL", level.to_owned()));
        }
        if program == "provider" {
            settings
                .push(("IDEM_WEBHOOK__URL", format!("{}/v1/webhooks/provider", self.address("payments"))));
            settings.push(("IDEM_WEBHOOK__SECRET", WEBHOOK_SECRET.to_owned()));
            // Payments that comes back is told soon.
            settings.push(("IDEM_WEBHOOK__RETRY_MS", "100".to_owned()));
            settings.push(("IDEM_WEBHOOK__DEADLINE_MS", "1000".to_owned()));
            settings.push(("IDEM_BANK__DELAY_MS", "200".to_owned()));
        }
        if program == "payments" {
            settings.push(("IDEM_PROCESSOR__URL", self.address("provider")));
            settings.push(("IDEM_PROCESSOR__SECRET_KEY", SECRET_KEY.to_owned()));
            settings.push(("IDEM_PROCESSOR__WEBHOOK_SECRETS", WEBHOOK_SECRET.to_owned()));
            settings.push(("IDEM_WORKER__FIRST_LOOK_UP_PAUSE_MILLISECONDS", "100".to_owned()));
        }
        if let (true, Some(seconds)) = (program != "provider", options.lease_seconds) {
            settings.push(("IDEM_RELAY__LEASE_SECONDS", seconds.to_string()));
        }
        if let (true, Some(seconds)) = (program == "payments", options.lease_seconds) {
            settings.push(("IDEM_WORKER__LEASE_SECONDS", seconds.to_string()));
            settings.push(("IDEM_PROCESSOR__TIMEOUT_MILLISECONDS", (seconds * 500).to_string()));
            settings.push(("IDEM_PROCESSOR__TOTAL_TIMEOUT_MILLISECONDS", (seconds * 900).to_string()));
        }
        if let (true, Some(seconds)) = (program == "orders", options.expiry_seconds) {
            settings.push(("IDEM_SAGA__EXPIRY_SECONDS", seconds.to_string()));
            settings.push(("IDEM_SAGA__EXPIRY_POLL_MILLISECONDS", "50".to_owned()));
        }
        settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
