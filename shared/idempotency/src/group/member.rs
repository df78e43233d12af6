//! One command of a group: what it wishes, and who waits for its answer.

use std::panic::AssertUnwindSafe;

use database::{AppendTx, Error, Handler, SharedTx};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tracing::{Instrument, Span};

use crate::{CommandError, KeyedRequest, Operation, Outcome, StoredResponse};

/// A command that waits for its turn.
pub(super) struct Member {
    pub(super) intent: KeyedRequest,
    command: Box<dyn Command>,
    /// The request's: what is logged for this member leads to its request, whoever carries it out.
    pub(super) span: Span,
    answer: oneshot::Sender<Result<Outcome, Error>>,
}

/// What came of a member's command, with what it has noted.
pub(super) struct Drafted {
    pub(super) draft: AppendTx,
    pub(super) operation: Operation,
    pub(super) result: Result<StoredResponse, CommandError>,
}

impl Member {
    /// A member, and where its answer will come.
    pub(super) fn new<F>(
        intent: KeyedRequest,
        command: F,
    ) -> (Self, oneshot::Receiver<Result<Outcome, Error>>)
    where
        F: Handler<AppendTx, Operation, Result<StoredResponse, CommandError>>,
    {
        let (answer, answered) = oneshot::channel();
        (Self { intent, command: Box::new(command), span: Span::current(), answer }, answered)
    }

    /// Runs the command on a part of this transaction. `None`: it panicked.
    pub(super) async fn draft(&self, shared: &SharedTx, operation: Operation) -> Option<Drafted> {
        let intent = &self.intent;
        let run = async {
            tracing::info!(key = %intent.key.short_hash(), route = %intent.scope.route, "NewRequestProcessing");
            let draft = shared.draft(intent.traceparent.clone());
            self.command.run(draft, operation).await
        };
        // A panic is this command's own: it ends without the others.
        AssertUnwindSafe(run).catch_unwind().instrument(self.span.clone()).await.ok()
    }

    /// Nobody may be waiting any more; what was done stays done.
    pub(super) fn tell(self, answer: Result<Outcome, Error>) {
        let _ = self.answer.send(answer);
    }
}

/// Commands of all types, in one queue. They can be run again.
trait Command: Send + Sync {
    fn run(&self, draft: AppendTx, operation: Operation) -> BoxFuture<'static, Drafted>;
}

impl<F> Command for F
where
    F: Handler<AppendTx, Operation, Result<StoredResponse, CommandError>>,
{
    fn run(&self, mut draft: AppendTx, operation: Operation) -> BoxFuture<'static, Drafted> {
        let command = self.clone();
        async move {
            let result = command.run(&mut draft, &operation).await;
            Drafted { draft, operation, result }
        }
        .boxed()
    }
}
