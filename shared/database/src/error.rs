//! Database errors, classified by what the caller can do: try again later, run the unit of work again, or give up.

use diesel::result::{DatabaseErrorKind, Error as Diesel};

/// The result of database work.
pub type Result<T> = std::result::Result<T, Error>;

/// The classes of [`Error`], by the reaction of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// Nothing was committed; try again later. An HTTP client gets 503.
    Unavailable,
    /// The unit of work was rolled back; it can run again at once.
    Contention,
    /// The unit of work may or may not be committed. The caller must read its rows to find out.
    CommitUnknown,
    /// A defect of the program or its data; running it again does not help.
    Permanent,
}

/// A database error, by its meaning.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no connection, or the connection broke before COMMIT was sent.
    #[error("PostgreSQL is unavailable: {0}")]
    Unavailable(String),
    /// A deadlock, a serialization failure, or a lock timeout.
    #[error("PostgreSQL contention: {0}")]
    Contention(String),
    /// A named constraint refused the row.
    #[error("constraint {constraint} refused the row: {message}")]
    Constraint {
        /// The constraint's name.
        constraint: String,
        /// PostgreSQL's message.
        message: String,
    },
    /// The connection was lost between sending COMMIT and its answer.
    #[error("the outcome of COMMIT is unknown: {0}")]
    CommitUnknown(String),
    /// An earlier statement of the transaction failed, and no savepoint undid it.
    #[error("a statement of this transaction failed earlier; it cannot be committed")]
    Poisoned,
    /// A task of the database runtime panicked.
    #[error("a task on the database runtime panicked")]
    Panicked,
    /// Any other error.
    #[error(transparent)]
    Query(Diesel),
}

impl Error {
    /// Returns the class of the error.
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

    /// Reports whether the constraint `name` refused the row.
    pub fn is_constraint(&self, name: &str) -> bool {
        matches!(self, Self::Constraint { constraint, .. } if constraint == name)
    }
}

/// diesel hides the SQLSTATE of most errors, so these texts classify the server's message. The texts are those of
/// `lc_messages = C`, the setting of the project's servers and of the official images.
const UNAVAILABLE: &[&str] = &[
    "terminating connection",
    "the database system is",
    "connection closed",
    "remaining connection slots",
    "too many clients",
    "too many connections",
    "could not open file",
    "No space left on device",
    // Not contention: running the unit again would only add load to a server that is too slow already.
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
        let contains_any = |texts: &[&str]| texts.iter().any(|text| message.contains(text));
        match kind {
            DatabaseErrorKind::ClosedConnection | DatabaseErrorKind::UnableToSendCommand => {
                Self::Unavailable(message.to_owned())
            }
            DatabaseErrorKind::SerializationFailure => Self::Contention(message.to_owned()),
            _ if contains_any(UNAVAILABLE) => Self::Unavailable(message.to_owned()),
            _ if contains_any(CONTENTION) => Self::Contention(message.to_owned()),
            _ => match info.constraint_name() {
                Some(name) => Self::Constraint { constraint: name.to_owned(), message: message.to_owned() },
                None => Self::Query(error),
            },
        }
    }
}
