//! Everything that must be true once nothing is under way, asked of the databases and the topics.

use std::collections::BTreeMap;

use audits::{
    BooksAgree, Charge, Database, Delivery, Entered, Order, Payment, Reservation, Row, Said, Settlement,
    Standing,
};
use contracts::Stream;
use diesel::sql_query;
use diesel::sql_types::Text;

use crate::{Answers, Stack};

/// What nobody is told of by itself once nothing is under way: money of which nobody knows, and what waits for people.
const UNSETTLED: [(&str, &str); 3] = [
    (
        "payments are not settled",
        "SELECT count(*) FROM payment WHERE state IN ('requested', 'capturing', 'unknown')",
    ),
    ("refunds are not settled", "SELECT count(*) FROM refund WHERE state IN ('pending', 'unknown')"),
    ("reviews are open", "SELECT count(*) FROM review WHERE resolution IS NULL"),
];

impl Stack {
    /// Waits until nothing is under way, and then fails unless every question of `audits/` finds nothing, every
    /// order was settled, every message was told and heard once and in order, and the orders are exactly those that
    /// the client was told of.
    pub async fn audited(&self, answers: &Answers) {
        self.at_rest().await;
        let mut found = Vec::new();
        for question in audits::ALL {
            for database in question.of {
                let mut owner = self.database(database.name()).owner().await;
                let violations = question.ask(&mut owner).await.unwrap();
                found.extend(
                    violations.into_iter().map(|it| format!("{} ({}): {it}", question.file, database.name())),
                );
            }
        }
        let orders: Vec<Order> = self.load("orders", sql_query(Order::QUERY)).await;
        found.extend(answers.faults(&orders));
        let settlement = self.settlement(orders).await;
        found.extend(settlement.violations());
        let sum = settlement.sum(answers.tenant());
        if sum.captures != sum.confirmed || sum.taken - sum.refunded != sum.owed {
            found.push(format!("the sums do not agree: {sum:?}"));
        }
        let ledger: Vec<Standing> = self.load("payments", sql_query(Standing::LEDGER)).await;
        let balance: Vec<Standing> = self.load("provider", sql_query(Standing::BALANCE)).await;
        found.extend(BooksAgree::of(ledger, balance).violations());
        for (what, sql) in UNSETTLED {
            let number = self.count("payments", sql).await;
            found.extend((number > 0).then(|| format!("{number} {what}")));
        }
        let delivery = self.delivery(answers.tenant()).await;
        found.extend(delivery.unpublished());
        found.extend(delivery.disordered());
        found.extend(delivery.unheard());
        println!(
            "{} orders: {} confirmed, {} cancelled; {} messages, {} of them repeats; sent away: {:?}",
            sum.orders,
            sum.confirmed,
            sum.cancelled,
            delivery.messages(),
            delivery.repeats(),
            answers.refusals()
        );
        assert!(found.is_empty(), "{} violations:\n  {}", found.len(), found.join("\n  "));
    }

    async fn settlement(&self, orders: Vec<Order>) -> Settlement {
        let reservations: Vec<Reservation> = self.load("inventory", sql_query(Reservation::QUERY)).await;
        let payments: Vec<Payment> = self.load("payments", sql_query(Payment::QUERY)).await;
        let charges: Vec<Charge> = self.load("provider", sql_query(Charge::QUERY)).await;
        Settlement::of(orders, reservations, payments, charges)
    }

    async fn delivery(&self, tenant: &str) -> Delivery {
        let (mut rows, mut said, mut entered) = (Vec::<Row>::new(), Vec::new(), BTreeMap::new());
        for database in Database::SERVICES {
            let query = sql_query(Row::QUERY).bind::<Text, _>(tenant.to_owned());
            rows.extend(self.load::<Row, _>(database.name(), query).await);
            let heard: Vec<Entered> = self.load(database.name(), sql_query(Entered::QUERY)).await;
            entered.insert(database, heard.into_iter().map(|row| row.message_id).collect());
        }
        for stream in Stream::ALL {
            let messages = self.topics().messages(stream).await;
            said.extend(messages.into_iter().map(|message| Said::read(stream, message).unwrap()));
        }
        said.retain(|message: &Said| message.envelope.tenant.as_str() == tenant);
        Delivery::of(rows, said, entered)
    }
}
