//! The requests that change the database, one file each, and what they share: cards, charge attempts, the balance.

mod attempt;
pub(crate) mod balance;
pub(crate) mod cancel;
pub(crate) mod capture;
pub(crate) mod cards;
pub(crate) mod create;
pub(crate) mod refund;
