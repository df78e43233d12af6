//! The lease: a row that names the active relay.
//!
//! The database's clock decides when it ends. Each change of the holder raises the epoch, in the lease's row and in the
//! cursor's row at once; the former holder can then no longer move the cursor.

use std::time::Duration;

use chrono::TimeDelta;
use database::functions::{clock_timestamp, from_now};
use database::{Database, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use tokio::time::Instant;

use super::RelayError;
use super::cursor::outbox_cursor;

diesel::table! {
    outbox_lease (singleton) {
        singleton -> Bool,
        owner -> Text,
        epoch -> BigInt,
        lease_until -> Timestamptz,
    }
}

pub(super) struct Lease<'r> {
    database: &'r Database,
    owner: &'r str,
    length: Duration,
    /// The same, as the database takes it. A length beyond `TimeDelta::MAX` becomes this maximum.
    sql_length: TimeDelta,
}

/// A lease that this relay has acquired. It is valid as long as no higher epoch exists.
pub(super) struct HeldLease {
    pub(super) epoch: i64,
    /// The time before the request, by this process's clock. The database grants the lease from a later time on.
    requested_at: Instant,
}

impl<'r> Lease<'r> {
    pub(super) fn new(database: &'r Database, owner: &'r str, length: Duration) -> Self {
        let sql_length = TimeDelta::from_std(length).unwrap_or(TimeDelta::MAX);
        Self { database, owner, length, sql_length }
    }

    /// Acquires the lease if it has ended or is this relay's own, and raises the cursor's epoch in the same transaction.
    pub(super) async fn acquire(&self) -> Result<Option<HeldLease>, RelayError> {
        let requested_at = Instant::now();
        let mut tx = self.database.begin().await?;
        // Its own lease, too: a term that ended early has purged its producer.
        let free = outbox_lease::lease_until.lt(clock_timestamp()).or(outbox_lease::owner.eq(self.owner));
        let ended = outbox_lease::table.filter(free);
        let epoch: Option<i64> = diesel::update(ended)
            .set((
                outbox_lease::owner.eq(self.owner),
                outbox_lease::epoch.eq(outbox_lease::epoch + 1),
                outbox_lease::lease_until.eq(from_now(self.sql_length)),
            ))
            .returning(outbox_lease::epoch)
            .get_result(&mut tx)
            .await
            .optional()?;
        let Some(epoch) = epoch else {
            tx.rollback().await?;
            return Ok(None);
        };
        diesel::update(outbox_cursor::table).set(outbox_cursor::epoch.eq(epoch)).execute(&mut tx).await?;
        tx.commit().await?;
        Ok(Some(HeldLease { epoch, requested_at }))
    }

    /// Renews the lease five times in its length. Returns once it is lost, with the reason.
    pub(super) async fn renew_until_lost(&self, held: &HeldLease) -> RelayError {
        let mut granted_at = held.requested_at;
        loop {
            tokio::time::sleep(self.length / 5).await;
            let requested_at = Instant::now();
            // The request must end before the lease does. Otherwise this relay would publish while a standby may, too.
            let left = self.length.saturating_sub(requested_at - granted_at);
            match tokio::time::timeout(left, self.renew(held, self.sql_length)).await {
                Ok(Ok(true)) => granted_at = requested_at,
                Ok(Ok(false)) | Err(_) => return RelayError::Replaced,
                // The next answer may come from another server, so the next term loads the cursor again.
                Ok(Err(error)) => return error,
            }
        }
    }

    /// Lets the lease last for this time from now on. Returns false if the lease is lost.
    async fn renew(&self, held: &HeldLease, length: TimeDelta) -> Result<bool, RelayError> {
        let mut connection = self.database.connection().await?;
        let own = outbox_lease::table.filter(outbox_lease::epoch.eq(held.epoch));
        let renewed = diesel::update(own)
            .set(outbox_lease::lease_until.eq(from_now(length)))
            .execute(&mut connection)
            .await?;
        Ok(renewed == 1)
    }

    /// Ends the lease now, so that a standby can acquire it at once.
    pub(super) async fn release(&self, held: &HeldLease) -> Result<(), RelayError> {
        self.renew(held, TimeDelta::zero()).await.map(drop)
    }
}

/// Ends the lease of the active relay for this actor, and raises the cursor's epoch. Returns the former holder; `None` if no
/// relay is active. Any relay may acquire the lease after that, the former holder too.
///
/// # Errors
/// Database errors.
pub async fn end_lease(tx: &mut Tx, actor: &str) -> database::Result<Option<String>> {
    let active = outbox_lease::table.filter(outbox_lease::lease_until.gt(clock_timestamp()));
    let holder: Option<String> =
        active.select(outbox_lease::owner).for_update().first(tx).await.optional()?;
    // Also without an active relay: one whose lease has just ended may still write the cursor.
    let ended = (
        outbox_lease::owner.eq(actor),
        outbox_lease::epoch.eq(outbox_lease::epoch + 1),
        outbox_lease::lease_until.eq(clock_timestamp()),
    );
    let epoch: i64 =
        diesel::update(outbox_lease::table).set(ended).returning(outbox_lease::epoch).get_result(tx).await?;
    diesel::update(outbox_cursor::table).set(outbox_cursor::epoch.eq(epoch)).execute(tx).await?;
    Ok(holder)
}
