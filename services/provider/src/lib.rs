#![doc = include_str!("../README.md")]

mod api;
mod cards;
mod currencies;
mod error;
mod faults;
mod form;
mod intents;
mod keys;
mod objects;
mod page;
mod processor;
mod refunds;
mod schema;
mod server;
mod settings;
mod store;

pub use server::{MIGRATIONS, Provider, StartError, migrate};
pub use settings::{LogFormat, Settings, WrongSettings};
