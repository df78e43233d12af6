#![doc = include_str!("../README.md")]

mod contents;
mod delivery;
pub mod explain;
mod facts;
mod questions;

pub use contents::{Contents, contents};
pub use delivery::{Delivery, TopicMessage, readers};
pub use facts::{Entered, Row};
pub use questions::{Database, Question, all, as_commands, of_service};

#[cfg(test)]
mod tests;
