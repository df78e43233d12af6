//! Sells a seat for each line of the input, and announces the sale on Kafka if and only if it commits.
#![allow(missing_docs, reason = "an example has no callers")]

use database::{Database, RELIABILITY, Settings};
use diesel::Insertable;
use diesel_async::RunQueryDsl;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use envelope::{Event, Stream, TenantId, Topics};
use messaging::Brokers;
use messaging::topics::{TopicSpec, ensure};
use outbox::{Relay, RelaySettings};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!();

diesel::table! {
    ticket (id) { id -> Uuid, seat -> Text }
}

/// Your own model: it knows nothing of events.
#[derive(Insertable)]
#[diesel(table_name = ticket)]
struct Ticket<'a> {
    id: Uuid,
    seat: &'a str,
}

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

async fn sell(database: &Database, tenant: &TenantId, seat: &str) -> Result<(), Box<dyn std::error::Error>> {
    let ticket = Ticket { id: Uuid::now_v7(), seat };
    let sold = TicketSold { ticket: ticket.id, seat: seat.to_owned() };
    let mut tx = database.begin().await?;
    diesel::insert_into(ticket::table).values(ticket).execute(&mut tx).await?;
    outbox::append(&mut tx, tenant, 1, &sold)?; // the first event of this ticket
    tx.commit().await?; // wakes the relay
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
    let stop = CancellationToken::new();
    let relay = Relay::new(database.clone(), brokers, topics, RelaySettings::default());
    let sales = async {
        let _end = stop.clone().drop_guard(); // the relay ends with the sales
        let (mut lines, tenant) = (BufReader::new(stdin()).lines(), "theatre".parse()?);
        while let Some(seat) = lines.next_line().await? {
            let sold = sell(&database, &tenant, &seat).await;
            println!("{seat}: {}", sold.err().map_or_else(|| "sold".to_owned(), |error| error.to_string()));
        }
        Ok(())
    };
    tokio::join!(sales, relay.run(stop.clone())).0
}
