//! Executes each command once: its effect and the response stored under its key are one transaction.
//!
//! A command that has begun runs to its end, even if its client disconnects.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use database::{Database, GroupCommit, GroupSettings, Tx, UnitOfWork};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{Notify, oneshot};

use crate::faults::{CallFault, Faults};
use crate::keys::{self, KeysInFlight, NewResponse, RequestKey, Response};
use crate::operations::cards::Card;
use crate::protocol::{ApiError, Error};
use crate::settings::Timing;
use crate::webhooks::Endpoints;

/// The longest pause of a background task without a wake-up. Another process may have left work behind.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Under load, the shortest time between two transactions of commands that only add rows.
const GATHER: Duration = Duration::from_millis(5);

/// The state of the process: its database, and its settings in memory.
pub(crate) struct Processor {
    pub(crate) database: Database,
    pub(crate) faults: Faults,
    pub(crate) endpoints: Endpoints,
    pub(crate) timing: Timing,
    keys_in_flight: KeysInFlight,
    additions: GroupCommit<(Addition, oneshot::Sender<Response>)>,
}

/// A command that only adds rows, with its key: executed with others in one transaction.
type Addition = Box<dyn for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<Response, Error>> + Send>;

/// The parts of a request besides its parameters.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestContext {
    /// `None` without an Idempotency-Key: then a retry takes effect again.
    pub(crate) key: Option<RequestKey>,
    pub(crate) request_id: String,
    pub(crate) fault: CallFault,
}

/// The request that caused a change. It has neither id nor key if a bank caused the change.
pub(crate) struct Cause<'p> {
    pub(crate) processor: &'p Processor,
    pub(crate) request_id: Option<String>,
    pub(crate) key: Option<String>,
}

impl<'p> Cause<'p> {
    /// A bank's decision.
    pub(crate) fn bank(processor: &'p Processor) -> Self {
        Self { processor, request_id: None, key: None }
    }
}

/// A request that changes the database.
pub(crate) trait Command: Send + Sync + 'static {
    /// Its name in the log.
    const NAME: &'static str;

    /// Whether it only adds rows. Then its transaction may serve other commands, too.
    const ONLY_ADDS: bool = false;

    /// The card that it charges, if the request names one.
    fn card(&self) -> Option<Card> {
        None
    }

    /// Executes it. An [`ApiError`] is stored like a success and the transaction is committed; so return one only before
    /// the first write.
    fn execute(
        &self,
        tx: &mut Tx,
        cause: &Cause<'_>,
        bank_delay: Duration,
    ) -> impl Future<Output = Result<Response, Error>> + Send;
}

/// A response, and whether it was stored by an earlier request.
pub(crate) struct Executed {
    pub(crate) response: Response,
    pub(crate) replayed: bool,
}

impl Processor {
    pub(crate) fn new(database: Database, endpoints: Endpoints, timing: Timing) -> Self {
        let (faults, keys_in_flight, owner) = (Faults::default(), KeysInFlight::default(), database.clone());
        let groups = GroupSettings { at_once: 1, gather: GATHER, ..GroupSettings::default() };
        let additions =
            GroupCommit::new(database.clone(), groups, move |group| add_together(owner.clone(), group));
        Self { database, faults, endpoints, timing, keys_in_flight, additions }
    }

    /// Executes the command, or returns the response stored under its key.
    pub(crate) async fn execute<C: Command>(
        self: &Arc<Self>,
        context: RequestContext,
        command: C,
    ) -> Result<Executed, Error> {
        let (processor, command) = (Arc::clone(self), Arc::new(command));
        let work = async move {
            match &context.key {
                Some(key) => processor.execute_keyed(key, &context, &command).await,
                None => processor.execute_unkeyed(&context, &*command).await,
            }
        };
        let executed = self.database.detach(work).await??;
        let (status, replayed) = (executed.response.status().as_u16(), executed.replayed);
        tracing::info!(operation = C::NAME, status, replayed, "operation answered");
        Ok(executed)
    }

    async fn execute_keyed<C: Command>(
        self: &Arc<Self>,
        key: &RequestKey,
        context: &RequestContext,
        command: &Arc<C>,
    ) -> Result<Executed, Error> {
        // Claim first, then read: the request that held the key before has committed by the time of the read.
        let claim = self.keys_in_flight.claim(key.as_str());
        if let Some(response) = self.find_response(key).await? {
            return Ok(Executed { response, replayed: true });
        }
        let Some(_claim) = claim else { return Err(ApiError::key_in_use(key.as_str()).into()) };

        self.wait(context, &**command).await;
        if C::ONLY_ADDS
            && let Some(response) = self.execute_with_others(key, context, command).await
        {
            return Ok(Executed { response, replayed: false });
        }
        let mut tx = self.database.begin().await?;
        let response = self.execute_in(&mut tx, context, &**command).await?;
        if keys::store_response(&mut tx, key, &response, self.timing.key_window).await? {
            tx.commit().await?;
            return Ok(Executed { response, replayed: false });
        }
        tx.rollback().await?;
        let stored = self.find_response(key).await?;
        let response = stored.ok_or_else(|| ApiError::key_in_use(key.as_str()))?;
        Ok(Executed { response, replayed: true })
    }

    /// Executes a command in a transaction with those that arrive at the same time. Returns `None` if the transaction failed,
    /// for instance because another process has stored a response under one of the keys.
    async fn execute_with_others<C: Command>(
        self: &Arc<Self>,
        key: &RequestKey,
        context: &RequestContext,
        command: &Arc<C>,
    ) -> Option<Response> {
        let (processor, key) = (Arc::clone(self), key.clone());
        let (context, command) = (context.clone(), Arc::clone(command));
        let addition: Addition = Box::new(move |tx| {
            async move {
                let response = processor.execute_in(tx, &context, &*command).await?;
                let window = TimeDelta::from_std(processor.timing.key_window).unwrap_or(TimeDelta::MAX);
                let valid_until = tx.now().await? + window;
                tx.buffer(NewResponse::new(&key, &response, valid_until));
                Ok(response)
            }
            .boxed()
        });
        let (sender, response) = oneshot::channel();
        self.additions.execute((addition, sender), response).await.ok()
    }

    async fn execute_unkeyed(
        &self,
        context: &RequestContext,
        command: &impl Command,
    ) -> Result<Executed, Error> {
        self.wait(context, command).await;
        let mut tx = self.database.begin().await?;
        let response = self.execute_in(&mut tx, context, command).await?;
        tx.commit().await?;
        Ok(Executed { response, replayed: false })
    }

    /// Takes the time of a fault or of the slow card. It holds the key meanwhile, but no connection.
    async fn wait(&self, context: &RequestContext, command: &impl Command) {
        let card = command.card();
        if card == Some(Card::ChargesSlowly) {
            self.faults.count_slow_card();
        }
        tokio::time::sleep(context.fault.delay + card.map(Card::delay).unwrap_or_default()).await;
    }

    async fn execute_in(
        &self,
        tx: &mut Tx,
        context: &RequestContext,
        command: &impl Command,
    ) -> Result<Response, Error> {
        let key = context.key.as_ref().map(|key| key.as_str().to_owned());
        let cause = Cause { processor: self, request_id: Some(context.request_id.clone()), key };
        if context.fault.lacks_balance {
            return Ok(Response::from(&ApiError::balance_insufficient()));
        }
        let response = match command.execute(tx, &cause, self.timing.bank_delay).await {
            Err(Error::Api(error)) => Response::from(&error),
            executed => executed?,
        };
        // The key keeps the failure although the effect is committed. Stripe does the same.
        Ok(if context.fault.fails_after { Response::from(&ApiError::internal()) } else { response })
    }

    async fn find_response(&self, key: &RequestKey) -> Result<Option<Response>, Error> {
        keys::find_response(&mut self.database.connection().await?, key).await
    }

    /// Waits for the wake-up, or until the pause is over.
    pub(crate) async fn pause(&self, wake_up: &Notify, pause: Option<Duration>) {
        let pause = pause.unwrap_or(LONGEST_PAUSE).min(LONGEST_PAUSE);
        let _ = tokio::time::timeout(pause, wake_up.notified()).await;
    }
}

/// Executes commands in one transaction. After an error their requests get no answer, and each executes its command alone.
async fn add_together(database: Database, group: Vec<(Addition, oneshot::Sender<Response>)>) {
    let (additions, waiting): (Vec<_>, Vec<_>) = group.into_iter().unzip();
    let warn = |error: &Error| tracing::warn!(%error, "commands failed together; each is executed alone");
    let added = commit_together(&database, additions).await.inspect_err(warn).unwrap_or_default();
    waiting.into_iter().zip(added).for_each(|(request, response)| drop(request.send(response)));
}

async fn commit_together(database: &Database, additions: Vec<Addition>) -> Result<Vec<Response>, Error> {
    let mut tx = database.begin().await?;
    let mut responses = Vec::with_capacity(additions.len());
    for addition in additions {
        responses.push(addition(&mut tx).await?);
    }
    tx.commit().await?;
    Ok(responses)
}
