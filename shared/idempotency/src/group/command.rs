//! `QueuedCommand`: a command in the queue, with the channel that its caller waits on.

use std::panic::AssertUnwindSafe;

use database::{AppendTx, Database, Error, Handler, SharedTx};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::{Instrument, Span, info_span};

use crate::keyed_request::show_operation;
use crate::metrics::IdempotencyMetrics;
use crate::{CommandError, KeyedRequest, Operation, Outcome, StoredResponse};

/// A command that waits for its group, or runs in it.
pub(super) struct QueuedCommand {
    pub(super) request: KeyedRequest,
    run: Box<dyn RunCommand>,
    /// The request's span, so that log lines of the command show their request.
    pub(super) span: Span,
    /// When the command entered the queue.
    pub(super) queued_at: Instant,
    database: Database,
    outcome: oneshot::Sender<Result<Outcome, Error>>,
}

/// The result of one run, with the rows that the command appended.
pub(super) struct CommandRun {
    pub(super) tx: AppendTx,
    pub(super) operation: Operation,
    pub(super) result: Result<StoredResponse, CommandError>,
}

impl QueuedCommand {
    /// A command, and the channel that delivers its outcome.
    pub(super) fn new<F>(
        database: &Database,
        request: KeyedRequest,
        command: F,
    ) -> (Self, oneshot::Receiver<Result<Outcome, Error>>)
    where
        F: Handler<AppendTx, Operation, Result<StoredResponse, CommandError>>,
    {
        let (outcome, receiver) = oneshot::channel();
        let (database, queued_at) = (database.clone(), Instant::now());
        let run = Box::new(command);
        (Self { request, run, span: Span::current(), queued_at, database, outcome }, receiver)
    }

    /// Runs the command on its own part of the transaction. Returns `None` if the command panicked.
    pub(super) async fn run(&self, shared: &SharedTx, operation: Operation) -> Option<CommandRun> {
        show_operation(&self.span, operation.id);
        let span = info_span!(parent: &self.span, "command");
        traces::link(&Span::current(), &span);
        let run = async {
            self.request.log_processing();
            let tx = shared.append_tx(self.request.traceparent.clone());
            self.run.run(tx, operation).await
        };
        // A panic fails this command only; the group continues.
        AssertUnwindSafe(run).catch_unwind().instrument(span).await.ok()
    }

    /// Counts and delivers the outcome. An error of the channel means that the client has disconnected, and is ignored: the
    /// transaction is committed or rolled back either way.
    pub(super) fn deliver(self, outcome: Result<Outcome, Error>) {
        self.database.metrics::<IdempotencyMetrics>().count(&outcome);
        let _ = self.outcome.send(outcome);
    }
}

/// A command of any type that can be run again.
trait RunCommand: Send + Sync {
    fn run(&self, tx: AppendTx, operation: Operation) -> BoxFuture<'static, CommandRun>;
}

impl<F> RunCommand for F
where
    F: Handler<AppendTx, Operation, Result<StoredResponse, CommandError>>,
{
    fn run(&self, mut tx: AppendTx, operation: Operation) -> BoxFuture<'static, CommandRun> {
        let command = self.clone();
        async move {
            let result = Handler::run(command, &mut tx, &operation).await;
            CommandRun { tx, operation, result }
        }
        .boxed()
    }
}
