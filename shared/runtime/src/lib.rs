#![doc = include_str!("../README.md")]

mod auditor;
mod broker_watch;
mod command;
mod config;
mod deployment;
mod error;
mod health;
mod health_client;
mod housekeeping;
mod http;
mod job;
mod log_filter;
mod metrics;
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

use error::RunError;
