//! The operators' commands, parsed and run without a process.

use std::error::Error;

use clap::Parser;
use database::Database;
use diesel::prelude::*;
use diesel::sql_types::{Jsonb, Text};
use diesel_async::RunQueryDsl;
use idempotency::KeyPolicy;
use inbox::Consumer;
use operators::{CommandOutput, InboxCommand, Installation, OperatorCommand};
use serde_json::Value;
use testkit::TestTopics;

#[derive(Parser)]
struct CommandLine {
    #[command(subcommand)]
    command: InboxCommand,
}

/// The command line of a service with this consumer.
pub(crate) struct Operator {
    context: Installation,
}

impl Operator {
    pub(crate) fn new(database: &Database, topics: &TestTopics, consumer: Consumer) -> Self {
        let (database, brokers) = (database.clone(), Some(topics.brokers()));
        let (topics, consumer, key_policy) = ((**topics).clone(), Some(consumer), KeyPolicy::default());
        Self { context: Installation { database, topics, consumer, brokers, key_policy } }
    }

    /// Runs `SERVICE inbox LINE`. Returns its text output.
    pub(crate) async fn types(&self, line: &str) -> CommandOutput {
        self.tries(line).await.unwrap()
    }

    /// Runs the command. Returns its output or error.
    pub(crate) async fn tries(&self, line: &str) -> Result<CommandOutput, Box<dyn Error>> {
        let words = std::iter::once("inbox").chain(line.split_whitespace());
        let command = CommandLine::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).command;
        command.run(&self.context).await
    }

    /// Runs a command that changes something. Returns its JSON output.
    pub(crate) async fn does(&self, line: &str) -> (bool, Value) {
        self.asks(&format!("{line} --by kim --reason fixed")).await
    }

    /// Runs a command that only reads. Returns its JSON output.
    pub(crate) async fn asks(&self, line: &str) -> (bool, Value) {
        let CommandOutput { text, done } = self.types(&format!("{line} --json")).await;
        (done, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")))
    }
}

/// An audit fact.
#[derive(Debug, QueryableByName)]
pub(crate) struct Fact {
    #[diesel(sql_type = Text)]
    pub(crate) tenant_id: String,
    #[diesel(sql_type = Text)]
    pub(crate) actor: String,
    #[diesel(sql_type = Text)]
    pub(crate) action: String,
    #[diesel(sql_type = Text)]
    pub(crate) subject_id: String,
    #[diesel(sql_type = Jsonb)]
    pub(crate) details: Value,
}

/// Returns all facts, in the order of recording.
pub(crate) async fn facts(database: &Database) -> Vec<Fact> {
    let sql = "SELECT tenant_id, actor, action, subject_id, details FROM audit_fact ORDER BY recorded_at";
    diesel::sql_query(sql).load(&mut database.connection().await.unwrap()).await.unwrap()
}

/// Panics if an SQL audit finds a violation.
pub(crate) async fn audited(database: &Database) {
    #[derive(QueryableByName)]
    struct Violation {
        #[diesel(sql_type = Text)]
        violation: String,
    }
    for audit in [
        include_str!("../../../../../audits/reliability/a_history_has_no_gap.sql"),
        include_str!("../../../../../audits/reliability/a_message_is_applied_once.sql"),
        include_str!("../../../../../audits/reliability/an_event_is_announced_once.sql"),
        include_str!("../../../../../audits/reliability/a_command_has_one_fact.sql"),
    ] {
        let mut connection = database.connection().await.unwrap();
        let sql = diesel::sql_query(audit.trim_end().trim_end_matches(';'));
        let found: Vec<Violation> = sql.load(&mut connection).await.unwrap();
        let found: Vec<String> = found.into_iter().map(|row| row.violation).collect();
        assert!(found.is_empty(), "{found:#?}");
    }
}
