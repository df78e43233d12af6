//! Everything that was read about one order, and what could not be read.

use std::collections::{BTreeMap, BTreeSet};

use audits::Database;
use contracts::{OrderId, PaymentId};
use envelope::Topics;
use harness::{Books, Part, Result, Session};
use uuid::Uuid;

use super::inventory::StockFacts;
use super::line::FactLine;
use super::messages::{Messages, Positions};
use super::orders::OrderFacts;
use super::payments::MoneyFacts;
use super::provider;

/// The answer of one database.
#[derive(Debug, Clone)]
pub(crate) enum ReadRows<T> {
    /// It could not be read.
    Unread,
    /// It has no row about the order.
    Nothing,
    /// It has this.
    Rows(T),
}

impl<T> ReadRows<T> {
    pub(crate) const fn rows(&self) -> Option<&T> {
        if let Self::Rows(rows) = self { Some(rows) } else { None }
    }
}

/// The facts.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) order: ReadRows<OrderFacts>,
    pub(crate) stock: ReadRows<StockFacts>,
    pub(crate) money: ReadRows<MoneyFacts>,
    processor: Vec<FactLine>,
    /// Outbox and inbox of each service that could be read.
    pub(crate) messages: Vec<Messages>,
    /// Why a part could not be read, in sentences.
    pub(crate) unread: Vec<String>,
}

impl Facts {
    /// Reads all databases beside each other. A database that is away leaves a gap, and the others are read.
    pub(crate) async fn read(books: &Books, id: Uuid) -> Self {
        let (order, stock, money) = tokio::join!(
            read_service(books, Database::Orders, id, OrderFacts::read, OrderFacts::lines),
            read_service(books, Database::Inventory, id, StockFacts::read, StockFacts::lines),
            read_service(books, Database::Payments, id, MoneyFacts::read, MoneyFacts::lines),
        );
        let (mut messages, mut unread) = (Vec::new(), Vec::new());
        let order = note(order, &mut messages, &mut unread);
        let stock = note(stock, &mut messages, &mut unread);
        let money = note(money, &mut messages, &mut unread);
        note_published(&mut messages);
        let mut facts = Self { order, stock, money, processor: Vec::new(), messages, unread };
        match facts.read_processor(books).await {
            Ok(lines) => facts.processor = lines,
            Err(error) => facts.unread.push(error.to_string()),
        }
        facts
    }

    async fn read_processor(&self, books: &Books) -> Result<Vec<FactLine>> {
        match self.money.rows().and_then(MoneyFacts::intent) {
            Some((intent, attempts)) => {
                provider::read(&mut books.session(Part::Provider).await?, intent, attempts).await
            }
            None => Ok(Vec::new()),
        }
    }

    /// The lines about rows of the business.
    fn rows(&self) -> Vec<FactLine> {
        let order = self.order.rows().map(OrderFacts::lines);
        let stock = self.stock.rows().map(StockFacts::lines);
        let money = self.money.rows().map(MoneyFacts::lines);
        [order, stock, money].into_iter().flatten().flatten().collect()
    }

    /// All lines, in the order of time.
    pub(crate) fn lines(&self, topics: &Topics, positions: &Positions) -> Vec<FactLine> {
        let kinds = self.kinds();
        let mut lines = self.rows();
        lines.extend(self.processor.iter().cloned());
        lines.extend(self.messages.iter().flat_map(|it| it.lines(&kinds, topics, positions)));
        lines.sort_by_key(|line| (line.at, line.step));
        lines
    }

    /// The type of each message that a service has in its outbox.
    fn kinds(&self) -> BTreeMap<Uuid, String> {
        let events = self.messages.iter().flat_map(|it| &it.events);
        events.map(|event| (event.event_id, event.kind.clone())).collect()
    }

    /// Outbox and inbox of one service.
    pub(crate) fn messages_of(&self, database: Database) -> Option<&Messages> {
        self.messages.iter().find(|it| it.database == database)
    }

    /// Events that were announced and not found in the outbox, in sentences.
    pub(crate) fn gaps(&self) -> Vec<String> {
        let announced = [
            (Database::Orders, self.order.rows().map(|rows| rows.order.sequence)),
            (Database::Payments, self.money.rows().map(|rows| rows.payment.sequence)),
        ];
        let gap = |(database, announced): (Database, Option<i64>)| {
            let messages = self.messages_of(database)?;
            let missing = announced? - i64::try_from(messages.events.len()).ok()?;
            let dropped = messages.relay.as_ref().and_then(|relay| relay.dropped_until.as_deref());
            let dropped = dropped.map(|day| format!("; days until {day} are dropped")).unwrap_or_default();
            let name = database.name();
            (missing > 0).then(|| format!("{missing} events of {name} are not in its outbox{dropped}"))
        };
        announced.into_iter().filter_map(gap).collect()
    }
}

/// Reads the rows of a service, and the messages about them. A payment's id is computed from its order, so its messages are found also if
/// orders is away.
async fn read_service<T>(
    books: &Books,
    database: Database,
    id: Uuid,
    read: impl AsyncFnOnce(&mut Session, Uuid) -> Result<Option<T>>,
    lines: impl FnOnce(&T) -> Vec<FactLine>,
) -> Result<(Option<T>, Messages)> {
    let mut session = books.session(database.into()).await?;
    let rows = read(&mut session, id).await?;
    let times = rows.as_ref().map(lines).into_iter().flatten().map(|line| line.at);
    let aggregates = [id, PaymentId::of(OrderId::from(id)).uuid()];
    let messages = Messages::read(&mut session, database, &aggregates, times.collect()).await?;
    Ok((rows, messages))
}

fn note<T>(
    read: Result<(Option<T>, Messages)>,
    messages: &mut Vec<Messages>,
    unread: &mut Vec<String>,
) -> ReadRows<T> {
    match read {
        Ok((rows, own)) => {
            messages.push(own);
            rows.map_or(ReadRows::Nothing, ReadRows::Rows)
        }
        Err(error) => {
            unread.push(error.to_string());
            ReadRows::Unread
        }
    }
}

/// An event that a consumer has entered is published. The relay moves its cursor after the brokers' acknowledgement, so a consumer can
/// be ahead of it.
fn note_published(messages: &mut [Messages]) {
    let entered = messages.iter().flat_map(|it| &it.entered).map(|row| row.message_id);
    let entered: BTreeSet<Uuid> = entered.collect();
    for event in messages.iter_mut().flat_map(|it| &mut it.events) {
        event.has_been_passed |= entered.contains(&event.event_id);
    }
}
