//! Everything that was read about one order, and what could not be read.

use std::collections::{BTreeMap, BTreeSet};

use audits::{Database, explain};
use chrono::{DateTime, Utc};
use contracts::{OrderId, PaymentId};
use diesel::sql_query;
use diesel::sql_types::{Array, BigInt, Text, Timestamptz, Uuid as SqlUuid};
use futures_util::future::join_all;
use harness::{Books, Result};
use uuid::Uuid;

use super::fact::{Event, Fact};

/// The facts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    /// The rows of each database that could be read.
    pub(crate) rows: Vec<(Database, Fact)>,
    /// The topics were read, too, from the first event of the order to their ends.
    pub(crate) has_read_topics: bool,
    /// Why a part could not be read, in sentences.
    pub(crate) unread: Vec<String>,
    /// The services that could not be read.
    pub(crate) unread_services: Vec<Database>,
}

impl Facts {
    /// Reads all services beside each other, then the programs beside them. A database that is away leaves a gap, and the others are read.
    pub(crate) async fn read(books: &Books, order: Uuid) -> Self {
        let mut facts = Self::default();
        let services = Database::services();
        let read = join_all(services.clone().map(|service| read_service(books, service, order))).await;
        for (service, read) in services.zip(read) {
            match read {
                Ok(rows) => facts.rows.extend(rows.into_iter().map(|row| (service, row))),
                Err(error) => {
                    facts.unread.push(error.to_string());
                    facts.unread_services.push(service);
                }
            }
        }
        for program in Database::beside() {
            match read_beside(books, program, &facts).await {
                Ok(rows) => facts.rows.extend(rows.into_iter().map(|row| (program, row))),
                Err(error) => facts.unread.push(error.to_string()),
            }
        }
        facts.join_messages();
        facts
    }

    /// The texts of this step, in the order of the services.
    pub(crate) fn texts<'a>(&'a self, step: &'a str) -> impl Iterator<Item = &'a str> {
        self.rows.iter().filter(move |(_, fact)| fact.step == step).map(|(_, fact)| fact.text.as_str())
    }

    /// The events in the outboxes, each with its service and time.
    pub(crate) fn events(&self) -> impl Iterator<Item = (Database, DateTime<Utc>, &Event)> {
        self.rows.iter().filter_map(|(service, fact)| Some((*service, fact.at?, fact.detail.event.as_ref()?)))
    }

    /// The messages that a service has entered, the parked ones included.
    pub(crate) fn entered(&self) -> BTreeSet<(Database, Uuid)> {
        self.rows.iter().filter_map(|(service, fact)| Some((*service, fact.detail.message?))).collect()
    }

    /// Compares inboxes with outboxes. An inbox does not keep the type of a message; its sender's outbox does. An event that a consumer has
    /// entered is published: the relay moves its cursor after the brokers' acknowledgement, so a consumer can be ahead of it.
    fn join_messages(&mut self) {
        let names: BTreeMap<Uuid, String> =
            self.events().map(|(_, _, event)| (event.id, event.name.clone())).collect();
        let entered: BTreeSet<Uuid> = self.entered().into_iter().map(|(_, message)| message).collect();
        for (_, fact) in &mut self.rows {
            if let Some(message) = fact.detail.message.filter(|_| fact.step == "inbox") {
                let name = names.get(&message).map_or("message", String::as_str);
                fact.text = format!("{name} {}", fact.text);
            }
            if let Some(event) = &mut fact.detail.event
                && event.state == "not published"
                && entered.contains(&event.id)
            {
                "published".clone_into(&mut event.state);
                fact.detail.obstacle = None;
            }
        }
    }
}

/// Reads what a service knows about the order. A payment's id is computed from its order, so its messages are found also if orders is away.
async fn read_service(books: &Books, service: Database, order: Uuid) -> Result<Vec<Fact>> {
    let mut session = books.session(service.into()).await?;
    let own = sql_query(service.explain()).bind::<SqlUuid, _>(order);
    let mut facts: Vec<Fact> = session.rows(own).await?;

    let (operations, times): (Vec<Uuid>, Vec<DateTime<Utc>>) = operations(&facts).into_iter().unzip();
    let requests = sql_query(explain::REQUESTS)
        .bind::<Array<SqlUuid>, _>(operations)
        .bind::<Array<Timestamptz>, _>(times);
    facts.extend(session.rows::<Fact, _>(requests).await?);

    let aggregates = vec![order, PaymentId::of(OrderId::from(order)).uuid()];
    let inbox = sql_query(explain::INBOX)
        .bind::<Array<SqlUuid>, _>(aggregates.clone())
        .bind::<Text, _>(service.name());
    facts.extend(session.rows::<Fact, _>(inbox).await?);

    let times: Vec<DateTime<Utc>> = facts.iter().filter_map(|fact| fact.at).collect();
    let announced: i64 = facts.iter().map(|fact| fact.detail.announced).sum();
    let outbox = sql_query(explain::OUTBOX)
        .bind::<Array<SqlUuid>, _>(aggregates)
        .bind::<Array<Timestamptz>, _>(times)
        .bind::<Text, _>(service.name())
        .bind::<BigInt, _>(announced);
    facts.extend(session.rows::<Fact, _>(outbox).await?);
    Ok(facts)
}

/// The operations of these rows, each with the time of its first row.
fn operations(facts: &[Fact]) -> BTreeMap<Uuid, DateTime<Utc>> {
    let mut first = BTreeMap::new();
    for (operation, at) in facts.iter().filter_map(|fact| fact.detail.operation.zip(fact.at)) {
        first.entry(operation).and_modify(|first: &mut DateTime<Utc>| *first = at.min(*first)).or_insert(at);
    }
    first
}

/// Reads what a program beside a service has in its own books about the charge. It stands for another system, whose database no one can
/// read.
async fn read_beside(books: &Books, program: Database, facts: &Facts) -> Result<Vec<Fact>> {
    let charge = facts.rows.iter().find_map(|(_, fact)| Some((fact.text.clone(), fact.detail.charge?)));
    let Some((intent, attempts)) = charge else { return Ok(Vec::new()) };
    let query = sql_query(program.explain())
        .bind::<Text, _>(intent)
        .bind::<Timestamptz, _>(attempts.first)
        .bind::<Timestamptz, _>(attempts.last);
    books.load(program.into(), query).await
}
