//! What the OpenAPI documents of all services have in common: parameters, responses and problems.

mod accepted;
mod idempotency_key;
mod operation_problems;
mod problem_components;
mod text;

pub use accepted::Accepted;
pub(crate) use idempotency_key::KeyInPath;
pub use idempotency_key::{IdempotencyKey, OptionalIdempotencyKey};
pub use operation_problems::{
    InvalidQuery, KeyOptionalProblems, KeyedProblems, NaturalProblems, NotFound, ReadProblems,
    problem_responses,
};
pub use problem_components::with_problems;
pub use text::Text;
