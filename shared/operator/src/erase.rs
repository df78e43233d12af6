//! `SERVICE erase`: erases the texts that clients wrote, of a tenant or of one reference of a tenant.
//!
//! Rows are erased in batches, each in a transaction of its own, and the responses that repeat the texts expire at once. Money, stock
//! and events stay. The fact is written first, so an interrupted run has a fact, too; a repetition continues.

use std::time::Duration;

use clap::Args;
use database::{Database, Result, Tx};
use envelope::TenantId;
use idempotency::{ReplayCache, ResponsesOf, expire_responses};
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{Change, CommandOutput};

/// The number of rows in one transaction.
const BATCH: i64 = 500;
/// How long one statement may take: the rows of a small tenant may be far apart.
const LIMIT: Duration = Duration::from_mins(10);

/// The command `SERVICE erase`.
#[derive(Debug, Args)]
pub struct Erase {
    /// The tenant whose texts are erased
    #[arg(long, value_name = "NAME")]
    tenant: TenantId,
    /// Erase only what belongs to this reference
    #[arg(long, value_name = "TEXT")]
    reference: Option<String>,
    #[command(flatten)]
    change: Change,
}

/// The rows that a service erases next: of a tenant, or of one reference of a tenant.
#[derive(Debug, Clone, Copy)]
pub struct Erasure<'a> {
    /// The tenant.
    pub tenant: &'a TenantId,
    /// The reference; `None` for all rows of the tenant.
    pub reference: Option<&'a str>,
    /// The last row that was erased before, or the smallest id.
    pub after: Uuid,
    /// The largest number of rows.
    pub limit: i64,
}

/// The rows of one batch.
#[derive(Debug, Clone, Default)]
pub struct ErasedRows {
    /// The rows, in ascending order; none at the end.
    pub ids: Vec<Uuid>,
    /// The operations whose stored responses repeat the texts.
    pub operations: Vec<Uuid>,
}

#[derive(Default, Serialize)]
struct Report {
    rows: usize,
    /// Stored responses that have expired by this command.
    responses: usize,
}

impl Erase {
    /// Erases the rows that `rows` erases batch by batch, and then what idempotency has stored.
    ///
    /// # Errors
    /// Database errors. The batches before the error stay erased.
    pub async fn run(
        self,
        database: &Database,
        rows: impl AsyncFn(&mut Tx, Erasure<'_>) -> Result<ErasedRows>,
    ) -> Result<CommandOutput> {
        let is_dry_run = self.change.is_dry_run();
        if !is_dry_run {
            let mut tx = database.begin().await?;
            // Without the reference, because it is what must be erased.
            let details = serde_json::json!({ "by_reference": self.reference.is_some() });
            let fact = self.change.fact(Some(&self.tenant), "texts.erase", "tenant", &self.tenant);
            audit::record(&mut tx, fact.with(details));
            tx.commit().await?;
        }
        let (mut report, mut after) = (Report::default(), Some(Uuid::nil()));
        while let Some(last) = after {
            after = self.erase_batch(database, &rows, last, &mut report).await?;
        }
        if self.reference.is_none() {
            let mut tx = begin(database).await?;
            report.responses += expire_responses(&mut tx, ResponsesOf::Tenant(&self.tenant)).await?;
            self.change.end(tx).await?;
        }
        if !is_dry_run {
            let stop = CancellationToken::new();
            idempotency::erase_expired_keys(database, &stop).await?;
            idempotency::erase_operations(database, &stop).await?;
            if report.responses > 0 {
                // A process may have confirmed its replays from memory just before. Afterwards no process replays the responses.
                tokio::time::sleep(ReplayCache::CONFIRMED_FOR).await;
            }
        }
        let Report { rows, responses } = report;
        let sentence =
            format!("the texts of {rows} rows are erased, and {responses} stored responses with them");
        Ok(self.change.output(true, &sentence, &report))
    }

    /// Erases the next rows. Returns the last one, or `None` at the end.
    async fn erase_batch(
        &self,
        database: &Database,
        rows: &impl AsyncFn(&mut Tx, Erasure<'_>) -> Result<ErasedRows>,
        after: Uuid,
        report: &mut Report,
    ) -> Result<Option<Uuid>> {
        let mut tx = begin(database).await?;
        let Self { tenant, reference, .. } = self;
        let erasure = Erasure { tenant, reference: reference.as_deref(), after, limit: BATCH };
        let ErasedRows { ids, operations } = rows(&mut tx, erasure).await?;
        report.rows += ids.len();
        // The responses of a whole tenant expire together, after its rows.
        if reference.is_some() {
            report.responses += expire_responses(&mut tx, ResponsesOf::Operations(&operations)).await?;
        }
        self.change.end(tx).await?;
        Ok(ids.last().copied())
    }
}

async fn begin(database: &Database) -> Result<Tx> {
    let mut tx = database.begin().await?;
    tx.set_statement_timeout(LIMIT).await?;
    Ok(tx)
}
