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
    /// PostgreSQL failed for a reason that this crate does not know. The request or message is not to blame.
    Unclassified,
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
    /// A value that PostgreSQL or diesel cannot read or store (SQLSTATE class 22).
    #[error(transparent)]
    Query(Diesel),
    /// Any other error of the server.
    #[error("PostgreSQL failed: {0}")]
    Unclassified(String),
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
            Self::Unclassified(_) => ErrorClass::Unclassified,
        }
    }

    /// Reports whether the constraint `name` refused the row.
    pub fn is_constraint(&self, name: &str) -> bool {
        matches!(self, Self::Constraint { constraint, .. } if constraint == name)
    }
}

/// The error for a column whose value this release cannot read.
pub fn unreadable(column: &str) -> Error {
    Diesel::DeserializationError(format!("{column} is not readable").into()).into()
}

/// diesel-async tells the SQLSTATE of constraints (23), serialization failures (40001) and read-only servers (25006). It hides
/// all others, so these texts classify the message of the server. They are English, and
/// [`Database::unusable_session`](crate::Database::unusable_session) finds a server that speaks another language.
const UNAVAILABLE: &[&str] = &[
    // 57P01 to 57P05: the server starts, stops, or ends the session.
    "terminating connection",
    "the database system is",
    // 53: a resource of the server is used up.
    "connection slots",
    "too many clients",
    "too many connections",
    "No space left on device",
    "out of memory",
    "out of shared memory",
    "temporary file size exceeds",
    // 58030: the disk fails.
    "could not open file",
    "could not read",
    "could not write",
    "could not extend file",
    "could not fsync file",
    // 57014. Not contention: running the unit again would only add load to a server that is too slow already.
    "canceling statement due to statement timeout",
    "canceling statement due to user request",
    STALE_PLAN,
    // 08: the connection. Poolers say so in their own words.
    "connection closed",
    "server closed the connection",
    "server conn crashed",
    "query_wait_timeout",
    "pgbouncer",
];
/// The words of 0A000, of a prepared statement whose columns have another type by now. Only a new session prepares it again.
pub(crate) const STALE_PLAN: &str = "cached plan must not change result type";
/// 40P01 and 55P03.
const CONTENTION: &[&str] = &["deadlock detected", LOCK_TIMEOUT];
/// The words of 55P03, of a statement that has waited too long for a lock.
pub(crate) const LOCK_TIMEOUT: &str = "canceling statement due to lock timeout";
/// 22: a value cannot be read or computed.
const DATA: &[&str] = &[
    "out of range",
    "overflow",
    "value too long for type",
    "invalid input",
    "invalid byte sequence",
    "incorrect binary data format",
    "unsupported Unicode escape sequence",
    "division by zero",
];

impl From<Diesel> for Error {
    fn from(error: Diesel) -> Self {
        use DatabaseErrorKind as Kind;
        let Diesel::DatabaseError(kind, info) = &error else {
            return match error {
                Diesel::BrokenTransactionManager => Self::Poisoned,
                other => Self::Query(other),
            };
        };
        let message = info.message();
        let contains_any = |texts: &[&str]| texts.iter().any(|text| message.contains(text));
        match kind {
            Kind::ClosedConnection | Kind::UnableToSendCommand | Kind::ReadOnlyTransaction => {
                Self::Unavailable(message.to_owned())
            }
            Kind::SerializationFailure => Self::Contention(message.to_owned()),
            Kind::UniqueViolation
            | Kind::ForeignKeyViolation
            | Kind::NotNullViolation
            | Kind::CheckViolation
            | Kind::RestrictViolation
            | Kind::ExclusionViolation => match info.constraint_name() {
                Some(name) => Self::Constraint { constraint: name.to_owned(), message: message.to_owned() },
                None => Self::Query(error),
            },
            _ if contains_any(UNAVAILABLE) => Self::Unavailable(message.to_owned()),
            _ if contains_any(CONTENTION) => Self::Contention(message.to_owned()),
            _ if contains_any(DATA) => Self::Query(error),
            // 25P02.
            _ if message.contains("current transaction is aborted") => Self::Poisoned,
            _ => Self::Unclassified(message.to_owned()),
        }
    }
}

/// The text of an error and of its causes. The driver's own texts leave the causes out.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
