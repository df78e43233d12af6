#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! The example, run as a program.

use diesel::sql_types::Text;
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use envelope::{Event, Stream};
use serde::{Deserialize, Serialize};
use testkit::{TestDatabase, TestTopics, publish, record};
use tokio::process::Command;
use uuid::Uuid;

/// As another program publishes it.
#[derive(Serialize, Deserialize)]
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

#[derive(QueryableByName)]
struct Mail {
    #[diesel(sql_type = Text)]
    subject: String,
}

#[tokio::test]
async fn a_message_that_arrives_several_times_writes_one_mail() {
    let (database, topics) = (TestDatabase::empty().await, TestTopics::names());
    topics.make(&[TicketSold::STREAM]).await;
    let sold = |seat: &str| record(&topics, 1, &TicketSold { ticket: Uuid::now_v7(), seat: seat.to_owned() });
    let (first, second) = (sold("A-12"), sold("B-1"));
    // The same message three times, before and after another one.
    publish(&topics, &[first.clone(), first.clone(), second, first]).await;

    let mut program = Command::new(env!("CARGO_BIN_EXE_inbox-consumer"))
        .env("MIGRATION_URL", database.owner_url())
        .env("DATABASE_URL", database.service_url(None))
        .env("KAFKA_BROKERS", topics.brokers().to_string())
        .env("DEPLOYMENT", topics.deployment())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    topics.wait_until_consumed("mailer", &[TicketSold::STREAM]).await;
    let mails: Vec<Mail> = sql_query("SELECT subject FROM mail ORDER BY subject")
        .load(&mut database.owner().await)
        .await
        .unwrap();
    let subjects: Vec<&str> = mails.iter().map(|mail| mail.subject.as_str()).collect();
    assert_eq!(subjects, ["Your seat is A-12", "Your seat is B-1"]);
    program.kill().await.unwrap();
}
