//! Starts the log. It goes to stderr, because stdout is for the output of commands.

use std::io::{self, IsTerminal};

use database::is_without_parameters;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::prelude::*;

use crate::config::{Log, LogFormat};

/// Starts the log for the rest of the process. Panics are logged, too.
pub(crate) fn start(log: Log) {
    let lines = tracing_subscriber::fmt().with_env_filter(log.filter).with_writer(io::stderr);
    match log.format {
        LogFormat::Pretty => {
            lines
                .with_ansi(io::stderr().is_terminal())
                .finish()
                .with(filter_fn(is_without_parameters))
                .init();
        }
        LogFormat::Json => {
            let lines = lines.json().flatten_event(true).with_current_span(false).finish();
            lines.with(filter_fn(is_without_parameters)).init();
        }
    }
    std::panic::set_hook(Box::new(|panic| {
        // Because the default hook prints plain lines, a JSON log would break.
        let at = panic.location().map(ToString::to_string);
        tracing::error!(at, "panicked: {}", panic.payload_as_str().unwrap_or("without a message"));
    }));
}
