//! The metrics of the outbox that this process counts: appended, published and blocked events, and the lease of its relay.
//!
//! `readings` reads the others from the database.

use ::metrics::{Counter, Families, Gauge, Registry};

/// The families of this crate.
#[derive(Debug, Default)]
pub struct OutboxMetrics {
    pub(crate) appended: Counter,
    pub(crate) published: Counter,
    pub(crate) blocked: Counter,
    pub(crate) holds_lease: Gauge,
}

impl Families for OutboxMetrics {
    fn register(&self, registry: &mut Registry) {
        let help = "Events that this process has committed";
        registry.register("outbox_appended_events", help, self.appended.clone());
        let help = "Events of this process's relay that Kafka has acknowledged, repetitions included";
        registry.register("outbox_published_events", help, self.published.clone());
        let help = "Events that this process's relay could not publish and has set aside";
        registry.register("outbox_set_aside_events", help, self.blocked.clone());
        let help = "Whether the relay of this process holds the lease";
        registry.register("outbox_holds_lease", help, self.holds_lease.clone());
    }
}
