//! Moves the high-water mark of the balances, so that a balance reads few entries of the ledger.

use std::time::Duration;

use database::{Database, ErrorClass, Result};
use runtime::Job;
use tokio_util::sync::CancellationToken;

use crate::store::balances;

/// The pause between two looks at the ledger.
const POLL: Duration = Duration::from_secs(5);
/// The number of ledger transactions behind the mark that moves it. Every move stops the writers for a moment.
const TAIL: i64 = 10_000;
/// The number of ledger transactions that one statement adds.
const STEP: i64 = 20_000;

/// Makes the job. Every instance runs it.
pub(crate) fn job(database: Database) -> Job {
    Job::every("balances", POLL, move |stop| {
        let database = database.clone();
        async move { fold_balances(&database, TAIL, &stop).await }
    })
}

/// Moves the mark to the end of the ledger if it is at least `tail` ledger transactions behind.
async fn fold_balances(database: &Database, tail: i64, stop: &CancellationToken) -> Result<()> {
    if balances::length_of_tail(database).await? < tail {
        return Ok(());
    }
    let mut left = match balances::find_final_id(database).await {
        // A writer took too long. The next round tries again.
        Err(error) if error.class() == ErrorClass::Contention => return Ok(()),
        found => found?,
    };
    while left > 0 && !stop.is_cancelled() {
        left = balances::fold(database, STEP).await?;
    }
    Ok(())
}
