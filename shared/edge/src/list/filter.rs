//! The filter of a list: the parameters beside `limit` and `cursor`.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use crate::ValidationErrors;

/// Which entries a list contains. Only parameters that it documents are accepted, and a cursor is valid for the same filter only.
pub trait Filter: DeserializeOwned + IntoParams {
    /// Checks what the types do not say.
    fn validate(&self, _errors: &mut ValidationErrors) {}
}

/// The filter of a list that has none.
#[derive(Debug, Deserialize, IntoParams)]
pub struct NoFilter {}

impl Filter for NoFilter {}
