//! What can go wrong with a database, sorted by what the caller can do about it.

use diesel::result::{DatabaseErrorKind, Error as Diesel};

/// The result of database work.
pub type Result<T> = std::result::Result<T, Error>;

/// What to do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// Nothing was done; try again later. A caller over HTTP gets 503.
    Unavailable,
    /// The whole unit of work was rolled back and may run again at once.
    Contention,
    /// Whether it was done is not known; reading the record tells.
    CommitUnknown,
    /// A mistake in the program or its data: trying again will not help.
    Permanent,
}

/// A database error, by what it means.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection, or it broke before COMMIT was sent.
    #[error("PostgreSQL is unavailable: {0}")]
    Unavailable(String),
    /// Deadlock, serialization failure, or a lock that did not come in time.
    #[error("PostgreSQL contention: {0}")]
    Contention(String),
    /// A named constraint refused the row.
    #[error("constraint {constraint} refused the row: {message}")]
    Constraint {
        /// The constraint's name.
        constraint: String,
        /// What PostgreSQL said.
        message: String,
    },
    /// The connection was lost while COMMIT was on its way.
    #[error("the outcome of COMMIT is unknown: {0}")]
    CommitUnknown(String),
    /// An earlier statement of the transaction failed, and nobody undid it.
    #[error("a statement of this transaction failed earlier; it cannot be committed")]
    Poisoned,
    /// A task of the database runtime panicked.
    #[error("a task on the database runtime panicked")]
    Panicked,
    /// Everything else.
    #[error(transparent)]
    Query(Diesel),
}

impl Error {
    /// What to do about it.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Unavailable(_) => ErrorClass::Unavailable,
            Self::Contention(_) => ErrorClass::Contention,
            Self::CommitUnknown(_) => ErrorClass::CommitUnknown,
            Self::Constraint { .. } | Self::Poisoned | Self::Panicked | Self::Query(_) => {
                ErrorClass::Permanent
            }
        }
    }

    /// Whether this constraint refused the row.
    pub fn is_constraint(&self, name: &str) -> bool {
        matches!(self, Self::Constraint { constraint, .. } if constraint == name)
    }
}

/// diesel hides SQLSTATE of most errors, so these are told by the server's message. The messages are those of
/// `lc_messages = C`, which the project's own servers and the official images use.
const UNAVAILABLE: &[&str] = &[
    "terminating connection",
    "the database system is",
    "connection closed",
    "remaining connection slots",
    "too many clients",
    "too many connections",
    "could not open file",
    "No space left on device",
    // A server that takes this long is as good as away; running the unit again would only keep it busy.
    "canceling statement due to statement timeout",
];
const CONTENTION: &[&str] = &["deadlock detected", "canceling statement due to lock timeout"];

impl From<Diesel> for Error {
    fn from(error: Diesel) -> Self {
        let Diesel::DatabaseError(kind, info) = &error else {
            return match error {
                Diesel::BrokenTransactionManager => Self::Poisoned,
                other => Self::Query(other),
            };
        };
        let message = info.message();
        let says = |texts: &[&str]| texts.iter().any(|text| message.contains(text));
        match kind {
            DatabaseErrorKind::ClosedConnection | DatabaseErrorKind::UnableToSendCommand => {
                Self::Unavailable(message.to_owned())
            }
            DatabaseErrorKind::SerializationFailure => Self::Contention(message.to_owned()),
            _ if says(UNAVAILABLE) => Self::Unavailable(message.to_owned()),
            _ if says(CONTENTION) => Self::Contention(message.to_owned()),
            _ => match info.constraint_name() {
                Some(name) => Self::Constraint { constraint: name.to_owned(), message: message.to_owned() },
                None => Self::Query(error),
            },
        }
    }
}
