//! Partitions where a consumer waits for an operator: the table `inbox_stopped_partition`.
//!
//! All other partitions continue. The consumer looks again every few seconds, so it continues by itself once the cause is gone.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use database::Database;
use database::functions::{FromNow, clock_timestamp, from_now};
use diesel::dsl::case_when;
use diesel::prelude::*;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use messaging::{Batch, UnreadableRecord, admin};
use tokio_util::sync::CancellationToken;

use crate::message::storable;
use crate::worker::Worker;

diesel::table! {
    inbox_stopped_partition (consumer, topic, partition) {
        consumer -> Text,
        topic -> Text,
        partition -> Integer,
        cause -> Text,
        record_offset -> BigInt,
        error -> Text,
        seen_at -> Timestamptz,
        skip_to -> Nullable<BigInt>,
    }
}

/// The client library cannot read the record.
pub(crate) const UNREADABLE: &str = "unreadable";

/// More aggregates fail for the same reason than may be parked.
pub(crate) const ALIKE: &str = "alike";

/// One row, without its consumer.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = inbox_stopped_partition)]
pub(crate) struct StoppedPartition {
    pub(crate) topic: String,
    pub(crate) partition: i32,
    pub(crate) cause: String,
    pub(crate) record_offset: i64,
    pub(crate) error: String,
    pub(crate) seen_at: DateTime<Utc>,
}

/// Where a consumer waits, and why.
#[derive(Insertable)]
#[diesel(table_name = inbox_stopped_partition)]
pub(crate) struct Stop<'a> {
    pub(crate) consumer: &'a str,
    pub(crate) topic: &'a str,
    pub(crate) partition: i32,
    pub(crate) cause: &'static str,
    pub(crate) record_offset: i64,
    pub(crate) error: String,
}

impl Stop<'_> {
    /// Notes that the consumer waits there now. Returns the offset at which an operator lets it continue.
    pub(crate) async fn note(&self, database: &Database) -> database::Result<Option<i64>> {
        use inbox_stopped_partition as stopped;
        let is_same = stopped::record_offset
            .eq(excluded(stopped::record_offset))
            .and(stopped::cause.eq(excluded(stopped::cause)));
        let noted = diesel::insert_into(stopped::table)
            .values(self)
            .on_conflict((stopped::consumer, stopped::topic, stopped::partition))
            .do_update()
            .set((
                stopped::cause.eq(excluded(stopped::cause)),
                stopped::record_offset.eq(excluded(stopped::record_offset)),
                stopped::error.eq(excluded(stopped::error)),
                stopped::seen_at.eq(clock_timestamp()),
                stopped::skip_to.eq(case_when(is_same, stopped::skip_to)),
            ))
            .returning(stopped::skip_to);
        Ok(noted.get_result(&mut database.connection().await?).await?)
    }
}

/// The partitions that wait now. The consumer writes each row again while it waits, so an old row is history.
#[diesel::dsl::auto_type]
pub(crate) fn waiting_now() -> _ {
    let minute_ago: FromNow = from_now(TimeDelta::minutes(-1));
    inbox_stopped_partition::table
        .filter(inbox_stopped_partition::skip_to.is_null())
        .filter(inbox_stopped_partition::seen_at.gt(minute_ago))
}

impl Worker {
    /// Waits at a record that cannot be read. Ends when an operator has said where to continue, when the record can be read, or when the
    /// partition is revoked. Then the batch is dropped, and its partition is read again.
    pub(crate) async fn skip_or_wait(
        self: Arc<Self>,
        batch: Batch,
        record: UnreadableRecord,
        stop: CancellationToken,
    ) {
        let consumer = self.consumer.name();
        let (topic, partition, offset) = (batch.topic(), batch.partition(), record.offset);
        while batch.is_current() {
            let error = storable(&record.error);
            let waiting =
                Stop { consumer, topic, partition, cause: UNREADABLE, record_offset: offset, error };
            match waiting.note(&self.database).await {
                Ok(Some(skip_to)) => {
                    tracing::warn!(consumer, topic, partition, offset, skip_to, "RecordsSkipped");
                    return batch.continue_at(skip_to);
                }
                Ok(None) => {
                    tracing::error!(consumer, topic, partition, offset, failure = %record.error, "RecordUnreadable: this partition waits; repair the broker, or run `inbox skip`");
                }
                Err(failure) => {
                    tracing::error!(consumer, topic, partition, offset, %failure, "RecordUnreadable: this partition waits, and the database has no note of it");
                }
            }
            let tried_again = async {
                tokio::time::sleep(self.settings.stopped_pause).await;
                admin::is_readable(&self.brokers, topic, partition, offset).await
            };
            match stop.run_until_cancelled(tried_again).await {
                None | Some(Ok(true)) => return,
                Some(Ok(false)) => {}
                Some(Err(failure)) => {
                    tracing::warn!(consumer, topic, partition, offset, %failure, "the record was not tried again");
                }
            }
        }
    }
}
