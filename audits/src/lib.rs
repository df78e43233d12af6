#![doc = include_str!("../README.md")]

mod books;
mod contents;
mod delivery;
pub mod explain;
mod facts;
mod questions;
mod settlement;

pub use books::BooksAgree;
pub use contents::{Contents, contents};
pub use delivery::{Delivery, TopicMessage, readers};
pub use facts::{AmountOwed, Charge, Entered, Order, Payment, Reservation, Row};
pub use questions::{Database, Question, all, as_commands, of_service};
pub use settlement::{Settlement, Sum};

#[cfg(test)]
mod tests;
