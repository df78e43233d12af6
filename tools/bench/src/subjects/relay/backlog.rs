//! A backlog for the relay: filled once, read without the relay, and rewound before each drain.

use std::time::{Duration, Instant};

use envelope::TenantId;
use uuid::Uuid;

use crate::environment::Session;
use crate::subjects::bare_producer::OutgoingRecord;
use harness::{Context, Result};

/// Rows in a page, the default of the relay.
const PAGE: usize = 1_000;

/// Fills the outbox with so many rows, without durable commits.
pub(crate) async fn fill(owner: &Session, rows: usize) -> Result<()> {
    owner.run("SELECT outbox_make_partitions(1)").await?;
    owner.run("SET synchronous_commit = off").await?;
    owner
        .execute("SELECT set_config('bench.rows', $1, false)", &[&rows.to_string()])
        .await
        .context("say how many rows the outbox gets")?;
    owner.run(include_str!("backlog.sql")).await?;
    owner.run("VACUUM ANALYZE outbox_event").await
}

/// Sets the cursor back to the one of a new database, so that every row is unpublished. With `next_xid_a` of a later snapshot, each
/// transaction number up to it would count as open at A.
pub(crate) async fn rewind(owner: &Session) -> Result<()> {
    owner.run("UPDATE outbox_cursor SET position = 0, gaps = '{}'").await?;
    owner.run("UPDATE outbox_lease SET lease_until = '-infinity'").await
}

/// The epoch of the lease: it rises when a relay takes the lease.
pub(crate) async fn epoch(owner: &Session) -> Result<i64> {
    Ok(owner.one("SELECT epoch FROM outbox_lease").await?.get(0))
}

/// Reads all rows as the relay does, page by page, on one connection; returns how long that took, and the rows as the
/// messages that become of them. The messages are made after the clock has stopped.
pub(crate) async fn read(owner: &Session) -> Result<(Duration, Vec<OutgoingRecord>)> {
    let prepared = owner
        .prepare(
            "SELECT id, event_id, topic, partition_key, aggregate_id, sequence, type, source, tenant_id, payload, \
                    traceparent, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') \
             FROM outbox_event WHERE id = ANY ($1) ORDER BY id",
        )
        .await
        .context("prepare the bare read")?;
    let start = Instant::now();
    let ids = owner.query("SELECT id FROM outbox_event ORDER BY id", &[]).await.context("read the ids")?;
    let ids: Vec<i64> = ids.iter().map(|row| row.get(0)).collect();
    let mut rows = Vec::with_capacity(ids.len());
    for page in ids.chunks(PAGE) {
        rows.extend(owner.query(&prepared, &[&page]).await.context("read a page of the outbox")?);
    }
    let took = start.elapsed();
    let mut records = Vec::with_capacity(rows.len());
    for row in &rows {
        let (order, id): (Uuid, Uuid) = (row.get("partition_key"), row.get("event_id"));
        let tenant: TenantId = row.get::<_, &str>("tenant_id").parse().context("read a tenant's name")?;
        let mut record =
            OutgoingRecord::about(order, id, row.get("type"), row.get("payload"), &tenant, row.get(11));
        let traceparent: Option<String> = row.get("traceparent");
        record.headers.extend(traceparent.map(|text| (envelope::header::TRACEPARENT, text)));
        records.push(record);
    }
    Ok((took, records))
}
