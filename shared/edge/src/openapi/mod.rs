//! The parameters, responses and problems that the OpenAPI documents of all services share.

mod accepted;
mod idempotency_key;
mod operation_problems;
mod problem_components;
mod text;

pub use accepted::Accepted;
pub use idempotency_key::IdempotencyKey;
pub(crate) use idempotency_key::KeyInPath;
pub use operation_problems::{
    InvalidQuery, KeyedProblems, NaturalProblems, NotFound, ReadProblems, problem_responses,
};
pub use problem_components::with_problems;
pub use text::Text;
