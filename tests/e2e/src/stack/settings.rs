//! What each program is told.

use super::Stack;
use crate::Part;

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
        if program == "payments" {
            settings.push(("IDEM_PROCESSOR__URL", self.address("provider")));
            settings.push(("IDEM_PROCESSOR__SECRET_KEY", "sk_test_e2e".to_owned()));
        }
        if let (true, Some(seconds)) = (program != "provider", options.lease_seconds) {
            settings.push(("IDEM_RELAY__LEASE_SECONDS", seconds.to_string()));
        }
        if let (true, Some(seconds)) = (program == "payments", options.lease_seconds) {
            settings.push(("IDEM_WORKER__LEASE_SECONDS", seconds.to_string()));
            settings.push(("IDEM_PROCESSOR__TIMEOUT_MILLISECONDS", (seconds * 500).to_string()));
        }
        if let (true, Some(seconds)) = (program == "orders", options.expiry_seconds) {
            settings.push(("IDEM_SAGA__EXPIRY_SECONDS", seconds.to_string()));
            settings.push(("IDEM_SAGA__EXPIRY_POLL_MILLISECONDS", "50".to_owned()));
        }
        settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
