//! Executes each operation once: the effect and the answer stored under its key are one transaction.

use std::sync::Arc;
use std::time::Duration;

use database::{Database, Tx};

use crate::error::{Failure, Refusal};
use crate::faults::Faults;
use crate::keys::{self, Answer, InFlight, Stamp};

/// The processor: its books, and the faults that tests ask it for.
pub(crate) struct Processor {
    pub(crate) database: Database,
    pub(crate) faults: Faults,
    in_flight: InFlight,
}

/// Something that changes the books.
pub(crate) trait Command: Send + 'static {
    /// What the log calls it.
    const NAME: &'static str;

    /// How long it takes before anything happens. No connection is held meanwhile.
    fn delay(&self, _faults: &Faults) -> Duration {
        Duration::ZERO
    }

    /// Does it. A refusal is stored like a success and the unit of work is committed with it, so whoever refuses does
    /// so before writing.
    fn act(self, tx: &mut Tx) -> impl Future<Output = Result<Answer, Failure>> + Send;
}

/// An operation that has ended.
pub(crate) struct Executed {
    pub(crate) answer: Answer,
    /// It ended earlier; this is the stored answer.
    pub(crate) replayed: bool,
}

impl Processor {
    pub(crate) fn new(database: Database) -> Self {
        Self { database, faults: Faults::default(), in_flight: InFlight::default() }
    }

    /// Executes the command, or answers as the first request under its key was answered. It runs to its end also if
    /// the client goes away.
    pub(crate) async fn execute<C: Command>(
        self: &Arc<Self>,
        stamp: Option<Stamp>,
        command: C,
    ) -> Result<Executed, Failure> {
        let processor = Arc::clone(self);
        let work = async move {
            match stamp {
                Some(stamp) => processor.once(&stamp, command).await,
                None => processor.unkeyed(command).await,
            }
        };
        let executed = self.database.detach(work).await??;
        let (status, replayed) = (executed.answer.status().as_u16(), executed.replayed);
        tracing::info!(operation = C::NAME, status, replayed, "operation answered");
        Ok(executed)
    }

    async fn once(&self, stamp: &Stamp, command: impl Command) -> Result<Executed, Failure> {
        // First the claim, then the look: whoever held the key before has committed by the time we look.
        let claim = self.in_flight.claim(stamp.key());
        if let Some(answer) = self.recall(stamp).await? {
            return Ok(Executed { answer, replayed: true });
        }
        let Some(_claim) = claim else { return Err(Refusal::key_in_use(stamp.key()).into()) };

        tokio::time::sleep(command.delay(&self.faults)).await;
        let mut tx = self.database.begin().await?;
        let answer = act(command, &mut tx).await?;
        if keys::remember(&mut tx, stamp, &answer).await? {
            tx.commit().await?;
            return Ok(Executed { answer, replayed: false });
        }
        tx.rollback().await?;
        let stored = self.recall(stamp).await?.ok_or_else(|| Refusal::key_in_use(stamp.key()))?;
        Ok(Executed { answer: stored, replayed: true })
    }

    async fn unkeyed(&self, command: impl Command) -> Result<Executed, Failure> {
        tokio::time::sleep(command.delay(&self.faults)).await;
        let mut tx = self.database.begin().await?;
        let answer = act(command, &mut tx).await?;
        tx.commit().await?;
        Ok(Executed { answer, replayed: false })
    }

    async fn recall(&self, stamp: &Stamp) -> Result<Option<Answer>, Failure> {
        keys::recall(&mut self.database.connection().await?, stamp).await
    }
}

async fn act(command: impl Command, tx: &mut Tx) -> Result<Answer, Failure> {
    match command.act(tx).await {
        Err(Failure::Refused(refusal)) => Ok(Answer::from(&refusal)),
        done => done,
    }
}
