//! The settings of each program.

use harness::{Part, kafka_variables};

use super::{Settings, Stack};

/// The key that payments shows to the processor. No other place may contain it.
pub const SECRET_KEY: &str = "sk_test_canary_5d2f7c1e9b";

/// The secret with which the processor signs its events. No other place may contain it.
pub const WEBHOOK_SECRET: &str = "whsec_canary_8a41d6e03f";

impl Stack {
    pub(super) fn webhook_url(&self) -> String {
        format!("http://{}/v1/webhooks/provider", self.address("payments"))
    }

    pub(super) fn settings(&self, part: Part, port: u16) -> Settings {
        let (options, database) = (&self.options, &self.databases[&part]);
        let through = options.orders_database.filter(|_| part == Part::ORDERS);
        let mut settings = vec![
            ("IDEM_HTTP__PORT", port.to_string()),
            ("IDEM_DATABASE__URL", database.service_url(through)),
            ("IDEM_DATABASE__MIGRATION_URL", database.owner_url()),
        ];
        settings.extend(options.log_level.map(|level| ("IDEM_LOG__LEVEL", level.to_owned())));
        if part == Part::PROVIDER {
            settings.extend([
                ("IDEM_WEBHOOK__URL", self.webhook_url()),
                ("IDEM_WEBHOOK__SECRET", WEBHOOK_SECRET.to_owned()),
                // A restarted payments gets its webhooks soon.
                ("IDEM_WEBHOOK__RETRY_MS", "100".to_owned()),
                ("IDEM_WEBHOOK__DEADLINE_MS", "1000".to_owned()),
                ("IDEM_BANK__DELAY_MS", "200".to_owned()),
            ]);
        } else {
            let topics = &self.topics;
            settings.extend([
                ("IDEM_MODE__DEVELOPMENT", "true".to_owned()),
                ("IDEM_ADMIN__PORT", "0".to_owned()),
                ("IDEM_DEPLOYMENT__NAME", topics.deployment().to_owned()),
                ("IDEM_AUTH__JWKS", self.jwks.display().to_string()),
                ("IDEM_HTTP__DOCS", "true".to_owned()),
                ("IDEM_RELAY__IN_PROCESS", (!options.separate_relays).to_string()),
                // Tests poll without a limit.
                ("IDEM_LIMITS__REQUESTS_PER_SECOND", "0".to_owned()),
            ]);
            settings.extend(options.collector.clone().map(|url| ("IDEM_TRACES__ENDPOINT", url)));
            settings.extend(options.lease_seconds.map(|it| ("IDEM_RELAY__LEASE_SECONDS", it.to_string())));
        }
        if part == Part::PAYMENTS {
            settings.extend([
                ("IDEM_PROCESSOR__URL", format!("http://{}", self.address("provider"))),
                ("IDEM_PROCESSOR__SECRET_KEY", SECRET_KEY.to_owned()),
                ("IDEM_PROCESSOR__WEBHOOK_SECRETS", WEBHOOK_SECRET.to_owned()),
                // Tests reconcile by command. On a slow machine, the scheduled run would settle a difference before them.
                ("IDEM_RECONCILE__EVERY_SECONDS", "0".to_owned()),
                ("IDEM_WORKER__FIRST_LOOK_UP_PAUSE_MILLISECONDS", "100".to_owned()),
                ("IDEM_WORKER__FIRST_REFUND_PAUSE_MILLISECONDS", "100".to_owned()),
            ]);
            if let Some(seconds) = options.lease_seconds {
                settings.extend([
                    ("IDEM_WORKER__LEASE_SECONDS", seconds.to_string()),
                    ("IDEM_PROCESSOR__TIMEOUT_MILLISECONDS", (seconds * 500).to_string()),
                    ("IDEM_PROCESSOR__TOTAL_TIMEOUT_MILLISECONDS", (seconds * 900).to_string()),
                ]);
            }
        }
        if let (Part::ORDERS, Some(seconds)) = (part, options.expiry_seconds) {
            settings.extend([
                ("IDEM_SAGA__EXPIRY_SECONDS", seconds.to_string()),
                ("IDEM_SAGA__EXPIRY_POLL_MILLISECONDS", "50".to_owned()),
            ]);
        }
        let kafka = if part == Part::PROVIDER { Vec::new() } else { kafka_variables(&self.topics.brokers()) };
        settings.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(kafka).collect()
    }
}
