//! The chain's rows, and what of the ledger it does not hold yet.
//!
//! Ids are handed out before commit, so a transaction with a smaller id may appear after a larger one. But once every
//! database transaction below some number has ended, nothing can appear there any more: the chain is extended over
//! whole ranges of such numbers, and within one by id.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use database::{Connection, Result, Tx};
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::unreadable;
use crate::ledger::chain::{Hash, Posted, PostedEntry};
use crate::schema::{ledger_entry, ledger_seal};

/// The chain's end. A database transaction's number is text here: no type of ours has it.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) position: i64,
    pub(crate) hash: Hash,
    /// Everything that smaller database transactions have posted is sealed.
    pub(crate) sealed_below: String,
    /// How many heads were told.
    pub(crate) sequence: i64,
}

/// Whether there is anything to seal. It writes nothing and locks nothing.
pub(crate) async fn is_behind(connection: &mut Connection) -> Result<bool> {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = Bool)]
        behind: bool,
    }
    const BEHIND: &str = "\
        SELECT EXISTS (SELECT FROM ledger_transaction \
                        WHERE xid >= (SELECT sealed_below FROM ledger_head) \
                          AND xid < pg_snapshot_xmin(pg_current_snapshot())) AS behind";
    let row: Row = sql_query(BEHIND).get_result(connection).await?;
    Ok(row.behind)
}

/// Locks the head; `None` if somebody else has it.
pub(crate) async fn lock_head(tx: &mut Tx) -> Result<Option<Head>> {
    let row: Option<HeadRow> = sql_query(LOCK).get_result(tx).await.optional()?;
    row.map(Head::try_from).transpose()
}

/// The head as it is.
pub(crate) async fn head(tx: &mut Tx) -> Result<Head> {
    let row: HeadRow = sql_query(HEAD).get_result(tx).await?;
    row.try_into()
}

const HEAD: &str = "SELECT position, hash, sealed_below::text AS sealed_below, sequence FROM ledger_head";
const LOCK: &str = "SELECT position, hash, sealed_below::text AS sealed_below, sequence FROM ledger_head \
                     FOR UPDATE SKIP LOCKED";

#[derive(QueryableByName)]
struct HeadRow {
    #[diesel(sql_type = BigInt)]
    position: i64,
    #[diesel(sql_type = Binary)]
    hash: Vec<u8>,
    #[diesel(sql_type = Text)]
    sealed_below: String,
    #[diesel(sql_type = BigInt)]
    sequence: i64,
}

impl TryFrom<HeadRow> for Head {
    type Error = database::Error;

    fn try_from(row: HeadRow) -> Result<Self> {
        let hash = row.hash.try_into().map_err(|_| unreadable("ledger_head.hash"))?;
        Ok(Self { position: row.position, hash, sealed_below: row.sealed_below, sequence: row.sequence })
    }
}

/// Up to which database transaction the chain can be extended from `from`: every smaller one has ended. It is chosen so
/// that about `limit` postings lie between, but always all of one database transaction.
pub(crate) async fn finished_below(tx: &mut Tx, from: &str, limit: i64) -> Result<String> {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = Text)]
        below: String,
    }
    const FINISHED: &str = "\
        WITH finished AS (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS xid), \
             open AS (SELECT posted.xid FROM ledger_transaction AS posted, finished \
                       WHERE posted.xid >= $1::xid8 AND posted.xid < finished.xid) \
        SELECT coalesce((SELECT xid FROM open WHERE xid > (SELECT xid FROM open ORDER BY xid LIMIT 1) \
                          ORDER BY xid OFFSET $2 LIMIT 1), (SELECT xid FROM finished))::text AS below";
    let row: Row = sql_query(FINISHED).bind::<Text, _>(from).bind::<BigInt, _>(limit).get_result(tx).await?;
    Ok(row.below)
}

/// What the database transactions of this range have posted, by id.
pub(crate) async fn between(tx: &mut Tx, from: &str, below: &str) -> Result<Vec<Posted>> {
    const BETWEEN: &str = "\
        SELECT id, tenant_id, kind, cause, payment_id, refund_id, recorded_at, \
               NULL::bigint AS position, NULL::bytea AS hash \
          FROM ledger_transaction WHERE xid >= $1::xid8 AND xid < $2::xid8 ORDER BY id";
    let rows: Vec<Row> = sql_query(BETWEEN).bind::<Text, _>(from).bind::<Text, _>(below).load(tx).await?;
    Ok(with_entries(tx, rows).await?.into_iter().map(|(posted, _)| posted).collect())
}

/// A place in the chain, as it is stored.
pub(crate) struct Seal {
    pub(crate) position: i64,
    pub(crate) hash: Vec<u8>,
}

/// The chain after this position, at most so many places of it, with what they seal.
pub(crate) async fn chain(tx: &mut Tx, after: i64, limit: i64) -> Result<Vec<(Posted, Seal)>> {
    const CHAIN: &str = "\
        SELECT id, tenant_id, kind, cause, payment_id, refund_id, recorded_at, position, hash \
          FROM ledger_seal JOIN ledger_transaction ON id = transaction_id \
         WHERE position > $1 ORDER BY position LIMIT $2";
    let rows: Vec<Row> = sql_query(CHAIN).bind::<BigInt, _>(after).bind::<BigInt, _>(limit).load(tx).await?;
    let places = with_entries(tx, rows).await?.into_iter();
    Ok(places.filter_map(|(posted, seal)| Some((posted, seal?))).collect())
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = BigInt)]
    id: i64,
    #[diesel(sql_type = Text)]
    tenant_id: String,
    #[diesel(sql_type = Text)]
    kind: String,
    #[diesel(sql_type = Text)]
    cause: String,
    #[diesel(sql_type = SqlUuid)]
    payment_id: Uuid,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    refund_id: Option<Uuid>,
    #[diesel(sql_type = Timestamptz)]
    recorded_at: DateTime<Utc>,
    #[diesel(sql_type = Nullable<BigInt>)]
    position: Option<i64>,
    #[diesel(sql_type = Nullable<Binary>)]
    hash: Option<Vec<u8>>,
}

type EntryRow = (i64, i16, String, String, String, i64);

async fn with_entries(tx: &mut Tx, rows: Vec<Row>) -> Result<Vec<(Posted, Option<Seal>)>> {
    let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
    let entries: Vec<EntryRow> = ledger_entry::table
        .filter(ledger_entry::transaction_id.eq_any(&ids))
        .order((ledger_entry::transaction_id, ledger_entry::line))
        .load(tx)
        .await?;
    let mut of: BTreeMap<i64, Vec<PostedEntry>> = BTreeMap::new();
    for (transaction, line, tenant, account, currency, amount) in entries {
        of.entry(transaction).or_default().push(PostedEntry { line, tenant, account, currency, amount });
    }
    let posted = |row: Row| {
        let seal = row.position.zip(row.hash).map(|(position, hash)| Seal { position, hash });
        let posted = Posted {
            entries: of.remove(&row.id).unwrap_or_default(),
            id: row.id,
            tenant: row.tenant_id,
            kind: row.kind,
            cause: row.cause,
            payment: row.payment_id,
            refund: row.refund_id,
            recorded_at: row.recorded_at,
        };
        (posted, seal)
    };
    Ok(rows.into_iter().map(posted).collect())
}

/// Extends the chain by these transactions, from this position on.
pub(crate) async fn extend(tx: &mut Tx, seals: &[(i64, i64, Hash)]) -> Result<()> {
    let rows: Vec<_> = seals
        .iter()
        .map(|(position, transaction, hash)| {
            (
                ledger_seal::position.eq(position),
                ledger_seal::transaction_id.eq(transaction),
                ledger_seal::hash.eq(hash.as_slice()),
            )
        })
        .collect();
    diesel::insert_into(ledger_seal::table).values(rows).execute(tx).await?;
    Ok(())
}

/// Moves the head. It is locked.
pub(crate) async fn move_head(tx: &mut Tx, head: &Head) -> Result<()> {
    const MOVE: &str = "\
        UPDATE ledger_head SET position = $1, hash = $2, sealed_below = $3::xid8, sequence = $4, \
               updated_at = clock_timestamp()";
    sql_query(MOVE)
        .bind::<BigInt, _>(head.position)
        .bind::<Binary, _>(head.hash.as_slice())
        .bind::<Text, _>(&head.sealed_below)
        .bind::<BigInt, _>(head.sequence)
        .execute(tx)
        .await?;
    Ok(())
}
