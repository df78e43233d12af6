//! `KeyLookup`: the first two statements of a transaction, which lock keys and read their records, tombstones or fences.
//!
//! The lock comes first. In one statement the snapshot would be older than the lock, so a request that just lost the
//! race would not see the winner's record. No statement waits for a lock.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use database::{Error, Result, Rows, Tx, UnitOfWork, WithRows};
use diesel::sql_types::{BigInt, Binary, Bool, Integer, Jsonb, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use futures_util::future::try_join;

use crate::KeyedRequest;
use crate::record::StoredRecord;
use crate::replay_cache::ReplayCache;

/// The state of one key, as its transaction has read it.
pub(crate) struct KeyLookup {
    /// True if this transaction holds the key's lock until its end.
    pub(crate) is_locked: bool,
    /// The time of the lookup, by the database's clock.
    pub(crate) at: DateTime<Utc>,
    /// The key's record, tombstone or fence, if there is one.
    pub(crate) record: Option<StoredRecord>,
}

/// Tries the locks of these keys, then reads their records, in one round trip. Returns one lookup for each, in order.
/// Completed records are in memory from then on.
pub(crate) async fn look_up_keys(tx: &Tx, requests: &[&KeyedRequest]) -> Result<Vec<KeyLookup>> {
    let intake = tx.attached::<ReplayCache>().intake();
    let (lock, find) = (lock_keys(requests), find_records(requests));
    let (mut first, mut second) = (tx, tx);
    let (lock, find) =
        (lock.load::<(i32, bool, _)>(&mut first), find.load::<(i32, StoredRecord)>(&mut second));
    let (locks, records) = try_join(lock, find).await?;
    let mut records: BTreeMap<i32, StoredRecord> = records.into_iter().collect();
    (0..).zip(requests).for_each(|(number, request)| intake.keep(request, records.get(&number)));
    let lookup = |(number, is_locked, at)| KeyLookup { is_locked, at, record: records.remove(&number) };
    Ok(locks.into_iter().map(lookup).collect())
}

/// The same for one key.
pub(crate) async fn look_up_key(tx: &Tx, request: &KeyedRequest) -> Result<KeyLookup> {
    let lookup = look_up_keys(tx, &[request]).await?.pop();
    lookup.ok_or(Error::Query(diesel::result::Error::NotFound))
}

/// Builds the statement that tries the advisory lock of each key.
fn lock_keys(requests: &[&KeyedRequest]) -> WithRows<(Integer, Bool, Timestamptz)> {
    let rows = Rows::default()
        .column::<Integer, _>("request", (0..).take(requests.len()))
        .column::<BigInt, _>("lock", requests.iter().map(|request| request.lock_number()));
    WithRows::new(
        "SELECT request, pg_try_advisory_xact_lock(lock), clock_timestamp() FROM ",
        rows,
        " ORDER BY request",
    )
}

/// The SQL types of a [`StoredRecord`].
type RecordColumns = (
    SqlUuid,
    Binary,
    Integer,
    Text,
    Timestamptz,
    Nullable<Timestamptz>,
    Nullable<Bool>,
    (Nullable<Integer>, Nullable<Jsonb>, Nullable<Binary>),
);

/// Builds the statement that reads the record of each key, or else its tombstone or its fence, from one snapshot. With two, it could miss a
/// record that moves between. Each `LIMIT` forces one step through an index for each key; a plain join depends on the
/// planner's statistics, and a plan that was made on empty tables reads a whole index. The outer `LIMIT` ends a lookup
/// that has found its record.
fn find_records(requests: &[&KeyedRequest]) -> WithRows<(Integer, RecordColumns)> {
    let texts =
        |part: fn(&KeyedRequest) -> &str| requests.iter().map(move |request| part(request).to_owned());
    let rows = Rows::default()
        .column::<Integer, _>("request", (0..).take(requests.len()))
        .column::<Text, _>("tenant_id", texts(|request| request.scope.caller.tenant.as_str()))
        .column::<Text, _>("client_id", texts(|request| request.scope.caller.client.as_str()))
        .column::<Text, _>("method", texts(|request| &request.scope.method))
        .column::<Text, _>("route", texts(|request| &request.scope.route))
        .column::<Text, _>("key", texts(|request| request.key.as_str()))
        .column::<SqlUuid, _>("key_digest", requests.iter().map(|request| request.key_digest()));
    WithRows::new(
        "SELECT given.request, stored.*, response.* FROM ",
        rows,
        " CROSS JOIN LATERAL (
            (SELECT operation_id, fingerprint, fingerprint_version, state, created_at, expires_at,
                    expires_at <= clock_timestamp(), status FROM idempotency_record record
              WHERE record.tenant_id = given.tenant_id AND record.client_id = given.client_id
                AND record.method = given.method AND record.route = given.route AND record.key = given.key LIMIT 1)
            UNION ALL
            (SELECT operation_id, ''::bytea, 0, 'expired', created_at, expires_at, true, status
               FROM idempotency_tombstone tombstone WHERE tombstone.key_digest = given.key_digest AND tombstone.method = given.method
                AND tombstone.route = given.route AND tombstone_until > clock_timestamp() LIMIT 1)
            UNION ALL
            (SELECT key_digest, ''::bytea, 0, 'fenced', fenced_at, NULL, NULL, NULL
               FROM idempotency_fence fence WHERE fence.key_digest = given.key_digest LIMIT 1)
            LIMIT 1
        ) stored
        LEFT JOIN LATERAL (SELECT headers, body FROM idempotency_snapshot
                            WHERE operation_id = stored.operation_id LIMIT 1) response ON true",
    )
}
