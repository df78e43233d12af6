//! Starts the log and the traces. The log goes to stderr, because stdout is for the output of commands.

use std::io::{self, IsTerminal};

use database::is_without_parameters;
use traces::Exporter;
use tracing_log::AsLog;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::prelude::*;
use tracing_subscriber::reload;

use crate::config::{Log, LogFormat};

/// Lets the crates that use `log` write what the filter allows now.
fn pass_on_log_records() {
    tracing_log::log::set_max_level(LevelFilter::current().as_log());
}

/// Starts the log and the traces for the rest of the process. Panics are logged, too.
pub(crate) fn start(log: Log, traces: Option<&Exporter>) {
    let (filter, handle) = reload::Layer::new(log.filter);
    let layer = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let lines = match log.format {
        LogFormat::Pretty => layer.with_ansi(io::stderr().is_terminal()).boxed(),
        LogFormat::Json => layer.json().flatten_event(true).with_current_span(false).boxed(),
    };
    // The log's filter does not concern the traces.
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .with(traces.map(Exporter::layer))
        .with(filter_fn(is_without_parameters))
        .init();
    if let Some(file) = log.filter_file
        && let Err(error) =
            file.follow(move |filter| handle.reload(filter).inspect(|()| pass_on_log_records()))
    {
        tracing::error!(%error, "no thread follows log.filter_file");
    }
    std::panic::set_hook(Box::new(|panic| {
        // Because the default hook prints plain lines, a JSON log would break.
        let at = panic.location().map(ToString::to_string);
        tracing::error!(at, "panicked: {}", panic.payload_as_str().unwrap_or("without a message"));
    }));
}
