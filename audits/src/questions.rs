//! The questions to one database at a time.

use diesel::QueryableByName;
use diesel::pg::Pg;
use diesel::sql_types::Text;
use diesel_async::{AsyncConnectionCore, RunQueryDsl};

/// The database of a service, or of a program beside one. It has the name of its program's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Database(&'static str);

impl Database {
    /// Orders.
    pub const ORDERS: Self = Self("orders");

    /// The database of this name.
    pub const fn of(name: &'static str) -> Self {
        Self(name)
    }

    /// The databases of services, with an outbox and an inbox.
    pub fn services() -> impl Iterator<Item = Self> + Clone {
        services::ALL.iter().map(|service| Self(service.name))
    }

    /// All databases.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        Self::services().chain(Self::beside())
    }

    /// The databases of the programs beside services, which stand for other systems.
    pub fn beside() -> impl Iterator<Item = Self> + Clone {
        services::BESIDE.iter().map(|program| Self(program.name))
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        self.0
    }
}

/// A question to a database.
#[derive(Clone, Copy)]
pub struct Question {
    /// Its file.
    pub file: &'static str,
    /// The database that gets the question; none if each service's does.
    pub of: Option<Database>,
    query: &'static str,
}

macro_rules! questions {
    ($of:expr, $($file:literal),* $(,)?) => {
        [$(Question { file: concat!("audits/", $file), of: $of, query: include_str!(concat!("../", $file)) }),*]
    };
}

/// The questions about the tables that every service has.
const OF_EVERY_SERVICE: [Question; 10] = questions!(
    None,
    "reliability/a_key_is_used_once.sql",
    "reliability/no_command_follows_a_fence.sql",
    "reliability/a_response_is_kept.sql",
    "reliability/a_stored_response_agrees_with_its_operation.sql",
    "reliability/a_command_has_one_fact.sql",
    "reliability/a_history_has_no_gap.sql",
    "reliability/an_event_is_announced_once.sql",
    "reliability/what_was_committed_is_published.sql",
    "reliability/a_message_is_applied_once.sql",
    "reliability/nothing_waits_in_the_inbox.sql",
);

/// All questions.
pub fn all() -> impl Iterator<Item = Question> {
    let own = services::ALL.iter().map(|service| (service.name, service.audits));
    let beside = services::BESIDE.iter().map(|program| (program.name, program.audits));
    let own = own.chain(beside).flat_map(|(name, audits)| {
        let of = Some(Database(name));
        audits.iter().map(move |&(file, query)| Question { file, of, query })
    });
    OF_EVERY_SERVICE.into_iter().chain(own)
}

/// The questions about the database of a service: those about the tables that every service has, and its own.
pub fn of_service(name: &str) -> impl Iterator<Item = Question> {
    all().filter(move |question| question.of.is_none_or(|of| of.name() == name))
}

impl Question {
    /// Returns whether this database gets the question.
    pub fn is_asked_of(self, database: Database) -> bool {
        self.of.map_or_else(|| Database::services().any(|it| it == database), |of| database == of)
    }

    /// The violations, in sentences; empty if the promise holds.
    ///
    /// # Errors
    /// The query fails.
    pub async fn ask<C>(self, connection: &mut C) -> diesel::QueryResult<Vec<String>>
    where
        C: AsyncConnectionCore<Backend = Pg>,
    {
        #[derive(QueryableByName)]
        struct Violation {
            // Not nullable: format() with a NULL would otherwise hide a violation.
            #[diesel(sql_type = Text)]
            violation: String,
        }
        let found: Vec<Violation> = diesel::sql_query(self.query).load(connection).await?;
        Ok(found.into_iter().map(|row| row.violation).collect())
    }

    /// The name of the file without folder and suffix, such as `an_order_ends_in_time`.
    pub fn invariant(self) -> &'static str {
        let name = self.file.rsplit('/').next().unwrap_or(self.file);
        name.strip_suffix(".sql").unwrap_or(name)
    }

    /// The promise that the question asks about: the first line of its file, such as `Promise 5: stock is conserved and never
    /// negative.`
    pub fn promise(self) -> &'static str {
        self.query.lines().next().unwrap_or_default().trim_start_matches("-- ")
    }

    /// The SQL text.
    pub const fn query(self) -> &'static str {
        self.query
    }

    /// The command that asks the question.
    pub fn command(self, database: Database) -> String {
        format!("./dev psql {} <{}", database.name(), self.file)
    }
}

/// All questions as text, each behind its commands.
pub fn as_commands() -> String {
    let mut text = String::new();
    for question in all() {
        for database in Database::all().filter(|it| question.is_asked_of(*it)) {
            text.extend(["# ", &question.command(database), "\n"]);
        }
        text.push_str(question.query);
        text.push('\n');
    }
    text
}
