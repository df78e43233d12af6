//! The metrics of keys: the outcomes of requests with a key, the steps of phased operations, and the time of a transaction.
//!
//! `execute`, the group and `start` count where the outcome becomes known, in the task that a client cannot cancel. The HTTP edge
//! counts the keys that it refuses, because no executor sees them.

use std::time::{Duration, Instant};

use ::metrics::{Counters, Families, Histogram, Registry, count_buckets, seconds_buckets};
use database::{Database, Error};
use strum::{IntoStaticStr, VariantArray};

use crate::{Conclusion, Outcome};

/// The end of one request with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum RequestEnd {
    /// The command was executed, and its response is committed.
    Executed,
    /// The stored response was returned.
    Replayed,
    /// The command was refused, and nothing is stored.
    Refused,
    /// A request with the same key is being executed.
    InProgress,
    /// The key was used for another request.
    Reused,
    /// The response of the key has been erased.
    Expired,
    /// The key was fenced before its command arrived.
    Fenced,
    /// The connection was lost during COMMIT. The retry finds the outcome.
    CommitUnknown,
    /// Another error; nothing is committed.
    Failed,
}

impl RequestEnd {
    fn of(result: &Result<Outcome, Error>) -> Self {
        match result {
            Ok(Outcome::Executed(_)) => Self::Executed,
            Ok(Outcome::Replayed { .. }) => Self::Replayed,
            Ok(Outcome::Refused(_)) => Self::Refused,
            Ok(Outcome::InProgress) => Self::InProgress,
            Ok(Outcome::Reused) => Self::Reused,
            Ok(Outcome::Expired) => Self::Expired,
            Ok(Outcome::Fenced) => Self::Fenced,
            Err(Error::CommitUnknown(_)) => Self::CommitUnknown,
            Err(_) => Self::Failed,
        }
    }
}

/// The result of a lookup in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum CacheLookup {
    /// The outcome came from memory.
    Hit,
    /// The database was asked.
    Miss,
}

/// Why the edge refuses a key before it is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum KeyRefusal {
    /// The request has no key.
    Missing,
    /// The key is malformed, or there is more than one.
    Invalid,
}

/// A step of a phased operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum OperationStep {
    /// The command was accepted.
    Started,
    /// A retry of the client started the next attempt.
    Resumed,
    /// The wait limit was over: the response 202 was stored.
    Accepted,
    /// The outcome of an attempt is not known.
    Unknown,
    /// An attempt had no effect; a retry starts the next one.
    Retryable,
    /// The command took effect.
    Succeeded,
    /// The command took no effect and never will.
    Failed,
    /// The command can never be carried out, because of a defect.
    Terminal,
}

impl OperationStep {
    pub(crate) fn of(conclusion: &Conclusion) -> Self {
        match conclusion {
            Conclusion::Succeeded(_) => Self::Succeeded,
            Conclusion::Failed(_) => Self::Failed,
            Conclusion::Unknown => Self::Unknown,
            Conclusion::Retryable(_) => Self::Retryable,
            Conclusion::Terminal(_) => Self::Terminal,
        }
    }
}

/// The families of this crate.
#[derive(Debug)]
pub struct IdempotencyMetrics {
    requests: Counters<RequestEnd>,
    pub(crate) cache_lookups: Counters<CacheLookup>,
    /// The keys that the edge refuses.
    pub refused_keys: Counters<KeyRefusal>,
    pub(crate) operations: Counters<OperationStep>,
    group_size: Histogram,
    group_wait: Histogram,
    transaction: Histogram,
}

impl Default for IdempotencyMetrics {
    fn default() -> Self {
        Self {
            requests: Counters::by("outcome"),
            cache_lookups: Counters::by("result"),
            refused_keys: Counters::by("reason"),
            operations: Counters::by("step"),
            group_size: Histogram::new(count_buckets()),
            group_wait: Histogram::new(seconds_buckets()),
            transaction: Histogram::new(seconds_buckets()),
        }
    }
}

impl Families for IdempotencyMetrics {
    fn register(&self, registry: &mut Registry) {
        self.requests.register(registry, "idempotency_requests", "Requests with a key, by how they ended");
        let help = "Requests with a key whose outcome was looked for in memory";
        self.cache_lookups.register(registry, "idempotency_replay_cache_lookups", help);
        let help = "Requests that were refused because of their key, before it was looked up";
        self.refused_keys.register(registry, "idempotency_refused_keys", help);
        self.operations.register(registry, "idempotency_operations", "Steps of phased operations");
        let help = "Commands in one group commit";
        registry.register("idempotency_group_commands", help, self.group_size.clone());
        let help = "Time of a command in the queue for its group commit";
        registry.register("idempotency_group_wait_seconds", help, self.group_wait.clone());
        let help = "Time from the lookup of keys to the end of their transaction";
        registry.register("idempotency_transaction_duration_seconds", help, self.transaction.clone());
    }
}

impl IdempotencyMetrics {
    /// Counts the end of a request.
    pub(crate) fn count(&self, result: &Result<Outcome, Error>) {
        self.requests.count(RequestEnd::of(result));
    }

    /// Counts a request that no transaction has taken.
    pub(crate) fn count_failed(&self) {
        self.requests.count(RequestEnd::Failed);
    }

    /// Measures a group whose commands have waited for so long.
    pub(crate) fn group_taken(&self, waits: impl ExactSizeIterator<Item = Duration>) {
        self.group_size.observe(u32::try_from(waits.len()).map_or(f64::MAX, f64::from));
        waits.for_each(|wait| self.group_wait.observe(wait.as_secs_f64()));
    }
}

/// Measures one transaction, until it is dropped.
pub(crate) struct TransactionTimer<'a> {
    metrics: &'a IdempotencyMetrics,
    started: Instant,
}

impl<'a> TransactionTimer<'a> {
    pub(crate) fn start(database: &'a Database) -> Self {
        Self { metrics: database.metrics(), started: Instant::now() }
    }
}

impl Drop for TransactionTimer<'_> {
    fn drop(&mut self) {
        self.metrics.transaction.observe(self.started.elapsed().as_secs_f64());
    }
}
