//! The audit after a test: once nothing is in progress, every promise is checked in the databases and on the topics.

use harness::Part;

use crate::{Responses, Stack};

/// Open money that no question of `audits/` reports before a minute has passed.
const UNSETTLED: [(&str, &str); 3] = [
    (
        "payments are not settled",
        "SELECT count(*) FROM payment WHERE state IN ('requested', 'capturing', 'unknown')",
    ),
    ("refunds are not settled", "SELECT count(*) FROM refund WHERE state IN ('pending', 'unknown')"),
    ("reviews are open", "SELECT count(*) FROM review WHERE resolution IS NULL"),
];

impl Stack {
    /// Waits until nothing is in progress. Then panics unless no question of `audits/` finds a violation, every order is
    /// settled, every message was published and consumed once and in order, and the orders are exactly those that the
    /// responses to clients named.
    pub async fn audited(&self, responses: &Responses) {
        self.at_rest().await;
        let books = self.books();
        let mut found = Vec::new();
        for asked in books.audit().await {
            let names: Vec<&str> = asked.databases.iter().map(|database| database.name()).collect();
            let described = |it| format!("{} ({}): {it}", asked.question, names.join(", "));
            found.extend(asked.found().unwrap().iter().map(described));
        }
        found.extend(responses.violations(&books.orders().await.unwrap()));
        let sum = books.settlement().await.unwrap().sum(responses.tenant());
        if sum.captures != sum.confirmed || sum.taken - sum.refunded != sum.owed {
            found.push(format!("the sums do not agree: {sum:?}"));
        }
        for (what, sql) in UNSETTLED {
            let number = self.count(Part::PAYMENTS, sql).await;
            found.extend((number > 0).then(|| format!("{number} {what}")));
        }
        let delivery = books.delivery(&self.kafka(), responses.tenant()).await.unwrap();
        found.extend([delivery.unpublished(), delivery.disordered(), delivery.unconsumed()].concat());
        println!(
            "{} orders: {} confirmed, {} cancelled; {} messages, {} of them repeats; refusals: {:?}",
            sum.orders,
            sum.confirmed,
            sum.cancelled,
            delivery.messages(),
            delivery.repeats(),
            responses.refusals()
        );
        assert!(found.is_empty(), "{} violations:\n  {}", found.len(), found.join("\n  "));
    }
}
