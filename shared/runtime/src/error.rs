//! The errors of the long-running commands and of `migrate`.

use std::io;

use thiserror::Error;

use crate::http::ListenError;
use crate::tasks::TaskError;

/// An error that ends the process with exit code 1 and one log line.
#[derive(Debug, Error)]
pub(crate) enum RunError {
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Database(#[from] database::Error),
    #[error(transparent)]
    Migrate(#[from] database::MigrateError),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error("the operating system refused a thread, a signal or a socket: {0}")]
    System(#[from] io::Error),
    #[error("{0} is not configured")]
    NotConfigured(&'static str),
    #[error("the HTTP server ended before it was stopped")]
    HttpEnded,
    #[error("did not end in time: {}; the database rolls their transactions back", .0.join(", "))]
    Unfinished(Vec<&'static str>),
    #[error("a second signal was received; the database rolls open transactions back")]
    SecondSignal,
}
