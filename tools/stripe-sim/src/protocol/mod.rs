//! How the processor speaks: forms in, JSON out, refusals in words that clients branch on.

pub(crate) mod error;
pub(crate) mod expand;
pub(crate) mod form;
pub(crate) mod page;

pub(crate) use error::{Failure, Refusal};
pub(crate) use expand::Expand;
pub(crate) use form::Form;
pub(crate) use page::Page;

/// The version of the protocol that is spoken to clients which do not name one.
pub(crate) const VERSION: &str = "2026-10-28.endive";
