//! The filter of a list: the parameters beside `limit` and `cursor`.

use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use crate::ValidationErrors;

/// Which entries a list contains. Only parameters that it documents are accepted.
pub trait Filter: DeserializeOwned + IntoParams {
    /// The scope that the token must have, such as `orders:read`. A request without it is not read further.
    const SCOPE: &'static str;

    /// Checks what the types do not say.
    fn validate(&self, _errors: &mut ValidationErrors) {}
}
