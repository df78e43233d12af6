//! The questions to one database at a time.

use diesel::QueryableByName;
use diesel::pg::Pg;
use diesel::sql_types::Text;
use diesel_async::{AsyncConnectionCore, RunQueryDsl};

/// A database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Database {
    /// Orders.
    Orders,
    /// Items and stock.
    Inventory,
    /// Money in our books.
    Payments,
    /// Money in the processor's own books.
    Provider,
}

impl Database {
    /// All databases.
    pub const ALL: [Self; 4] = [Self::Orders, Self::Inventory, Self::Payments, Self::Provider];
    /// The databases of services, with an outbox and an inbox.
    pub const SERVICES: [Self; 3] = [Self::Orders, Self::Inventory, Self::Payments];

    /// The name of the database and of its part.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Orders => "orders",
            Self::Inventory => "inventory",
            Self::Payments => "payments",
            Self::Provider => "provider",
        }
    }
}

/// A question to a database.
pub struct Question {
    /// Its file, below `audits/`.
    pub file: &'static str,
    /// The databases that get the question.
    pub of: &'static [Database],
    query: &'static str,
}

macro_rules! questions {
    ($($of:expr => [$($file:literal),* $(,)?]),* $(,)?) => {
        &[$($(Question { file: $file, of: $of, query: include_str!(concat!("../", $file)) }),*),*]
    };
}

/// All questions.
pub const ALL: &[Question] = questions! {
    &Database::SERVICES => [
        "reliability/a_key_is_used_once.sql",
        "reliability/a_response_is_kept.sql",
        "reliability/a_stored_response_agrees_with_its_operation.sql",
        "reliability/a_command_has_one_fact.sql",
        "reliability/a_history_has_no_gap.sql",
        "reliability/an_event_is_announced_once.sql",
        "reliability/what_was_committed_is_published.sql",
        "reliability/a_message_is_applied_once.sql",
        "reliability/nothing_waits_in_the_inbox.sql",
    ],
    &[Database::Orders] => [
        "orders/an_order_was_placed_once.sql",
        "orders/an_order_ends_in_time.sql",
        "orders/an_order_announces_its_states.sql",
        "orders/an_order_has_its_timeline.sql",
    ],
    &[Database::Inventory] => [
        "inventory/stock_is_conserved.sql",
        "inventory/a_reservation_ships_what_it_held.sql",
        "inventory/a_price_change_has_one_fact.sql",
        "inventory/tenants_stay_apart.sql",
    ],
    &[Database::Payments] => [
        "payments/refunds_stay_within_the_capture.sql",
        "payments/a_cancelled_order_keeps_no_money.sql",
        "payments/a_call_belongs_to_one_command.sql",
        "payments/money_is_settled.sql",
        "payments/a_command_ends_as_its_money_did.sql",
        "payments/a_resolved_review_has_its_fact.sql",
        "payments/the_ledger_sums_to_zero.sql",
        "payments/the_ledger_says_what_happened.sql",
        "payments/balances_are_the_sums_of_the_ledger.sql",
        "payments/clearing_is_empty_for_a_settled_order.sql",
    ],
    &[Database::Provider] => [
        "provider/a_payment_is_charged_once.sql",
        "provider/refunds_stay_within_the_charge.sql",
        "provider/the_balance_holds_every_movement.sql",
        "provider/every_change_has_its_event.sql",
    ],
};

/// The folder of the questions about the tables that every service has.
const OF_EVERY_SERVICE: &str = "reliability/";

/// The questions about the database of a service: those about the tables that every service has, and its own.
pub fn of_service(name: &str) -> impl Iterator<Item = &'static Question> {
    ALL.iter().filter(move |question| {
        question.file.starts_with(OF_EVERY_SERVICE) || question.of.iter().any(|of| of.name() == name)
    })
}

impl Question {
    /// The violations, in sentences; empty if the promise holds.
    ///
    /// # Errors
    /// The query fails.
    pub async fn ask<C>(&self, connection: &mut C) -> diesel::QueryResult<Vec<String>>
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
    pub fn invariant(&self) -> &'static str {
        let name = self.file.rsplit('/').next().unwrap_or(self.file);
        name.strip_suffix(".sql").unwrap_or(name)
    }

    /// The promise that the question asks about: the first line of its file, such as `Promise 5: stock is conserved and never
    /// negative.`
    pub fn promise(&self) -> &'static str {
        self.query.lines().next().unwrap_or_default().trim_start_matches("-- ")
    }

    /// The SQL text.
    pub const fn query(&self) -> &'static str {
        self.query
    }

    /// The command that asks the question.
    pub fn command(&self, database: Database) -> String {
        format!("./dev psql {} <audits/{}", database.name(), self.file)
    }
}

/// All questions as text, each behind its commands.
pub fn as_commands() -> String {
    let mut text = String::new();
    for question in ALL {
        for database in question.of {
            text.extend(["# ", &question.command(*database), "\n"]);
        }
        text.push_str(question.query);
        text.push('\n');
    }
    text
}
