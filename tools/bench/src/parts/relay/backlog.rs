//! A backlog for the relay: filled once, read bare, and made unread again before each drain.

use std::time::{Duration, Instant};

use contracts::TenantId;
use uuid::Uuid;

use crate::ground::Session;
use crate::parts::bare::Letter;
use crate::trouble::{Doing, Trouble};

/// Rows in a page, as the relay has it by default.
const PAGE: usize = 1_000;

/// Fills the outbox with so many rows. They need not last, unlike those that a service writes.
pub(crate) async fn fill(owner: &Session, rows: usize) -> Result<(), Trouble> {
    owner.run("SELECT outbox_make_partitions(1)").await?;
    owner.run("SET synchronous_commit = off").await?;
    owner
        .execute("SELECT set_config('bench.rows', $1, false)", &[&rows.to_string()])
        .await
        .doing("say how many rows the outbox gets")?;
    owner.run(include_str!("backlog.sql")).await?;
    owner.run("VACUUM ANALYZE outbox_event").await
}

/// Makes every row one that was never published.
pub(crate) async fn rewind(owner: &Session) -> Result<(), Trouble> {
    owner.run("UPDATE outbox_cursor SET snapshot_a = '1:1:', snapshot_b = NULL, last_id = 0").await?;
    owner.run("UPDATE outbox_lease SET lease_until = '-infinity'").await
}

/// Who relays, in terms of takeovers.
pub(crate) async fn epoch(owner: &Session) -> Result<i64, Trouble> {
    Ok(owner.one("SELECT epoch FROM outbox_lease").await?.get(0))
}

/// Whether everything up to the present is acknowledged and written down as such.
pub(crate) async fn drained(owner: &Session) -> Result<bool, Trouble> {
    Ok(owner.one("SELECT snapshot_a <> '1:1:' AND snapshot_b IS NULL FROM outbox_cursor").await?.get(0))
}

/// Reads all rows as the relay does, page by page, on one connection; returns how long that took, and the rows as the
/// messages that become of them. The messages are made after the clock has stopped.
pub(crate) async fn read(owner: &Session) -> Result<(Duration, Vec<Letter>), Trouble> {
    let prepared = owner
        .prepare(
            "SELECT id, event_id, topic, partition_key, aggregate_id, sequence, type, source, tenant_id, payload, \
                    traceparent, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') \
             FROM outbox_event WHERE id = ANY ($1) ORDER BY id",
        )
        .await
        .doing("prepare the bare read")?;
    let start = Instant::now();
    let ids = owner.query("SELECT id FROM outbox_event ORDER BY id", &[]).await.doing("read the ids")?;
    let ids: Vec<i64> = ids.iter().map(|row| row.get(0)).collect();
    let mut rows = Vec::with_capacity(ids.len());
    for page in ids.chunks(PAGE) {
        rows.extend(owner.query(&prepared, &[&page]).await.doing("read a page of the outbox")?);
    }
    let took = start.elapsed();
    let mut letters = Vec::with_capacity(rows.len());
    for row in &rows {
        let (order, id): (Uuid, Uuid) = (row.get("partition_key"), row.get("event_id"));
        let tenant: TenantId = row.get::<_, &str>("tenant_id").parse().doing("read a tenant's name")?;
        let mut letter = Letter::about(order, id, row.get("type"), row.get("payload"), &tenant, row.get(11));
        let traceparent: Option<String> = row.get("traceparent");
        letter.headers.extend(traceparent.map(|text| (contracts::header::TRACEPARENT, text)));
        letters.push(letter);
    }
    Ok((took, letters))
}
