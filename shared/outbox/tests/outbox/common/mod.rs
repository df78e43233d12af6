//! Events, relays, topics, and the rows of lease and cursor, for the tests of this crate.

pub(crate) mod days;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::time::Duration;

use clap::Parser;
use contracts::events::StockReserved;
use contracts::{OrderId, streams};
use database::{Database, Settings, Tx};
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Text};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use envelope::{Event, Stream, TenantId, header};
use idempotency::KeyPolicy;
use messaging::{Brokers, ReceivedMessage};
use operators::{CommandOutput, Installation, OperatorCommand, OutboxCommand};
use outbox::{Relay, RelaySettings};
use serde_json::Value;
pub(crate) use testkit::confirmed;
use testkit::{Background, TestDatabase, TestTopics, eventually};
use tokio::runtime::Handle;
use uuid::Uuid;

/// A lease that does not end during a test, and short pauses.
pub(crate) fn settings() -> RelaySettings {
    RelaySettings {
        lease: Duration::from_mins(5),
        idle_poll: Duration::from_millis(20),
        gather: Duration::ZERO,
        checkpoint: Duration::from_millis(20),
        page: 50,
    }
}

/// A short lease for a quick takeover, and a checkpoint after each report.
pub(crate) fn short_lived() -> RelaySettings {
    RelaySettings { lease: Duration::from_millis(500), checkpoint: Duration::ZERO, ..settings() }
}

pub(crate) fn relay(database: &Database, topics: &TestTopics, settings: RelaySettings) -> Background {
    let relay = Relay::new(database.clone(), topics.brokers(), (**topics).clone(), settings);
    Background::run(|stop| relay.run(stop))
}

/// A relay whose client gives up on a missing topic after 100 ms; the default is 30 s.
pub(crate) fn relay_with_missing_topics(
    database: &Database,
    topics: &TestTopics,
    settings: RelaySettings,
) -> Background {
    let soon = [("topic.metadata.propagation.max.ms", "100")];
    let brokers = Brokers::new(topics.brokers().bootstrap(), soon).unwrap();
    let relay = Relay::new(database.clone(), brokers, (**topics).clone(), settings);
    Background::run(|stop| relay.run(stop))
}

/// A pool whose transactions may stay idle for a minute.
pub(crate) fn patient(database: &TestDatabase) -> Database {
    let settings = Settings {
        idle_in_transaction_timeout: Duration::from_mins(1),
        ..Settings::new(database.service_url(None))
    };
    Database::new(&settings, Handle::current()).unwrap()
}

pub(crate) fn tenant() -> TenantId {
    "acme".parse().unwrap()
}

/// An event of the inventory's stream.
pub(crate) fn reserved(order: OrderId) -> StockReserved {
    StockReserved { order }
}

/// Writes an event and leaves the transaction open: the event has its id and is not visible.
pub(crate) async fn write(tx: &mut Tx, sequence: i64, event: &impl Event) {
    outbox::append(tx, &tenant(), sequence, event).unwrap();
    tx.flush().await.unwrap();
}

/// Appends one event and commits.
pub(crate) async fn append_one(database: &Database, sequence: i64, event: &impl Event) {
    let mut tx = database.begin().await.unwrap();
    write(&mut tx, sequence, event).await;
    tx.commit().await.unwrap();
}

pub(crate) async fn wait_for(topics: &TestTopics, stream: Stream, messages: usize) {
    eventually(&format!("{messages} messages of {stream:?}"), async || {
        (topics.count(stream).await >= messages).then_some(())
    })
    .await;
}

/// Returns the sequences of each aggregate, in the order of their first occurrence.
pub(crate) fn first_occurrences(messages: &[ReceivedMessage]) -> BTreeMap<Uuid, Vec<i64>> {
    let mut seen = BTreeSet::new();
    let mut histories: BTreeMap<Uuid, Vec<i64>> = BTreeMap::new();
    for message in messages {
        if seen.insert(text(message, header::ID)) {
            let aggregate = text(message, header::SUBJECT).parse().unwrap();
            histories.entry(aggregate).or_default().push(text(message, header::SEQUENCE).parse().unwrap());
        }
    }
    histories
}

pub(crate) fn text(message: &ReceivedMessage, header: &str) -> String {
    String::from_utf8(message.header(header).unwrap_or_else(|| panic!("no header {header}")).to_vec())
        .unwrap()
}

/// The sequences of an aggregate with this number of events.
pub(crate) fn history(length: i64) -> Vec<i64> {
    (1..=length).collect()
}

/// The rows of lease and cursor.
#[derive(Debug, PartialEq, Eq, QueryableByName)]
pub(crate) struct Progress {
    /// The epoch of the lease.
    #[diesel(sql_type = BigInt)]
    pub(crate) epoch: i64,
    #[diesel(sql_type = Text)]
    pub(crate) lease_until: String,
    #[diesel(sql_type = BigInt)]
    pub(crate) position: i64,
    #[diesel(sql_type = Text)]
    pub(crate) gaps: String,
    /// The transaction that wrote the cursor's row.
    #[diesel(sql_type = Text)]
    pub(crate) written_by: String,
}

pub(crate) async fn progress(database: &Database) -> Progress {
    let mut connection = database.connection().await.unwrap();
    diesel::sql_query(
        "SELECT l.epoch, l.lease_until::text, c.position, c.gaps::text, c.xmin::text AS written_by \
         FROM outbox_lease l, outbox_cursor c",
    )
    .get_result(&mut connection)
    .await
    .unwrap()
}

/// Returns whether the cursor has not moved yet.
pub(crate) fn is_at_the_start(progress: &Progress) -> bool {
    (progress.position, progress.gaps.as_str()) == (0, "{}")
}

/// Runs an operators' command.
pub(crate) async fn run_command(
    context: &Installation,
    words: &[&str],
) -> Result<CommandOutput, Box<dyn Error>> {
    let line = CommandLine::try_parse_from(["outbox"].iter().chain(words)).unwrap();
    line.command.run(context).await
}

/// The output of a command, with one space between words.
pub(crate) async fn text_output(context: &Installation, words: &[&str]) -> String {
    let text = run_command(context, words).await.unwrap().text;
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs a command with `--json` and returns its report.
pub(crate) async fn json_output(context: &Installation, words: &[&str]) -> Value {
    let output = run_command(context, &[words, &["--json"]].concat()).await.unwrap();
    serde_json::from_str(&output.text).unwrap()
}

#[derive(Debug, Parser)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    command: OutboxCommand,
}

pub(crate) fn context(database: &Database, topics: &TestTopics) -> Installation {
    Installation {
        database: database.clone(),
        topics: (**topics).clone(),
        consumer: None,
        brokers: Some(topics.brokers()),
        key_policy: KeyPolicy::default(),
    }
}

/// The orders of three rows whose relay was killed. The cursor has passed all of them, with two gaps.
pub(crate) struct HalfDone {
    /// Committed later, with the smallest id.
    pub(crate) late: OrderId,
    /// Published.
    pub(crate) sent: OrderId,
    /// Under way, because its topic does not exist.
    pub(crate) stuck: OrderId,
}

impl HalfDone {
    pub(crate) async fn prepare(database: &TestDatabase, topics: &TestTopics) -> Self {
        let [late, sent, stuck] = [OrderId::generate(), OrderId::generate(), OrderId::generate()];
        topics.make(&[streams::ORDERS]).await;
        let mut open = patient(database).begin().await.unwrap();
        write(&mut open, 1, &confirmed(late)).await;
        let mut both = database.begin().await.unwrap();
        write(&mut both, 1, &confirmed(sent)).await;
        write(&mut both, 1, &reserved(stuck)).await;
        both.commit().await.unwrap();

        let relay = relay(database, topics, short_lived());
        eventually("a cursor that has passed the row that is published", async || {
            (progress(database).await.gaps == "{[1,2),[3,4)}").then_some(())
        })
        .await;
        relay.kill().await;
        open.commit().await.unwrap();
        Self { late, sent, stuck }
    }
}

pub(crate) async fn rows(database: &Database) -> i64 {
    count(database, "SELECT count(*) AS count FROM outbox_event").await
}

#[derive(QueryableByName)]
pub(crate) struct Count {
    #[diesel(sql_type = BigInt)]
    pub(crate) count: i64,
}

pub(crate) async fn count(database: &Database, query: &str) -> i64 {
    let mut connection = database.connection().await.unwrap();
    let found: Count = diesel::sql_query(query).get_result(&mut connection).await.unwrap();
    found.count
}

/// Keeps the statistics, and with them the plans, as they are.
pub(crate) async fn without_autovacuum(database: &TestDatabase) {
    let each_partition = "DO $$ DECLARE part regclass; BEGIN \
        FOR part IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'outbox_event'::regclass LOOP \
            EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', part); \
        END LOOP; END $$";
    database.owner().await.batch_execute(each_partition).await.unwrap();
}

/// Inserts so many events of the orders' stream, with this time.
pub(crate) async fn fill(database: &TestDatabase, rows: i64, created_at: &str) {
    let fill = format!(
        "INSERT INTO outbox_event (event_id, topic, partition_key, aggregate_type, aggregate_id, sequence, type, source, \
         tenant_id, payload, created_at) \
         SELECT gen_random_uuid(), 'orders.events', id, 'order', id, 1, 'orders.OrderConfirmed.v1', 'orders', 'acme', '', \
                {created_at} \
         FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, {rows})) AS made"
    );
    database.owner().await.batch_execute(&fill).await.unwrap();
}

/// A pool whose sessions [`assert_each_row_was_read`] waits for. The relay reads in one session, so its statement keeps its first plan.
pub(crate) fn counted(database: &TestDatabase) -> Database {
    let url = format!("{}?application_name=counted", database.service_url(None));
    Database::new(&Settings { pool_size: 3, ..Settings::new(url) }, Handle::current()).unwrap()
}

/// Panics unless the sessions of [`counted`] read each row by an index, at most so many times, and scanned no table. A session has
/// reported all of its counters once it has ended.
pub(crate) async fn assert_each_row_was_read(
    database: &Database,
    rows: i64,
    most_reads: i64,
    scanned_by_analyze: i64,
) {
    let running = "SELECT count(*) AS count FROM pg_stat_activity \
                   WHERE datname = current_database() AND application_name = 'counted'";
    eventually("the end of the counted sessions", async || {
        (count(database, running).await == 0).then_some(())
    })
    .await;
    let entries = "SELECT sum(idx_tup_read)::bigint AS count FROM pg_stat_user_indexes WHERE relname LIKE 'outbox_event%'";
    let read = count(database, entries).await;
    let most = most_reads * rows + rows / 4;
    assert!((rows..most).contains(&read), "{read} entries for {rows} rows, at most {most}");
    let scanned = "SELECT sum(seq_tup_read)::bigint AS count FROM pg_stat_user_tables WHERE relname LIKE 'outbox_event%'";
    assert!(count(database, scanned).await <= scanned_by_analyze, "the table was scanned");
}
