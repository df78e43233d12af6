//! `republish`: lets the relay publish events again, with the same key, headers and bytes, in the order of ids.
//!
//! The ids of the rows go back among the gaps of the cursor, so the relay reads these rows as if their transactions had just committed.
//! Retention keeps their days until they are published. A new epoch ends the relay's term, because it has its gaps in memory.
//!
//! Consumers ignore messages that they have had. A consumer that never had them, for instance because a topic was lost, gets
//! them now. Republishing what was not needed only costs work.

use std::time::Duration;

use chrono::{DateTime, Utc};
use database::Tx;
use database::functions::hashtextextended;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Multirange, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{define_sql_function, select, sql_query};
use diesel_async::RunQueryDsl;
use serde::Serialize;
use uuid::Uuid;

use crate::relay::{Ranges, end_lease, outbox_cursor};

/// How long the rows may be counted. No row is locked meanwhile, and no day is dropped.
const COUNT_TIMEOUT: Duration = Duration::from_mins(10);

define_sql_function! {
    /// Keeps retention from dropping rows until the transaction ends.
    fn pg_advisory_xact_lock_shared(number: BigInt) -> Nullable<Text>;
}

/// Which published events.
#[derive(Debug, Clone, Copy)]
pub enum PublishedEvents {
    /// Every one from the first one since this time on.
    Since(DateTime<Utc>),
    /// Every one of this aggregate.
    Aggregate(Uuid),
}

/// The events that the relay publishes again.
#[derive(Debug, QueryableByName, Serialize)]
pub struct Republication {
    /// Their number.
    #[diesel(sql_type = BigInt)]
    pub messages: i64,
    /// The id of the first one.
    #[diesel(sql_type = Nullable<BigInt>)]
    pub first_id: Option<i64>,
    /// The number of the first one among the events of its aggregate.
    #[diesel(sql_type = Nullable<BigInt>)]
    pub first_sequence: Option<i64>,
    /// The id of the last one.
    #[diesel(sql_type = Nullable<BigInt>)]
    pub last_id: Option<i64>,
    /// The tenant of an aggregate's events. Events since a time may belong to several.
    #[serde(skip)]
    #[diesel(sql_type = Nullable<Text>)]
    pub tenant: Option<String>,
    /// The time of the first row of the outbox.
    #[serde(skip)]
    #[diesel(sql_type = Nullable<Timestamptz>)]
    pub rows_since: Option<DateTime<Utc>>,
    #[serde(skip)]
    #[diesel(sql_type = Multirange<BigInt>)]
    ids: Ranges,
}

/// Lets the relay publish these events again. Events that it has not published yet are left out: it publishes them without this. Events of
/// an aggregate with a blocked event wait for its release, and do not count. New events wait until these are published. If there are none,
/// nothing is changed.
///
/// # Errors
/// Database errors.
pub async fn republish(tx: &mut Tx, events: PublishedEvents, actor: &str) -> database::Result<Republication> {
    let (since, aggregate) = match events {
        PublishedEvents::Since(time) => (Some(time), None),
        PublishedEvents::Aggregate(id) => (None, Some(id)),
    };
    tx.set_statement_timeout(COUNT_TIMEOUT).await?;
    select(pg_advisory_xact_lock_shared(hashtextextended("outbox_rows", 0))).execute(tx).await?;
    let republication: Republication = sql_query(include_str!("republish.sql"))
        .bind::<Nullable<Timestamptz>, _>(since)
        .bind::<Nullable<SqlUuid>, _>(aggregate)
        .get_result(tx)
        .await?;
    if republication.messages > 0 {
        end_lease(tx, actor).await?;
        diesel::update(outbox_cursor::table)
            .set(outbox_cursor::gaps.eq(outbox_cursor::gaps.union_range(&republication.ids)))
            .execute(tx)
            .await?;
    }
    Ok(republication)
}
