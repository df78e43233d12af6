//! `AuditMetrics`: the violations that the job of this process has found, by invariant.

use metrics::{Counter, Family, Registry};

/// One counter for each question about this service's database.
#[derive(Debug, Default)]
pub(crate) struct AuditMetrics {
    violations: Family<[(&'static str, &'static str); 1], Counter>,
}

impl AuditMetrics {
    /// Registers the counters. Each invariant is shown from the start, because zero differs from "not asked".
    pub(crate) fn register(&self, service: &str, registry: &mut Registry) {
        for question in audits::of_service(service) {
            self.count(question.invariant(), 0);
        }
        let help = "Violations that the job audit of this process has found. One that stays counts each time";
        registry.register("invariant_violations", help, self.violations.clone());
    }

    pub(super) fn count(&self, invariant: &'static str, violations: u64) {
        self.violations.get_or_create(&[("invariant", invariant)]).inc_by(violations);
    }
}
