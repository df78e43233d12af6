//! Which messages were dealt with.

use std::collections::HashSet;

use database::Tx;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Array, BigInt, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::incoming::Entry;

/// Enters the messages and returns the ids of those that were not there yet.
pub(crate) async fn enter(tx: &mut Tx, consumer: &str, entries: &[Entry]) -> database::Result<HashSet<Uuid>> {
    // In one order for everybody: two batches with the same messages wait for each other instead of deadlocking.
    let mut entries: Vec<&Entry> = entries.iter().collect();
    entries.sort_by_key(|entry| entry.id);
    let mut enter = Enter { consumer: consumer.to_owned(), ..Enter::default() };
    for entry in entries {
        enter.message_id.push(entry.id);
        enter.source.push(entry.line.source.clone());
        enter.aggregate_id.push(entry.line.aggregate);
        enter.sequence.push(entry.sequence);
    }
    if cfg!(feature = "mutant-no-inbox") {
        return Ok(enter.message_id.into_iter().collect()); // whatever comes is new
    }
    let new: Vec<Uuid> = enter.get_results(tx).await?;
    Ok(new.into_iter().collect())
}

/// Enters a message under the place that somebody has found out: its own entry knew none.
pub(crate) async fn enter_again(tx: &mut Tx, consumer: &str, entry: &Entry) -> database::Result<()> {
    diesel::delete(inbox_message::table.find((consumer, entry.id))).execute(tx).await?;
    enter(tx, consumer, std::slice::from_ref(entry)).await?;
    Ok(())
}

diesel::table! {
    inbox_message (consumer, message_id) {
        consumer -> Text,
        message_id -> Uuid,
    }
}

#[derive(QueryId, Default)]
struct Enter {
    consumer: String,
    message_id: Vec<Uuid>,
    source: Vec<String>,
    aggregate_id: Vec<Uuid>,
    sequence: Vec<i64>,
}

impl Query for Enter {
    type SqlType = SqlUuid;
}

impl QueryFragment<Pg> for Enter {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(
            "INSERT INTO inbox_message (consumer, message_id, source, aggregate_id, sequence) SELECT ",
        );
        out.push_bind_param::<Text, _>(&self.consumer)?;
        out.push_sql(", * FROM unnest(");
        out.push_bind_param::<Array<SqlUuid>, _>(&self.message_id)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<Text>, _>(&self.source)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<SqlUuid>, _>(&self.aggregate_id)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<BigInt>, _>(&self.sequence)?;
        out.push_sql(") ON CONFLICT DO NOTHING RETURNING message_id");
        Ok(())
    }
}
