//! What the OpenAPI documents of all services have in common: parameters, responses, problems and security.

mod accepted;
mod document;
mod examples;
mod idempotency_key;
mod links;
mod operation_problems;
mod problem_components;
mod publish;
mod text;
mod webhooks;

pub use accepted::Accepted;
pub use idempotency_key::IdempotencyKey;
pub(crate) use idempotency_key::KeyInPath;
pub use operation_problems::{
    InvalidQuery, KeyedProblems, NaturalProblems, NotFound, ReadProblems, problem_responses,
};
pub use publish::publish;
pub use text::Text;
