//! `GroupTransaction`: runs the commands of one group in one transaction, and delivers their outcomes.

use std::collections::HashSet;
use std::time::Duration;

use database::{Database, Error, Tx, UnitOfWork};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join, join_all};
use tokio::time::Instant;
use tracing::{Instrument, info_span};

use super::command::{CommandRun, QueuedCommand};
use crate::execute::{ATTEMPTS, can_run_again, roll_back};
use crate::key_lookup::{KeyLookup, look_up_keys};
use crate::metrics::TransactionTimer;
use crate::record::CompletedRecords;
use crate::replay_cache::ReplayCache;
use crate::{CommandError, KeyedRequest, Operation, Outcome, Retention, StoredResponse};

/// The settings of a group's transaction.
pub(super) struct GroupTransaction {
    pub(super) database: Database,
    pub(super) retention: Retention,
    /// How long it tries to begin.
    pub(super) wait: Duration,
}

/// The transaction was rolled back, and these commands have no outcome yet.
struct RolledBack {
    commands: Vec<QueuedCommand>,
    error: Error,
}

/// A command whose response is to be stored: a success or a rejection.
struct CompletedCommand {
    command: QueuedCommand,
    operation: Operation,
    response: StoredResponse,
}

/// A command whose response is not stored, with its outcome.
type ExcludedCommand = (QueuedCommand, Result<Outcome, Error>);

impl GroupTransaction {
    /// Runs all commands, together or else by halves, and delivers every outcome.
    // Boxed, because it calls itself.
    pub(super) fn run(&self, commands: Vec<QueuedCommand>) -> BoxFuture<'_, ()> {
        async move {
            let Err(RolledBack { mut commands, error }) = self.run_with_retries(commands).await else { return };
            match error {
                Error::Unavailable(why) => deliver_to_all(commands, || Error::Unavailable(why.clone())),
                Error::CommitUnknown(why) => deliver_to_all(commands, || Error::CommitUnknown(why.clone())),
                error if commands.len() > 1 => {
                    tracing::debug!(%error, commands = commands.len(), "the group was rolled back; its halves run apart");
                    // One bad command takes two connections at a time. One for each command could take the whole pool.
                    let second = commands.split_off(commands.len() / 2);
                    join(self.run(commands), self.run(second)).await;
                }
                error => {
                    if let Some(command) = commands.pop() {
                        command.deliver(Err(error));
                    }
                }
            }
        }
        .boxed()
    }

    /// Runs a single command again after contention. A group is split instead.
    async fn run_with_retries(&self, mut commands: Vec<QueuedCommand>) -> Result<(), RolledBack> {
        let attempts = if commands.len() > 1 { 1 } else { ATTEMPTS };
        let mut attempt = 1;
        loop {
            // A trace of its own, because it serves the traces of all its commands.
            let span = info_span!(parent: None, "transaction", commands = commands.len());
            match self.run_once(commands).instrument(span).await {
                Err(rolled_back) if attempt < attempts && can_run_again(&rolled_back.error) => {
                    commands = rolled_back.commands;
                }
                result => return result,
            }
            attempt += 1;
        }
    }

    async fn run_once(&self, commands: Vec<QueuedCommand>) -> Result<(), RolledBack> {
        let _timer = TransactionTimer::start(&self.database);
        let (tx, lookups) = match self.begin(&commands).await {
            Ok(begun) => begun,
            Err(error) => return Err(RolledBack { commands, error }),
        };
        let new = deliver_known_outcomes(commands, lookups);
        if new.is_empty() {
            end_without_writes(tx).await;
            return Ok(());
        }
        crashpoint::reach!("execute.key_claimed");
        let mut excluded = Vec::new();
        let result = self.execute(tx, new, &mut excluded).await;
        // Only after the transaction has ended. Otherwise a client that retries at once finds its own key locked.
        for (command, outcome) in excluded {
            command.deliver(outcome);
        }
        result
    }

    /// Begins the transaction, and locks and reads the keys of all commands.
    async fn begin(&self, commands: &[QueuedCommand]) -> Result<(Tx, Vec<KeyLookup>), Error> {
        let requests: Vec<&KeyedRequest> = commands.iter().map(|command| &command.request).collect();
        let (since, mut attempt) = (Instant::now(), 1);
        loop {
            match self.database.begin_reading(async |tx| look_up_keys(tx, &requests).await).await {
                // A pooled connection may have broken while idle. That must not fail a whole group.
                Err(Error::Unavailable(_)) if attempt < ATTEMPTS && since.elapsed() < self.wait => {
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    async fn execute(
        &self,
        tx: Tx,
        new: Vec<(QueuedCommand, Operation)>,
        excluded: &mut Vec<ExcludedCommand>,
    ) -> Result<(), RolledBack> {
        let (tx, completed) = run_commands(tx, new, excluded).await?;
        crashpoint::reach!("execute.command_done");
        if completed.is_empty() {
            end_without_writes(tx).await;
            return Ok(());
        }
        self.commit(tx, completed).await
    }

    /// Writes all appended rows and the records, commits, and then delivers the outcomes.
    async fn commit(&self, mut tx: Tx, completed: Vec<CompletedCommand>) -> Result<(), RolledBack> {
        let intake = self.database.attached::<ReplayCache>().intake();
        let record = |CompletedCommand { command, operation, response }: &CompletedCommand| {
            (command.request.clone(), operation.clone(), response.clone())
        };
        let records = completed.iter().map(record).collect();
        tx.buffer(CompletedRecords { retention: self.retention, records });
        crashpoint::reach!("execute.before_commit");
        if let Err(error) = tx.commit().await {
            return Err(rolled_back(completed, error));
        }
        crashpoint::reach!("execute.after_commit");
        for CompletedCommand { command, operation, response } in completed {
            intake.keep_completed(&command.request, &operation, &response, self.retention);
            command.deliver(Ok(Outcome::Executed(response)));
        }
        Ok(())
    }
}

fn rolled_back(completed: Vec<CompletedCommand>, error: Error) -> RolledBack {
    let commands = completed.into_iter().map(|CompletedCommand { command, .. }| command).collect();
    RolledBack { commands, error }
}

/// Ends a transaction in which nothing was written. A failed ROLLBACK changes no outcome.
async fn end_without_writes(tx: Tx) {
    if let Err(error) = tx.rollback().await {
        tracing::debug!(%error, "ROLLBACK failed; the connection is closed");
    }
}

fn deliver_to_all(commands: Vec<QueuedCommand>, error: impl Fn() -> Error) {
    for command in commands {
        command.deliver(Err(error()));
    }
}

/// Delivers the outcomes of keys that are known or locked elsewhere. Returns the commands whose keys are new.
fn deliver_known_outcomes(
    commands: Vec<QueuedCommand>,
    lookups: Vec<KeyLookup>,
) -> Vec<(QueuedCommand, Operation)> {
    let mut new = Vec::with_capacity(commands.len());
    // PostgreSQL grants a lock again within one transaction. So this set finds a key that occurs twice in the group.
    let mut claimed = HashSet::new();
    for (command, KeyLookup { is_locked, at, record }) in commands.into_iter().zip(lookups) {
        let request = &command.request;
        let outcome = match record {
            // A record decides without the lock: another replay may hold the lock.
            Some(record) => command.span.in_scope(|| record.outcome(request)),
            None if is_locked && claimed.insert((request.scope.clone(), request.key.clone())) => {
                let operation = request.operation(at);
                new.push((command, operation));
                continue;
            }
            None => Ok(Outcome::InProgress),
        };
        command.deliver(outcome);
    }
    new
}

/// Runs all commands at the same time. Returns the transaction with the rows of the successful ones.
async fn run_commands(
    tx: Tx,
    new: Vec<(QueuedCommand, Operation)>,
    excluded: &mut Vec<ExcludedCommand>,
) -> Result<(Tx, Vec<CompletedCommand>), RolledBack> {
    let shared = tx.share();
    let runs =
        new.into_iter().map(async |(command, operation)| (command.run(&shared, operation).await, command));
    let (mut parts, mut completed) = (Vec::new(), Vec::new());
    let (mut failed, mut last_error) = (Vec::new(), None);
    for (run, command) in join_all(runs).await {
        let Some(CommandRun { tx, operation, result }) = run else {
            excluded.push((command, Err(Error::Panicked)));
            continue;
        };
        match result {
            Ok(response) => {
                parts.push(tx);
                completed.push(CompletedCommand { command, operation, response });
            }
            // Dropping `tx` drops the rows that the rejected command appended.
            Err(CommandError::Rejected(response)) => {
                completed.push(CompletedCommand { command, operation, response });
            }
            Err(CommandError::Refused(response)) => excluded.push((command, Ok(Outcome::Refused(response)))),
            Err(CommandError::Database(error)) => {
                failed.push(command);
                last_error = Some(error);
            }
        }
    }
    let error = match (shared.collect(parts), last_error) {
        (Ok(tx), None) => return Ok((tx, completed)),
        (Ok(tx), Some(error)) => roll_back(tx, error).await,
        (Err(error), _) => error,
    };
    failed.extend(completed.into_iter().map(|CompletedCommand { command, .. }| command));
    Err(RolledBack { commands: failed, error })
}
