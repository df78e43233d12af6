//! PostgreSQL functions that diesel does not know by itself.

use chrono::TimeDelta;
use diesel::dsl::AsExprOf;
use diesel::pg::Pg;
use diesel::sql_types::{BigInt, Interval, Timestamptz};
use diesel::{IntoSql, define_sql_function};

define_sql_function! {
    /// The database's clock, moving within a transaction: the only clock that windows are compared with.
    fn clock_timestamp() -> Timestamptz;
}

define_sql_function! {
    /// Takes the lock until the transaction ends, or says at once that somebody else holds it.
    fn pg_try_advisory_xact_lock(number: BigInt) -> Bool;
}

define_sql_function! {
    /// Waits for a lock that the session keeps until it ends.
    fn pg_advisory_lock(number: BigInt) -> Nullable<Text>;
}

diesel::infix_operator!(Plus, " + ", Timestamptz, backend: Pg);

/// A moment this long after the database's present.
pub fn from_now(length: TimeDelta) -> FromNow {
    Plus::new(clock_timestamp(), length.into_sql::<Interval>())
}

/// The SQL of [`from_now`].
pub type FromNow = Plus<clock_timestamp, AsExprOf<TimeDelta, Interval>>;
