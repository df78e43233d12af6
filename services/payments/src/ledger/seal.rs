//! Seals what was posted, apart from the posting: a chain has one end, and settling must not queue for it.
//!
//! One transaction locks the chain's end, extends it over what can no longer be preceded, and tells the new head. Any
//! number of instances may try: who finds the end locked leaves it. A database transaction that stays open holds the
//! chain back, and nothing else; what dies on the way leaves no trace.

use std::borrow::Cow;

use contracts::{LedgerSealed, Stream, TenantId};
use database::{Database, Tx};
use outbox::{AppendError, Destination};
use thiserror::Error;

use super::chain::{self, hexadecimal};
use crate::store::seals::{self, Head};

/// About as many seals as one transaction makes.
const BATCH: i64 = 500;

/// Why nothing was sealed. The next round finds everything as this one did.
#[derive(Debug, Error)]
pub enum SealError {
    /// The database said no.
    #[error(transparent)]
    Database(#[from] database::Error),
    /// The head cannot be told.
    #[error(transparent)]
    Append(#[from] AppendError),
}

/// Seals the ledger of a database. Cheap to clone.
#[derive(Clone)]
pub struct Sealer {
    database: Database,
}

impl Sealer {
    /// For this database.
    pub fn new(database: Database) -> Self {
        Self { database }
    }

    /// Seals everything that can be sealed now, unless another one is at it; returns how much that was. With nothing
    /// to seal it writes nothing.
    pub async fn round(&self) -> Result<usize, SealError> {
        let mut sealed = 0;
        while seals::is_behind(&mut self.database.connection().await?).await? {
            match self.batch().await? {
                0 => break,
                more => sealed += more,
            }
        }
        Ok(sealed)
    }

    async fn batch(&self) -> Result<usize, SealError> {
        let mut tx = self.database.begin().await?;
        let Some(before) = seals::lock_head(&mut tx).await? else {
            tx.rollback().await?;
            return Ok(0);
        };
        let sealed_below = seals::finished_below(&mut tx, &before.sealed_below, BATCH).await?;
        let posted = seals::between(&mut tx, &before.sealed_below, &sealed_below).await?;
        if posted.is_empty() {
            tx.rollback().await?;
            return Ok(0);
        }
        let mut head = Head { sealed_below, sequence: before.sequence + 1, ..before };
        let mut links = Vec::with_capacity(posted.len());
        for posted in &posted {
            head.position += 1;
            head.hash = chain::seal(&head.hash, head.position, posted);
            links.push((head.position, posted.id, head.hash));
        }
        seals::extend(&mut tx, &links).await?;
        seals::move_head(&mut tx, &head).await?;
        tell(&mut tx, &head, before.position)?;
        tx.commit().await?;
        tracing::info!(position = head.position, transactions = posted.len(), "LedgerSealed");
        Ok(posted.len())
    }
}

fn tell(tx: &mut Tx, head: &Head, before: i64) -> Result<(), AppendError> {
    let sealed = LedgerSealed {
        position: head.position,
        hash: hexadecimal(&head.hash),
        transactions: head.position - before,
    };
    let destination = Destination {
        topic: LedgerSealed::TOPIC.to_owned(),
        partition_key: LedgerSealed::LEDGER,
        aggregate_type: LedgerSealed::AGGREGATE,
        aggregate_id: LedgerSealed::LEDGER,
        kind: Cow::Borrowed(LedgerSealed::TYPE),
        source: Stream::Payments.name(),
    };
    // One chain for all tenants.
    outbox::append_to(tx, &TenantId::unknown(), destination, head.sequence, &sealed).map(drop)
}
