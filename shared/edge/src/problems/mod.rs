//! Errors as clients see them: problem documents, and the validation errors in them.

mod problem;
mod validation;

pub(crate) use problem::{MEDIA_TYPE, json_bytes};
pub(crate) use validation::{describe, invalid, parse};

pub use problem::{Problem, ProblemBody, ProblemType, problem_types};
pub use validation::{CardNumbers, ValidationError, ValidationErrors};
