//! The client of the card processor: Stripe's `PaymentIntents` and refunds.
//!
//! [`RequestBodies`] writes the bytes of a request once, when a charge or refund is accepted. [`Processor`] sends a
//! request and never repeats it by itself, because each attempt must be counted in the table `processor_call`.
//! [`classify`] reads the response. [`CallPolicy`] is what the settings say about calls. This module knows no tables.

mod circuit_breaker;
mod classify;
#[cfg(test)]
mod classify_tests;
mod client;
mod look_up;
mod objects;
mod policy;
mod refund_by_hand;
mod request_bodies;
mod response;

pub(crate) use circuit_breaker::BREAKER_STATES;
pub use circuit_breaker::BreakerSettings;
pub use classify::{Page, classify};
pub use client::{ClientSettings, Processor, ProcessorError, Request};
pub(crate) use look_up::MAX_CLOCK_SKEW;
pub use look_up::{Lookup, LookupScope};
pub use objects::Object;
pub use policy::CallPolicy;
pub use request_bodies::{ObjectTag, RequestBodies};
pub use response::{Movement, ProcessorResponse};
