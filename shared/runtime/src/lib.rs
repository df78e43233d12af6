#![doc = include_str!("../README.md")]

mod auditor;
mod command;
mod config;
mod deployment;
mod health;
mod health_client;
mod housekeeping;
mod http;
mod job;
mod metrics;
mod open_files;
mod operator;
mod pools;
mod process;
mod schema;
mod serve;
mod service;
mod signals;
mod slow_reader;
mod startup;
mod tasks;
mod telemetry;
mod wait;

pub use command::main;
pub use config::{ConfigErrors, SettingsReader};
pub use housekeeping::HousekeepingJob;
pub use http::routes;
pub use job::Job;
pub use operators::{ErasedRows, Erasure, NoCommand};
pub use service::{Context, Service};

/// An error that ends the process with exit code 1 and one log line.
type RunError = Box<dyn std::error::Error + Send + Sync>;
