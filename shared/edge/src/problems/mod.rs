//! Errors as clients see them: problem documents, and the validation errors in them.

mod problem;
mod request_value;
mod texts;
mod validation;

pub(crate) use problem::{MEDIA_TYPE, json_bytes};
pub(crate) use validation::{invalid, parse, typed};

pub use problem::{Problem, ProblemType, problem_types};
pub use texts::CardNumbers;
pub use validation::{ValidationError, ValidationErrors};
