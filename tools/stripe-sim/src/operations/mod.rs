//! What clients can have done: one file for each operation, and what they share.

pub(crate) mod cancel;
pub(crate) mod capture;
pub(crate) mod cards;
mod charging;
pub(crate) mod confirm;
pub(crate) mod create;
mod currencies;
pub(crate) mod money;
pub(crate) mod refund;
