//! Writes a mail for each ticket that was sold: one, however often the message arrives.
#![allow(missing_docs, reason = "an example has no callers")]

use std::pin::pin;

use database::{Database, RELIABILITY, Settings, Tx};
use diesel::ExpressionMethods;
use diesel_async::RunQueryDsl;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use envelope::{Event, Message, Stream, Topics};
use inbox::{Consumer, HandlerError, Runner, RunnerSettings, no_locks};
use messaging::Brokers;
use messaging::topics::{TopicSpec, ensure};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!();

diesel::table! {
    mail (id) { id -> BigInt, ticket -> Uuid, subject -> Text }
}

/// The event as this program needs it. Members that it does not name are ignored.
#[derive(serde::Serialize, serde::Deserialize)]
struct TicketSold {
    ticket: Uuid,
    seat: String,
}

impl Event for TicketSold {
    const TYPE: &'static str = "tickets.TicketSold.v1";
    const STREAM: Stream = Stream::of("tickets");
    const AGGREGATE: &'static str = "ticket";

    fn aggregate(&self) -> Uuid {
        self.ticket
    }
}

/// Runs in the transaction that enters the message in the inbox. A message that is known does not come here.
async fn write_mail(tx: &mut Tx, sold: &Message<TicketSold>) -> Result<(), HandlerError> {
    let row = (mail::ticket.eq(sold.ticket), mail::subject.eq(format!("Your seat is {}", sold.seat)));
    diesel::insert_into(mail::table).values(row).execute(tx).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let set = |name| std::env::var(name).map_err(|_| format!("{name} is not set"));
    database::migrate(&set("MIGRATION_URL")?.into(), vec![RELIABILITY, MIGRATIONS]).await?;
    let database = Database::new(&Settings::new(set("DATABASE_URL")?), tokio::runtime::Handle::current())?;
    let brokers: Brokers = set("KAFKA_BROKERS")?.parse()?;
    let topics = Topics::of(set("DEPLOYMENT").unwrap_or_else(|_| "example".to_owned()));
    ensure(&brokers, &[TopicSpec::new(topics.events(TicketSold::STREAM), Topics::PARTITIONS)]).await?;

    let mailer = Consumer::of("mailer").on(no_locks, write_mail);
    let runner = Runner::join(database, &brokers, &topics, mailer, RunnerSettings::default())?;
    let stop = CancellationToken::new();
    let mut running = pin!(runner.run(stop.clone()));
    tokio::select! {
        () = &mut running => return Err("the consumer has ended: the log says why".into()),
        interrupted = tokio::signal::ctrl_c() => interrupted?,
    }
    stop.cancel();
    running.await; // finishes the batches that are being applied
    Ok(())
}
