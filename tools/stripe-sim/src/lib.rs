#![doc = include_str!("../README.md")]

mod api;
mod bank;
mod faults;
mod keys;
mod objects;
mod operations;
mod processor;
mod protocol;
mod schema;
mod server;
mod settings;
mod store;
mod webhooks;

pub use server::{Server, StartError};
pub use settings::{Endpoint, LogFormat, Settings, SettingsError, Timing};
