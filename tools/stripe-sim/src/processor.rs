//! Executes each operation once: the effect and the answer stored under its key are one transaction.

use std::sync::Arc;
use std::time::Duration;

use database::{Database, Tx, UnitOfWork};
use tokio::sync::Notify;

use crate::bank::{self, Decision};
use crate::faults::{Faults, Met};
use crate::keys::{self, Answer, InFlight, Stamp};
use crate::operations::cards::{Card, RefundCourse};
use crate::protocol::{Expand, Failure, Refusal};
use crate::settings::Pace;
use crate::store::decisions;
use crate::webhooks::Endpoints;

/// How often whoever waits for work looks by itself, should no signal come: another process may have left some.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// The processor: its books, and what is set about it.
pub(crate) struct Processor {
    pub(crate) database: Database,
    pub(crate) faults: Faults,
    pub(crate) endpoints: Endpoints,
    pub(crate) pace: Pace,
    in_flight: InFlight,
}

/// What a request came with beside its parameters.
#[derive(Debug, Clone, Default)]
pub(crate) struct Circumstances {
    /// `None` without an Idempotency-Key: then nothing keeps a retry from taking effect again.
    pub(crate) stamp: Option<Stamp>,
    /// Its `Request-Id`.
    pub(crate) request_id: String,
    /// The fault that it has met.
    pub(crate) met: Met,
}

/// What an operation knows about its request; nothing, if a bank acts and not a client.
pub(crate) struct Occasion {
    pub(crate) request: Option<String>,
    pub(crate) key: Option<String>,
    /// Set if a fault decides how a refund goes.
    pub(crate) refund_course: Option<RefundCourse>,
    bank_delay: Duration,
}

impl Occasion {
    /// A refusal as an answer that is stored.
    pub(crate) fn refused(&self, refusal: Refusal) -> Answer {
        let refusal = refusal.logged_as(self.request.as_deref().unwrap_or_default());
        Answer::from(&refusal)
    }

    /// A bank will decide this about the object.
    pub(crate) async fn bank_decides(
        &self,
        tx: &mut Tx,
        decision: Decision,
        object: &str,
    ) -> database::Result<()> {
        decisions::insert(tx, object, decision.name(), self.bank_delay).await?;
        tx.wake_after_commit(bank::NOTED);
        Ok(())
    }
}

/// Something that changes the books.
pub(crate) trait Command: Send + Sync + 'static {
    /// What the log calls it.
    const NAME: &'static str;

    /// The card that it charges, if it names one.
    fn card(&self) -> Option<Card> {
        None
    }

    /// What its answer shows whole.
    fn expand(&self) -> Option<&Expand> {
        None
    }

    /// Does it. A refusal is stored like a success and the unit of work is committed with it, so whoever refuses does
    /// so before writing.
    fn act(&self, tx: &mut Tx, on: &Occasion) -> impl Future<Output = Result<Answer, Failure>> + Send;
}

/// An operation that has ended.
pub(crate) struct Executed {
    pub(crate) answer: Answer,
    /// It ended earlier; this is the stored answer.
    pub(crate) replayed: bool,
}

impl Processor {
    pub(crate) fn new(database: Database, endpoints: Endpoints, pace: Pace) -> Self {
        Self { database, faults: Faults::default(), endpoints, pace, in_flight: InFlight::default() }
    }

    /// Executes the command, or answers as the first request under its key was answered. It runs to its end also if
    /// the client goes away.
    pub(crate) async fn execute<C: Command>(
        self: &Arc<Self>,
        of: Circumstances,
        command: C,
    ) -> Result<Executed, Failure> {
        let processor = Arc::clone(self);
        let work = async move {
            match &of.stamp {
                Some(stamp) => processor.once(stamp, &of, &command).await,
                None => processor.unkeyed(&of, &command).await,
            }
        };
        let executed = self.database.detach(work).await??;
        let (status, replayed) = (executed.answer.status().as_u16(), executed.replayed);
        tracing::info!(operation = C::NAME, status, replayed, "operation answered");
        Ok(executed)
    }

    async fn once(
        &self,
        stamp: &Stamp,
        of: &Circumstances,
        command: &impl Command,
    ) -> Result<Executed, Failure> {
        // First the claim, then the look: whoever held the key before has committed by the time we look.
        let claim = self.in_flight.claim(stamp.key());
        if let Some(answer) = self.recall(stamp).await? {
            return Ok(Executed { answer, replayed: true });
        }
        let Some(_claim) = claim else { return Err(Refusal::key_in_use(stamp.key()).into()) };

        self.wait(of, command).await;
        let mut tx = self.database.begin().await?;
        let answer = self.act(&mut tx, of, command).await?;
        if keys::remember(&mut tx, stamp, &answer, self.pace.key_window).await? {
            tx.commit().await?;
            return Ok(Executed { answer, replayed: false });
        }
        tx.rollback().await?;
        let stored = self.recall(stamp).await?.ok_or_else(|| Refusal::key_in_use(stamp.key()))?;
        Ok(Executed { answer: stored, replayed: true })
    }

    async fn unkeyed(&self, of: &Circumstances, command: &impl Command) -> Result<Executed, Failure> {
        self.wait(of, command).await;
        let mut tx = self.database.begin().await?;
        let answer = self.act(&mut tx, of, command).await?;
        tx.commit().await?;
        Ok(Executed { answer, replayed: false })
    }

    /// What a fault or the card wants, with the key held and no connection.
    async fn wait(&self, of: &Circumstances, command: &impl Command) {
        let card = command.card();
        if card == Some(Card::Slow) {
            self.faults.count_slow_card();
        }
        tokio::time::sleep(of.met.delay + card.map(Card::delay).unwrap_or_default()).await;
    }

    async fn act(&self, tx: &mut Tx, of: &Circumstances, command: &impl Command) -> Result<Answer, Failure> {
        let on = Occasion {
            request: Some(of.request_id.clone()),
            key: of.stamp.as_ref().map(|stamp| stamp.key().to_owned()),
            refund_course: of.met.refund_course,
            bank_delay: self.pace.bank_delay,
        };
        let answer = match command.act(tx, &on).await {
            Err(Failure::Refused(refusal)) => on.refused(refusal),
            done => done?,
        };
        if of.met.fails_after {
            // The key remembers the failure, although the effect stands: so does the real processor's.
            return Ok(on.refused(Refusal::internal()));
        }
        match command.expand() {
            Some(expand) => answer.expanded(tx, expand).await,
            None => Ok(answer),
        }
    }

    async fn recall(&self, stamp: &Stamp) -> Result<Option<Answer>, Failure> {
        keys::recall(&mut self.database.connection().await?, stamp).await
    }

    /// The occasion of something that no request asked for.
    pub(crate) fn occasion(&self) -> Occasion {
        Occasion { request: None, key: None, refund_course: None, bank_delay: self.pace.bank_delay }
    }

    /// Rests until there is a signal, or for so long.
    pub(crate) async fn rest(&self, signal: &Notify, pause: Option<Duration>) {
        let pause = pause.unwrap_or(LONGEST_REST).min(LONGEST_REST);
        let _ = tokio::time::timeout(pause, signal.notified()).await;
    }
}
