//! Messages that came before their turn: kept in the database until the missing one has come.

use std::collections::BTreeMap;

use database::Tx;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Array, BigInt, Binary, Integer, Jsonb, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use serde_json::Value;
use uuid::Uuid;

use crate::incoming::{Entry, Incoming, Line, Origin};
use crate::{HandlerError, park};

/// Those that one transaction knows of: what follows its messages, and what came too early among them.
pub(crate) struct Waiting {
    messages: BTreeMap<(Line, i64), Held>,
    /// Rows of messages whose turn has come.
    over: Vec<Uuid>,
}

struct Held {
    incoming: Incoming,
    stored: bool,
}

impl Waiting {
    /// Reads what follows these messages without a gap: nothing at all, as a rule, and then it is one round trip.
    /// Call it under the locks of their aggregates.
    pub(crate) async fn behind(
        tx: &mut Tx,
        consumer: &str,
        batch: &[Incoming],
    ) -> Result<Self, HandlerError> {
        let mut waiting = Self { messages: BTreeMap::new(), over: Vec::new() };
        let mut entries: Vec<Entry> = batch.iter().map(Incoming::entry).collect();
        while !entries.is_empty() {
            let rows: Vec<Row> = Followers::of(consumer, &entries).get_results(tx).await?;
            let followers: Result<Vec<Incoming>, HandlerError> = rows.into_iter().map(incoming).collect();
            entries.clear();
            for incoming in followers? {
                let entry = incoming.entry();
                waiting
                    .messages
                    .insert((entry.line.clone(), entry.sequence), Held { incoming, stored: true });
                entries.push(entry);
            }
        }
        Ok(waiting)
    }

    /// Keeps a message that came too early. Its id is in the inbox already; its effect follows with the missing one.
    pub(crate) fn put(&mut self, incoming: Incoming) {
        let Entry { line, sequence, .. } = incoming.entry();
        // Two messages that claim one place: whichever was kept first has it, as if both had come in their turn.
        self.messages.entry((line, sequence)).or_insert(Held { incoming, stored: false });
    }

    /// Gives out the message with this place, if it is here.
    pub(crate) fn take(&mut self, line: &Line, sequence: i64) -> Option<Incoming> {
        let held = self.messages.remove(&(line.clone(), sequence))?;
        if held.stored {
            self.over.push(held.incoming.envelope.id.uuid());
        }
        Some(held.incoming)
    }

    /// Writes down who waits from now on, and who no longer does.
    pub(crate) async fn store(self, tx: &mut Tx, consumer: &str) -> database::Result<()> {
        if !self.over.is_empty() {
            park::remove(tx, consumer, &self.over).await?;
        }
        for held in self.messages.into_values().filter(|held| !held.stored) {
            park::hold(tx, consumer, &held.incoming).await?;
        }
        Ok(())
    }
}

type Row = (String, i32, i64, Value, Vec<u8>);

fn incoming((topic, partition, offset, headers, payload): Row) -> Result<Incoming, HandlerError> {
    let headers =
        serde_json::from_value(headers).map_err(|error| HandlerError::Unreadable(error.to_string()))?;
    Incoming::from_parts(Origin { topic, partition, offset, headers }, payload)
}

/// The held messages that come directly after these.
#[derive(QueryId, Default)]
struct Followers {
    consumer: String,
    source: Vec<String>,
    aggregate_id: Vec<Uuid>,
    sequence: Vec<i64>,
}

impl Followers {
    fn of(consumer: &str, entries: &[Entry]) -> Self {
        let mut followers = Self { consumer: consumer.to_owned(), ..Self::default() };
        for entry in entries {
            followers.source.push(entry.line.source.clone());
            followers.aggregate_id.push(entry.line.aggregate);
            followers.sequence.push(entry.sequence.saturating_add(1));
        }
        followers
    }
}

impl Query for Followers {
    type SqlType = (Text, Integer, BigInt, Jsonb, Binary);
}

impl QueryFragment<Pg> for Followers {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(
            "SELECT topic, partition, record_offset, headers, payload FROM inbox_parked \
             WHERE state = 'held' AND consumer = ",
        );
        out.push_bind_param::<Text, _>(&self.consumer)?;
        out.push_sql(" AND (source, aggregate_id, sequence) IN (SELECT * FROM unnest(");
        out.push_bind_param::<Array<Text>, _>(&self.source)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<SqlUuid>, _>(&self.aggregate_id)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<BigInt>, _>(&self.sequence)?;
        out.push_sql("))");
        Ok(())
    }
}
