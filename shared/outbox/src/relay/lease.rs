//! Who may publish. The database's clock decides, and every change of hands raises the epoch.

use std::time::Duration;

use chrono::TimeDelta;
use database::Database;
use database::functions::{clock_timestamp, from_now};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use tokio::time::Instant;

use super::Fault;
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
    pub(super) database: &'r Database,
    pub(super) owner: &'r str,
    pub(super) length: Duration,
}

/// The right to publish, as long as the epoch is the highest.
pub(super) struct Tenure {
    pub(super) epoch: i64,
    /// Our own clock's view of when the lease began; an upper bound of what the database grants.
    since: Instant,
}

impl Lease<'_> {
    fn length(&self) -> TimeDelta {
        TimeDelta::from_std(self.length).unwrap_or(TimeDelta::seconds(5))
    }

    /// Takes the lease if nobody holds it, and fences the cursor in the same transaction.
    pub(super) async fn take(&self) -> Result<Option<Tenure>, Fault> {
        let since = Instant::now();
        let mut tx = self.database.begin().await?;
        let free = outbox_lease::table.filter(outbox_lease::lease_until.lt(clock_timestamp()));
        let epoch: Option<i64> = diesel::update(free)
            .set((
                outbox_lease::owner.eq(self.owner),
                outbox_lease::epoch.eq(outbox_lease::epoch + 1),
                outbox_lease::lease_until.eq(from_now(self.length())),
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
        Ok(Some(Tenure { epoch, since }))
    }

    /// Renews until it cannot: returns why the right to publish has ended.
    pub(super) async fn keep(&self, tenure: &Tenure) -> Fault {
        let mut granted = tenure.since;
        loop {
            tokio::time::sleep(self.length / 5).await;
            let asked = Instant::now();
            // An answer that comes after the lease has run out is too late, whatever it says.
            let left = self.length.saturating_sub(asked - granted);
            match tokio::time::timeout(left, self.renew(tenure)).await {
                Ok(Ok(true)) => granted = asked,
                Ok(Ok(false)) | Err(_) => return Fault::Replaced,
                Ok(Err(fault)) => {
                    tracing::warn!(%fault, "the lease was not renewed; trying again while it lasts");
                }
            }
        }
    }

    async fn renew(&self, tenure: &Tenure) -> Result<bool, Fault> {
        let mut connection = self.database.connection().await?;
        let mine = outbox_lease::table.filter(outbox_lease::epoch.eq(tenure.epoch));
        let renewed = diesel::update(mine)
            .set(outbox_lease::lease_until.eq(from_now(self.length())))
            .execute(&mut connection)
            .await?;
        Ok(renewed == 1)
    }

    /// Ends the lease at once, so that a standby need not wait for it.
    pub(super) async fn give_back(&self, tenure: &Tenure) -> Result<(), Fault> {
        let mut connection = self.database.connection().await?;
        let mine = outbox_lease::table.filter(outbox_lease::epoch.eq(tenure.epoch));
        diesel::update(mine)
            .set(outbox_lease::lease_until.eq(clock_timestamp()))
            .execute(&mut connection)
            .await?;
        Ok(())
    }
}
