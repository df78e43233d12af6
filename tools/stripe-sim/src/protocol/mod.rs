//! The wire format of Stripe's API: form parameters in, JSON out, error objects with `type` and `code`.

mod error;
mod form;
#[cfg(test)]
mod fuzz;
mod page;

pub(crate) use error::{ApiError, Error};
pub(crate) use form::Form;
pub(crate) use page::Page;

/// The value of `Stripe-Version`, unless the client sends its own.
pub(crate) const VERSION: &str = "2026-10-28.endive";
