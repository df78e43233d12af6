//! `SERVICE inbox …`: list, show, redrive and discard waiting messages, and rewind the consumer.

mod discard;
mod parked;
mod redrive;
mod rewind;
mod show;

use std::error::Error;

use ::inbox::{HandlerError, MessageError};
use clap::Parser;

use crate::installation::KAFKA;
use crate::{CommandOutput, Installation, OperatorCommand};

/// The commands below `SERVICE inbox`.
#[derive(Debug, Parser)]
pub enum InboxCommand {
    /// List the waiting messages: parked ones wait for an operator, held ones for a missing message
    Parked(parked::Parked),
    /// Show one waiting message with its headers and payload
    Show(show::Show),
    /// Apply parked messages, and the messages held behind them, in order
    Redrive(redrive::Redrive),
    /// Discard a parked message without effect, and apply the messages held behind it
    Discard(discard::Discard),
    /// Let the consumer read messages again, while no instance runs; offsets are never set forward
    Rewind(rewind::Rewind),
}

impl OperatorCommand<Installation> for InboxCommand {
    fn needs(&self) -> &'static [&'static str] {
        if matches!(self, Self::Rewind(_)) { KAFKA } else { &[] }
    }

    fn only_reads(&self) -> bool {
        matches!(self, Self::Parked(_) | Self::Show(_))
    }

    async fn run(self, context: &Installation) -> Result<CommandOutput, Box<dyn Error>> {
        match self {
            Self::Parked(parked) => parked.run(context).await,
            Self::Show(show) => show.run(context).await,
            Self::Redrive(redrive) => redrive.run(context).await,
            Self::Discard(discard) => discard.run(context).await,
            Self::Rewind(rewind) => rewind.run(context).await,
        }
    }
}

/// How often a command tries a transaction that collides with a consumer's.
const ATTEMPTS: usize = 5;

/// Runs a transaction again as long as it ends in a deadlock or a lock timeout.
async fn retry_on_contention<T>(
    mut work: impl AsyncFnMut() -> Result<T, MessageError>,
) -> Result<T, MessageError> {
    let mut result = work().await;
    for _ in 1..ATTEMPTS {
        let Err(MessageError { error: HandlerError::Database(database::Error::Contention(_)), .. }) = &result
        else {
            break;
        };
        result = work().await;
    }
    result
}
