#![doc = include_str!("../README.md")]

mod ask;
mod command;
mod config;
mod error;
mod health;
mod housekeeping;
mod http;
mod job;
mod metrics;
mod operator;
mod own_command;
mod patience;
mod process;
mod schema;
mod serve;
mod service;
mod signals;
mod startup;
mod tasks;
mod telemetry;

pub use command::main;
pub use config::{Faults, Fields};
pub use http::{document, routes};
pub use inbox::operator::{CommandOutput, table};
pub use job::Job;
pub use own_command::{NoCommand, ServiceCommand};
pub use service::{Context, Service};

use error::RunError;
