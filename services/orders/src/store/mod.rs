//! All SQL of this service, one table a file. Decides nothing, and knows nothing of HTTP.

pub(crate) mod catalogue;
pub(crate) mod erasure;
pub(crate) mod orders;
pub(crate) mod readings;
pub(crate) mod timeline;

#[cfg(test)]
mod other_tenant;

use crate::domain::{CauseKind, EntryKind, Status};

database::stored_as_text!(CauseKind, EntryKind, Status);
