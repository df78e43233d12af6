//! The bare statement: writes the rows of one order, without the guarantees.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use tokio_postgres::Statement;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::environment::{Session, TestBed};
use crate::load::Worker;
use harness::{Context, Error, Result};

/// The statement's text. `$1` order, `$2` key, `$3` operation, `$4` event, `$5` fact; `$6` to `$13` are the sample's.
pub(crate) const PLACE: &str = include_str!("place.sql");

/// The contents of a real order's rows except ids, so that the statement's rows have the same size.
#[derive(Debug)]
pub(crate) struct SampleOrder {
    pub(crate) tenant: String,
    pub(crate) client: String,
    pub(crate) lines: Value,
    pub(crate) payload: Vec<u8>,
    pub(crate) headers: Value,
    pub(crate) body: Vec<u8>,
    pub(crate) fingerprint: Vec<u8>,
    pub(crate) traceparent: Option<String>,
}

impl SampleOrder {
    /// Reads an order of a service's database. The response may be that of another order, because their sizes are equal.
    pub(crate) async fn of(orders: &Session) -> Result<Self> {
        let row = orders
            .one(
                "SELECT o.tenant_id, o.client_id, o.lines, e.payload, s.headers, s.body, r.fingerprint, e.traceparent \
                 FROM orders o JOIN outbox_event e ON e.aggregate_id = o.id \
                 CROSS JOIN idempotency_record r JOIN idempotency_snapshot s USING (operation_id) \
                 WHERE e.sequence = 1 LIMIT 1",
            )
            .await?;
        Ok(Self {
            tenant: row.get(0),
            client: row.get(1),
            lines: row.get(2),
            payload: row.get(3),
            headers: row.get(4),
            body: row.get(5),
            fingerprint: row.get(6),
            traceparent: row.get(7),
        })
    }
}

/// One connection that places orders with the statement.
pub(crate) struct BarePlacer {
    session: Session,
    prepared: Statement,
    sample: Arc<SampleOrder>,
}

impl BarePlacer {
    pub(crate) async fn open(database: &TestBed, sample: &Arc<SampleOrder>) -> Result<Self> {
        let session = Session::open(&database.service_url).await?;
        let prepared = session.prepare(PLACE).await.context("prepare the bare statement")?;
        Ok(Self { session, prepared, sample: Arc::clone(sample) })
    }
}

impl Worker for BarePlacer {
    async fn once(&mut self) -> Result<()> {
        let order = Uuid::now_v7();
        let key = Uuid::new_v4().to_string();
        let (operation, event, fact) = (Uuid::now_v7(), Uuid::now_v7(), Uuid::now_v7());
        let like = &self.sample;
        let values: [&(dyn ToSql + Sync); 13] = [
            &order,
            &key,
            &operation,
            &event,
            &fact,
            &like.tenant,
            &like.client,
            &like.lines,
            &like.payload,
            &like.headers,
            &like.body,
            &like.fingerprint,
            &like.traceparent,
        ];
        let written = self.session.execute(&self.prepared, &values).await;
        let written = written.context("write an order by the bare statement")?;
        if written == 1 {
            Ok(())
        } else {
            Err(Error::Refused(format!("the statement wrote {written} records")))
        }
    }
}

/// Rows and bytes of each table.
pub(crate) type Sizes = BTreeMap<String, (i64, i64)>;

/// Counts rows and bytes of each table. A partitioned table counts as one.
pub(crate) async fn sizes(owner: &Session) -> Result<Sizes> {
    let question = owner
        .one(
            "SELECT string_agg(format('SELECT %L::text, count(*), coalesce(sum(pg_column_size(t)), 0)::bigint FROM %I t', \
                                      relname, relname), ' UNION ALL ') \
             FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'public'::regnamespace",
        )
        .await?;
    let question: String = question.get(0);
    let rows = owner.query(&question, &[]).await.context("count the rows of every table")?;
    Ok(rows.iter().map(|row| (row.get(0), (row.get(1), row.get(2)))).collect())
}

/// Describes the tables in which the rows of a POST and of the statement differ.
pub(crate) fn differences(post: [&Sizes; 2], statement: [&Sizes; 2]) -> Vec<String> {
    /// The fractional seconds of a time may be shorter in one of two JSON texts.
    const TOLERANCE: i64 = 8;
    let grown = |[before, after]: [&Sizes; 2], table: &str| {
        let of = |sizes: &Sizes| sizes.get(table).copied().unwrap_or_default();
        (of(after).0 - of(before).0, of(after).1 - of(before).1)
    };
    let mut found = Vec::new();
    for table in post[1].keys() {
        let (wanted, written) = (grown(post, table), grown(statement, table));
        if wanted.0 != written.0 || (wanted.1 - written.1).abs() > TOLERANCE {
            found.push(format!(
                "{table}: POST writes {} rows of {} bytes, the statement {} of {}",
                wanted.0, wanted.1, written.0, written.1
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(rows: i64, bytes: i64) -> Sizes {
        Sizes::from([("orders".to_owned(), (rows, bytes))])
    }

    #[test]
    fn a_row_that_only_one_of_the_two_writes_is_named() {
        let (empty, one, longer) = (sizes(0, 0), sizes(1, 200), sizes(1, 300));
        assert_eq!(differences([&empty, &one], [&empty, &one]), Vec::<String>::new());
        assert_eq!(differences([&empty, &one], [&empty, &longer]).len(), 1);
        let missing = differences([&empty, &one], [&empty, &empty]);
        assert_eq!(missing, ["orders: POST writes 1 rows of 200 bytes, the statement 0 of 0"]);
    }
}
