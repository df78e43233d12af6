//! The metrics of the outbox that this process counts: appended, published and blocked events, and the terms of its relay.
//!
//! `readings` reads the others from the database.

use ::metrics::{Counter, Counters, Families, Gauge, Registry};
use strum::{IntoStaticStr, VariantArray};

/// How a term of this process's relay ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum TermEnd {
    /// The process stops.
    Stopped,
    /// Another relay took the lease, or the lease ended before it was renewed.
    Replaced,
    /// An error of the database or of Kafka. The relay waits, and tries again.
    Failed,
}

/// The families of this crate.
#[derive(Debug)]
pub struct OutboxMetrics {
    pub(crate) appended: Counter,
    pub(crate) published: Counter,
    pub(crate) blocked: Counter,
    pub(crate) terms: Counters<TermEnd>,
    pub(crate) holds_lease: Gauge,
}

impl Default for OutboxMetrics {
    fn default() -> Self {
        Self {
            appended: Counter::default(),
            published: Counter::default(),
            blocked: Counter::default(),
            terms: Counters::by("end"),
            holds_lease: Gauge::default(),
        }
    }
}

impl Families for OutboxMetrics {
    fn register(&self, registry: &mut Registry) {
        let help = "Events that this process has committed";
        registry.register("outbox_appended_events", help, self.appended.clone());
        let help = "Events of this process's relay that Kafka has acknowledged, repetitions included";
        registry.register("outbox_published_events", help, self.published.clone());
        let help = "Events that this process's relay could not publish and has set aside";
        registry.register("outbox_set_aside_events", help, self.blocked.clone());
        let help = "Terms of this process's relay, by how they ended";
        self.terms.register(registry, "outbox_relay_terms", help);
        let help = "Whether the relay of this process holds the lease";
        registry.register("outbox_holds_lease", help, self.holds_lease.clone());
    }
}
