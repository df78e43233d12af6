#![doc = include_str!("../README.md")]

mod answer;
mod auth;
mod body;
mod docs;
mod failure;
mod idempotent;
mod list;
mod manners;
mod natural;
mod openapi;
mod parse;
mod path;
mod problem;
mod reply;
mod settings;
mod span;
mod unmatched;
mod unread;
mod wish;

pub use auth::{Authenticator, JwksError, Principal};
pub use docs::docs;
pub use failure::Failure;
pub use idempotent::Idempotent;
pub use list::{Listing, Page, PageQuery};
pub use manners::manners;
pub use natural::Natural;
pub use openapi::{Bearer, CommandProblems, IdempotencyKey, ReadProblems};
pub use parse::{Faults, Invalid};
pub use path::Segment;
pub use problem::{Kind, Problem, ProblemBody, kind};
pub use reply::Reply;
pub use settings::{Edge, EdgeSettings};
pub use span::{RequestSpan, request_span};
pub use unmatched::unmatched;
pub use wish::{Command, Wish};
