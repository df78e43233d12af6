//! The card processor, as payments sees it: Stripe's `PaymentIntents` and refunds.
//!
//! What is sent ([`Forms`]) is fixed when it is wished for; [`Processor`] carries it over once and never repeats it by
//! itself; what comes back is read by one pure function ([`classify`]). Everything between the three is a row.

mod books;
mod classify;
mod client;
mod forms;
mod gate;
mod objects;
#[cfg(test)]
mod table;

pub(crate) use books::SKEW;
pub use books::{LookUp, Place};
pub use classify::{Answer, Asked, classify};
pub use client::{Manners, Processor, ProcessorError, Request};
pub use forms::{Forms, Mark};
pub use gate::Breaker;
pub use objects::{Listed, Page};
