//! How far each aggregate's history was applied: the guard that keeps order where ids cannot.

use std::collections::BTreeMap;

use database::{Connection, Tx};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Array, BigInt, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::incoming::Line;

/// What a message is to its aggregate's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// It was applied before, even if its id is no longer known.
    Duplicate,
    /// Exactly what was missing.
    Next,
    /// Something before it has not come yet.
    Later,
}

/// The last sequences of a batch's aggregates, locked until the transaction ends.
pub(crate) struct Sequences {
    consumer: String,
    last: BTreeMap<Line, i64>,
    moved: BTreeMap<Line, i64>,
}

impl Sequences {
    /// Locks the aggregates' rows, in one order for everybody. A statement after the inbox insert: it must see what
    /// the one who held the lock has committed.
    pub(crate) async fn lock(
        tx: &mut Tx,
        consumer: &str,
        lines: impl IntoIterator<Item = Line>,
    ) -> database::Result<Self> {
        let last: BTreeMap<Line, i64> = lines.into_iter().map(|line| (line, 0)).collect();
        let mut sequences = Self { consumer: consumer.to_owned(), last, moved: BTreeMap::new() };
        if sequences.last.is_empty() {
            return Ok(sequences);
        }
        let rows = sequences.rows(&sequences.last);
        Ensure(rows.clone()).execute(tx).await?;
        let found: Vec<(String, Uuid, i64)> = LockRows(rows).get_results(tx).await?;
        for (source, aggregate, last) in found {
            sequences.last.insert(Line { source, aggregate }, last);
        }
        Ok(sequences)
    }

    pub(crate) fn last(&self, line: &Line) -> i64 {
        self.last.get(line).copied().unwrap_or(0)
    }

    pub(crate) fn place(&self, line: &Line, sequence: i64) -> Place {
        if cfg!(feature = "mutant-no-sequence-guard") {
            return Place::Next; // whatever comes is what was missing
        }
        match sequence - self.last(line) {
            ..=0 => Place::Duplicate,
            1 => Place::Next,
            _ => Place::Later,
        }
    }

    pub(crate) fn advance(&mut self, line: &Line, sequence: i64) {
        self.last.insert(line.clone(), sequence);
        self.moved.insert(line.clone(), sequence);
    }

    /// Writes what has moved.
    pub(crate) async fn store(self, tx: &mut Tx) -> database::Result<()> {
        if !self.moved.is_empty() {
            Move(self.rows(&self.moved)).execute(tx).await?;
        }
        Ok(())
    }

    fn rows(&self, of: &BTreeMap<Line, i64>) -> Rows {
        let mut rows = Rows { consumer: self.consumer.clone(), ..Rows::default() };
        for (line, last) in of {
            rows.source.push(line.source.clone());
            rows.aggregate_id.push(line.aggregate);
            rows.last_sequence.push(*last);
        }
        rows
    }
}

/// How far a history is, for who only looks.
pub(crate) async fn last(connection: &mut Connection, consumer: &str, line: &Line) -> database::Result<i64> {
    let row = inbox_sequence::table.find((consumer, &line.source, line.aggregate));
    let found = row.select(inbox_sequence::last_sequence).first(connection).await.optional()?;
    Ok(found.unwrap_or(0))
}

diesel::table! {
    inbox_sequence (consumer, source, aggregate_id) {
        consumer -> Text,
        source -> Text,
        aggregate_id -> Uuid,
        last_sequence -> BigInt,
    }
}

#[derive(Clone, Default)]
struct Rows {
    consumer: String,
    source: Vec<String>,
    aggregate_id: Vec<Uuid>,
    last_sequence: Vec<i64>,
}

impl Rows {
    /// `unnest($1, $2, $3) AS u (source, aggregate_id, last_sequence)`
    fn unnest<'b>(&'b self, out: &mut AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("unnest(");
        out.push_bind_param::<Array<Text>, _>(&self.source)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<SqlUuid>, _>(&self.aggregate_id)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<BigInt>, _>(&self.last_sequence)?;
        out.push_sql(") AS u (source, aggregate_id, last_sequence)");
        Ok(())
    }
}

/// Makes the rows that do not exist yet, so that there is something to lock.
#[derive(QueryId)]
struct Ensure(Rows);

impl QueryFragment<Pg> for Ensure {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("INSERT INTO inbox_sequence (consumer, source, aggregate_id, last_sequence) SELECT ");
        out.push_bind_param::<Text, _>(&self.0.consumer)?;
        out.push_sql(", u.* FROM ");
        self.0.unnest(&mut out)?;
        out.push_sql(" ON CONFLICT DO NOTHING");
        Ok(())
    }
}

#[derive(QueryId)]
struct LockRows(Rows);

impl Query for LockRows {
    type SqlType = (Text, SqlUuid, BigInt);
}

impl QueryFragment<Pg> for LockRows {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(
            "SELECT s.source, s.aggregate_id, s.last_sequence FROM inbox_sequence s WHERE s.consumer = ",
        );
        out.push_bind_param::<Text, _>(&self.0.consumer)?;
        out.push_sql(" AND (s.source, s.aggregate_id) IN (SELECT u.source, u.aggregate_id FROM ");
        self.0.unnest(&mut out)?;
        out.push_sql(") ORDER BY s.source, s.aggregate_id FOR UPDATE OF s");
        Ok(())
    }
}

#[derive(QueryId)]
struct Move(Rows);

impl QueryFragment<Pg> for Move {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("UPDATE inbox_sequence s SET last_sequence = u.last_sequence FROM ");
        self.0.unnest(&mut out)?;
        out.push_sql(" WHERE s.consumer = ");
        out.push_bind_param::<Text, _>(&self.0.consumer)?;
        out.push_sql(" AND s.source = u.source AND s.aggregate_id = u.aggregate_id");
        Ok(())
    }
}
