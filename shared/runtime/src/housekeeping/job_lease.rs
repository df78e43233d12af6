//! `JobLease`: the row of a job, as one instance takes, renews and returns it. The database's clock decides.

use std::time::Duration;

use chrono::TimeDelta;
use database::functions::{clock_timestamp, from_now};
use database::{Database, Result};
use diesel::prelude::*;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;

diesel::table! {
    job_lease (name) {
        name -> Text,
        holder -> Text,
        lease_until -> Timestamptz,
        due_at -> Timestamptz,
        last_started_at -> Timestamptz,
        last_succeeded_at -> Nullable<Timestamptz>,
        last_error -> Nullable<Text>,
    }
}

pub(super) struct JobLease<'a> {
    pub(super) database: &'a Database,
    pub(super) name: &'static str,
    pub(super) holder: &'a str,
}

impl JobLease<'_> {
    /// Takes the lease if the job is due and no other instance holds it. Returns whether it did.
    pub(super) async fn take(&self, length: Duration) -> Result<bool> {
        use job_lease as row;
        let columns = (
            row::name.eq(self.name),
            row::holder.eq(self.holder),
            row::lease_until.eq(from_now(time_delta(length))),
            row::last_started_at.eq(clock_timestamp()),
        );
        let take = diesel::insert_into(row::table).values(columns).on_conflict(row::name).do_update().set((
            row::holder.eq(excluded(row::holder)),
            row::lease_until.eq(excluded(row::lease_until)),
            row::last_started_at.eq(excluded(row::last_started_at)),
        ));
        let is_free = row::lease_until.le(clock_timestamp()).and(row::due_at.le(clock_timestamp()));
        let take = diesel::query_dsl::methods::FilterDsl::filter(take, is_free);
        Ok(take.execute(&mut self.database.connection().await?).await? == 1)
    }

    /// Extends the lease. Returns false if another instance has taken it.
    pub(super) async fn renew(&self, length: Duration) -> Result<bool> {
        let lease = job_lease::lease_until.eq(from_now(time_delta(length)));
        let renewed =
            diesel::update(self.own()).set(lease).execute(&mut self.database.connection().await?).await?;
        Ok(renewed == 1)
    }

    /// Records the result of a pass. The next one is due after the pause.
    pub(super) async fn end(&self, result: std::result::Result<(), &str>, pause: Duration) -> Result<()> {
        let columns = (
            job_lease::lease_until.eq(clock_timestamp()),
            job_lease::due_at.eq(from_now(time_delta(pause))),
            result.is_ok().then(|| job_lease::last_succeeded_at.eq(clock_timestamp().nullable())),
            job_lease::last_error.eq(result.err()),
        );
        diesel::update(self.own()).set(columns).execute(&mut self.database.connection().await?).await?;
        Ok(())
    }

    /// Returns the lease of a pass that was stopped. The job stays due.
    pub(super) async fn give_up(&self) -> Result<()> {
        let lease = job_lease::lease_until.eq(clock_timestamp());
        diesel::update(self.own()).set(lease).execute(&mut self.database.connection().await?).await?;
        Ok(())
    }

    /// The job's row, as long as this instance holds it.
    fn own(&self) -> Own<'_> {
        job_lease::table.filter(job_lease::name.eq(self.name)).filter(job_lease::holder.eq(self.holder))
    }
}

type Own<'a> = diesel::dsl::Filter<
    diesel::dsl::Filter<job_lease::table, diesel::dsl::Eq<job_lease::name, &'static str>>,
    diesel::dsl::Eq<job_lease::holder, &'a str>,
>;

fn time_delta(length: Duration) -> TimeDelta {
    TimeDelta::from_std(length).unwrap_or(TimeDelta::MAX)
}
