//! The metrics of money that this process counts: payments and refunds by state, reviews, reconciliations, and the circuit breaker.
//!
//! `store::readings` reads the others from the database.

use ::metrics::{Counter, Counters, Families, Registry, Sample, register_gauges};
use database::{Tx, UnitOfWork};
use strum::{IntoStaticStr, VariantArray};

use crate::domain::review::Reason;
use crate::domain::{payment, refund};
use crate::processor::{BREAKER_STATES, Processor};

/// A state of a payment that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
enum PaymentState {
    Captured,
    Declined,
    Cancelled,
    Unknown,
}

/// How a reconciliation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum ReconciliationEnd {
    /// All records agree.
    Agreed,
    /// Records differ, and no operator has accepted that.
    Differed,
    /// The processor or the database could not be read.
    Failed,
}

/// The families of this service.
#[derive(Debug)]
pub struct PaymentsMetrics {
    payments: Counters<PaymentState>,
    refunds: Counters<refund::Status>,
    reviews: Counters<Reason>,
    /// Scheduled reconciliations of this process.
    pub(crate) reconciliations: Counters<ReconciliationEnd>,
    /// The differences that they found. One that stays is counted again by the next reconciliation.
    pub(crate) differences: Counter,
}

impl Default for PaymentsMetrics {
    fn default() -> Self {
        Self {
            payments: Counters::by("state"),
            refunds: Counters::by("state"),
            reviews: Counters::by("reason"),
            reconciliations: Counters::by("result"),
            differences: Counter::default(),
        }
    }
}

impl Families for PaymentsMetrics {
    fn register(&self, registry: &mut Registry) {
        self.payments.register(registry, "payments_reached", "Payments that reached a state");
        self.refunds.register(registry, "payments_refunds_reached", "Refunds that reached a state");
        self.reviews.register(registry, "payments_opened_reviews", "Reviews that were opened");
        let help = "Scheduled reconciliations with the processor";
        self.reconciliations.register(registry, "payments_reconciliations", help);
        let help = "Records that differed from the processor's in a scheduled reconciliation";
        registry.register("payments_reconciliation_differences", help, self.differences.clone());
    }
}

/// Registers the state of the circuit breaker in front of the processor.
pub fn register_circuit_breaker(processor: &Processor, registry: &mut Registry) {
    let processor = processor.clone();
    let help = "State of this process's circuit breaker in front of the processor: 1 for the present one";
    register_gauges(registry, "payments_circuit_breaker", help, move || {
        let present = processor.breaker_state();
        BREAKER_STATES.map(|state| Sample::labelled("state", state, state == present)).into()
    });
}

/// Counts a payment that has reached this state, once the transaction has committed.
pub(crate) fn count_payment(tx: &mut Tx, state: &payment::State) {
    let state = match state {
        payment::State::Requested | payment::State::Capturing => return,
        payment::State::Captured(_) => PaymentState::Captured,
        payment::State::Declined { .. } => PaymentState::Declined,
        payment::State::Unknown => PaymentState::Unknown,
        payment::State::Cancelled => PaymentState::Cancelled,
    };
    tx.count_after_commit(move |metrics: &PaymentsMetrics| metrics.payments.count(state));
}

/// Counts a refund that has reached this state, once the transaction has committed.
pub(crate) fn count_refund(tx: &mut Tx, state: refund::Status) {
    tx.count_after_commit(move |metrics: &PaymentsMetrics| metrics.refunds.count(state));
}

/// Counts a review that was opened, once the transaction has committed.
pub(crate) fn count_review(tx: &mut Tx, reason: Reason) {
    tx.count_after_commit(move |metrics: &PaymentsMetrics| metrics.reviews.count(reason));
}
