//! PostgreSQL functions that diesel does not declare.

use chrono::TimeDelta;
use diesel::dsl::{AsExprOf, SingleValue, select};
use diesel::pg::Pg;
use diesel::sql_types::{BigInt, Bool, Interval, Text, Timestamptz};
use diesel::{Expression, IntoSql, QueryDsl, define_sql_function};

define_sql_function! {
    /// The database's clock, which advances within a transaction. All time limits are compared with this clock only.
    fn clock_timestamp() -> Timestamptz;
}

define_sql_function! {
    /// The time at which the statement began: all rows that one statement writes have the same.
    fn statement_timestamp() -> Timestamptz;
}

define_sql_function! {
    /// The value of a setting in this session.
    fn current_setting(name: Text) -> Text;
}

define_sql_function! {
    /// Changes a setting, in this transaction only if `is_local`. Returns the new value.
    fn set_config(name: Text, value: Text, is_local: Bool) -> Text;
}

define_sql_function! {
    /// Takes the lock until the transaction ends; returns false at once if another session holds it.
    fn pg_try_advisory_xact_lock(number: BigInt) -> Bool;
}

define_sql_function! {
    /// Waits for the lock and keeps it until the transaction ends.
    fn pg_advisory_xact_lock(number: BigInt) -> Nullable<Text>;
}

define_sql_function! {
    /// The number of an advisory lock with a name.
    fn hashtextextended(name: Text, seed: BigInt) -> BigInt;
}

define_sql_function! {
    /// Takes the lock until the session ends; returns false at once if another session holds it.
    fn pg_try_advisory_lock(number: BigInt) -> Bool;
}

/// The database's present time, as a bound of an index. PostgreSQL computes `clock_timestamp()` itself for each row, and would
/// read the index to its end.
pub fn present_time() -> PresentTime {
    select(clock_timestamp()).single_value()
}

/// The SQL of [`present_time`].
pub type PresentTime = SingleValue<select<clock_timestamp>>;

diesel::infix_operator!(Plus, " + ", Timestamptz, backend: Pg);

/// The database's present time plus `length`.
pub fn from_now(length: TimeDelta) -> FromNow {
    Plus::new(clock_timestamp(), length.into_sql::<Interval>())
}

/// The database's present time plus the length in a column.
pub fn from_now_by<L: Expression<SqlType = Interval>>(length: L) -> Plus<clock_timestamp, L> {
    Plus::new(clock_timestamp(), length)
}

/// The SQL of [`from_now`].
pub type FromNow = Plus<clock_timestamp, AsExprOf<TimeDelta, Interval>>;
