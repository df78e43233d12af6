//! The settings of each program.

use harness::{Part, kafka_variables};

use super::{Settings, Stack};
use crate::of_services;

impl Stack {
    /// A setting that only this service has, if its tests set it.
    pub fn own_setting(&self, part: Part, name: &str) -> Option<String> {
        let own = of_services::settings(self, part, &self.options);
        own.into_iter().find_map(|(own, value)| (own == name).then_some(value))
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
        if part.is_service() {
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
        let kafka = if part.is_service() { kafka_variables(&self.topics.brokers()) } else { Vec::new() };
        let usual = settings.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(kafka);
        usual.chain(of_services::settings(self, part, options)).collect()
    }
}
