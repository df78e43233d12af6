//! What the PostgreSQL driver writes to the log.

use tracing::{Level, Metadata};

/// Returns whether a line of the log is without the parameters of a statement. The driver's debug lines contain them, and so
/// keys and bodies: a program that starts a log leaves them out at every level.
pub fn is_without_parameters(line: &Metadata<'_>) -> bool {
    *line.level() <= Level::INFO || !line.target().starts_with("tokio_postgres")
}
