//! Why a process did not end as it was told to.

use std::io;

use thiserror::Error;

use crate::http::ListenError;
use crate::tasks::Death;

/// What `main` turns into exit code 1 and one clear line.
#[derive(Debug, Error)]
pub(crate) enum RunError {
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Database(#[from] database::Error),
    #[error(transparent)]
    Migrate(#[from] database::MigrateError),
    #[error(transparent)]
    Died(#[from] Death),
    #[error("the operating system refused a thread, a signal or a socket: {0}")]
    System(#[from] io::Error),
    #[error("{0} is not configured")]
    NotConfigured(&'static str),
    #[error("the HTTP server ended although nobody told it to")]
    HttpEnded,
    #[error("did not end in time: {}; the database undoes what they had begun", .0.join(", "))]
    Left(Vec<&'static str>),
    #[error("a second signal came; the database undoes what had begun")]
    Impatient,
}
