//! What stands at the beginning of a unit of work: whose key is whose, and what is known of it.

use chrono::{DateTime, Utc};
use database::{Error, Result, Rows, Tx};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{
    BigInt, Binary, Bool, Integer, Jsonb, Nullable, SmallInt, Text, Timestamptz, Uuid as SqlUuid,
};
use diesel_async::RunQueryDsl;
use futures_util::future::try_join;

use crate::KeyedRequest;
use crate::record::Found;

/// One key, at the beginning.
pub(crate) struct Sight {
    /// The key's lock is ours until the transaction ends.
    pub(crate) locked: bool,
    /// The moment, by the database's clock.
    pub(crate) at: DateTime<Utc>,
    /// The key's record, if there is one.
    pub(crate) found: Option<Found>,
}

/// Asks for the locks of these keys, then looks: two statements in that order, sent together. Says what it saw in the
/// order of the intents.
///
/// In one statement the snapshot would be older than the lock, and the winner's record invisible to the loser.
pub(crate) async fn lock_and_find(tx: &Tx, intents: &[&KeyedRequest]) -> Result<Vec<Sight>> {
    let (lock, find) = (Lock::of(intents), Find::of(intents));
    let (mut first, mut second) = (tx, tx);
    let (lock, find) = (lock.load::<(i32, bool, _)>(&mut first), find.load::<(i32, Found)>(&mut second));
    let (locks, records) = try_join(lock, find).await?;
    let unseen = |(_, locked, at)| Sight { locked, at, found: None };
    let mut sights: Vec<Sight> = locks.into_iter().map(unseen).collect();
    for (place, found) in records {
        if let Some(sight) = usize::try_from(place).ok().and_then(|place| sights.get_mut(place)) {
            sight.found = Some(found);
        }
    }
    Ok(sights)
}

/// The same for one key.
pub(crate) async fn lock_and_find_one(tx: &Tx, intent: &KeyedRequest) -> Result<Sight> {
    let sight = lock_and_find(tx, &[intent]).await?.pop();
    sight.ok_or(Error::Query(diesel::result::Error::NotFound))
}

fn places(intents: &[&KeyedRequest]) -> impl Iterator<Item = i32> + use<> {
    (0..).take(intents.len())
}

/// Nobody waits for a key's lock.
struct Lock(Rows);

impl Lock {
    fn of(intents: &[&KeyedRequest]) -> Self {
        let rows = Rows::default()
            .column::<Integer, _>("place", places(intents))
            .column::<BigInt, _>("number", intents.iter().map(|intent| intent.lock_number()));
        Self(rows)
    }
}

impl QueryFragment<Pg> for Lock {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT place, pg_try_advisory_xact_lock(number), clock_timestamp() FROM ");
        self.0.walk_ast(out.reborrow())?;
        out.push_sql(" ORDER BY place");
        Ok(())
    }
}

impl QueryId for Lock {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl Query for Lock {
    type SqlType = (Integer, Bool, Timestamptz);
}

/// `LIMIT` keeps it one step through the primary key's index for each, whatever the planner thinks of the table.
struct Find(Rows);

impl Find {
    fn of(intents: &[&KeyedRequest]) -> Self {
        let texts =
            |part: fn(&KeyedRequest) -> &str| intents.iter().map(move |intent| part(intent).to_owned());
        let rows = Rows::default()
            .column::<Integer, _>("place", places(intents))
            .column::<Text, _>("tenant_id", texts(|intent| intent.scope.caller.tenant.as_str()))
            .column::<Text, _>("client_id", texts(|intent| intent.scope.caller.client.as_str()))
            .column::<Text, _>("method", texts(|intent| &intent.scope.method))
            .column::<Text, _>("route", texts(|intent| &intent.scope.route))
            .column::<Text, _>("key", texts(|intent| intent.key.as_str()));
        Self(rows)
    }
}

impl QueryFragment<Pg> for Find {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT given.place, found.* FROM ");
        self.0.walk_ast(out.reborrow())?;
        out.push_sql(
            " CROSS JOIN LATERAL (
                SELECT record.operation_id, record.fingerprint, record.state, record.status, record.created_at,
                       record.expires_at <= clock_timestamp(), snapshot.headers, snapshot.body
                  FROM idempotency_record record
                  LEFT JOIN idempotency_snapshot snapshot USING (operation_id)
                 WHERE record.tenant_id = given.tenant_id AND record.client_id = given.client_id
                   AND record.method = given.method AND record.route = given.route AND record.key = given.key
                 LIMIT 1
            ) found",
        );
        Ok(())
    }
}

impl QueryId for Find {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl Query for Find {
    type SqlType = (
        Integer,
        (
            SqlUuid,
            Binary,
            Text,
            Nullable<SmallInt>,
            Timestamptz,
            Nullable<Bool>,
            Nullable<Jsonb>,
            Nullable<Binary>,
        ),
    );
}
