//! The banks behind the cards: what they decide later, and a task that carries it out when its time has come.
//!
//! A decision is committed with the operation that leaves something open, so it is carried out also after a restart.

mod carry_out;

use std::sync::Arc;

use database::WakeUp;

use crate::processor::Processor;
use crate::protocol::Failure;
use crate::store::decisions;

/// A decision was noted.
pub(crate) const NOTED: WakeUp = WakeUp("a bank will decide");

/// What a bank decides later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The pending charge of an intent is paid.
    ChargeSucceeds,
    /// It is declined.
    ChargeFails,
    /// A pending refund has reached its card.
    RefundSucceeds,
    /// A refund does not reach its card, or is returned.
    RefundFails,
}

impl Decision {
    const ALL: [Self; 4] = [Self::ChargeSucceeds, Self::ChargeFails, Self::RefundSucceeds, Self::RefundFails];

    /// Its name in the books.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ChargeSucceeds => "charge_succeeds",
            Self::ChargeFails => "charge_fails",
            Self::RefundSucceeds => "refund_succeeds",
            Self::RefundFails => "refund_fails",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|decision| decision.name() == name)
    }
}

/// Carries decisions out, for as long as the process lives.
pub(crate) async fn run(processor: Arc<Processor>) {
    let noted = processor.database.signal(NOTED);
    loop {
        let pause = match carry_out_due(&processor).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::warn!(%error, "the banks wait for the books");
                None
            }
        };
        processor.rest(&noted, pause).await;
    }
}

/// Everything that is due. Returns how long until the next.
async fn carry_out_due(processor: &Processor) -> Result<Option<std::time::Duration>, Failure> {
    loop {
        let mut tx = processor.database.begin().await?;
        let Some(due) = decisions::take_due(&mut tx).await? else {
            tx.rollback().await?;
            break;
        };
        if let Some(decision) = Decision::named(&due.decision) {
            carry_out::carry_out(&mut tx, &processor.occasion(), decision, &due.object).await?;
        }
        tx.commit().await?;
        tracing::info!(object = due.object, decision = due.decision, "a bank has decided");
    }
    Ok(decisions::next(&mut processor.database.connection().await?).await?)
}
