//! The limit of open files. Libraries panic where the limit is too low for the process to start.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More files than a process without clients opens for connections to its servers, log, listeners and event loops.
const LEAST: u64 = 128;

/// Raises the limit as far as this process may.
///
/// # Errors
/// The process could not start.
pub(crate) fn raise_limit() -> Result<(), String> {
    let most = getrlimit(Resource::Nofile).maximum;
    // On some systems the kernel has a lower limit than it says. The limit then stays as it is.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most });
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(LEAST);
    if limit >= LEAST {
        return Ok(());
    }
    Err(format!(
        "this process may open {limit} files, and needs {LEAST} and one for each connection of a client: raise the limit (ulimit -n)"
    ))
}
