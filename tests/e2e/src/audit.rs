//! The audit after a test: once nothing is in progress, every promise is checked in the databases and on the topics.

use crate::{Responses, Stack};

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
        let orders = books.orders().await.unwrap();
        found.extend(responses.violations(&orders));
        found.extend(books.left_over(responses.tenant()).await.unwrap());
        let delivery = books.delivery(&self.kafka(), responses.tenant()).await.unwrap();
        found.extend([delivery.unpublished(), delivery.disordered(), delivery.unconsumed()].concat());
        let own = orders.iter().filter(|order| order.tenant_id == responses.tenant());
        let (confirmed, cancelled): (Vec<_>, Vec<_>) = own.partition(|order| order.state == "confirmed");
        println!(
            "{} orders are confirmed, {} cancelled; {} messages, {} of them repeats; refusals: {:?}",
            confirmed.len(),
            cancelled.len(),
            delivery.messages(),
            delivery.repeats(),
            responses.refusals()
        );
        assert!(found.is_empty(), "{} violations:\n  {}", found.len(), found.join("\n  "));
    }
}
