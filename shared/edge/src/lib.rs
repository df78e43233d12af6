#![doc = include_str!("../README.md")]

mod auth;
mod commands;
mod conditional;
mod http;
mod limits;
mod list;
mod openapi;
mod problems;
mod routes;
mod settings;

pub use auth::{Authenticator, JwksError, JwksSource, Principal, TokenAlgorithms, TokenPolicy};
pub use commands::{Command, CommandError, CommandRequest, Idempotent, Natural, Reply, not_null};
pub use conditional::{IfNoneMatch, Precondition, entity_tag};
pub use http::{CorsOrigins, RawBody, RequestSpan, Segment, head_as_get, request_span, response_headers};
pub use limits::{Limits, RateLimit};
pub use list::{Filter, Listing, Page, PageQuery};
pub use openapi::{
    Accepted, IdempotencyKey, InvalidQuery, KeyedProblems, NaturalProblems, NotFound, ReadProblems, Text,
    problem_responses, with_problems,
};
pub use problems::{CardNumbers, Problem, ProblemType, ValidationError, ValidationErrors, problem_types};
pub use routes::{AcceptedOperation, docs, idempotency_keys, operations, unmatched};
pub use settings::{Edge, EdgeSettings};
