//! What customers were told, and whether they were told the same whenever they asked.

use std::collections::{BTreeMap, BTreeSet};

use audits::Order;
use serde_json::Value;

use super::client::{Answer, Client, Intent, UNANSWERED};
use crate::customer::id_of;

/// Every answer that a tenant's customers got.
pub struct Answers {
    tenant: String,
    given: Vec<(Intent, Answer)>,
    orders: Vec<String>,
    refusals: BTreeMap<String, usize>,
}

impl Answers {
    /// None so far.
    pub fn of(tenant: &str) -> Self {
        Self { tenant: tenant.to_owned(), given: Vec::new(), orders: Vec::new(), refusals: BTreeMap::new() }
    }

    /// Those of another time, too.
    pub fn extend(&mut self, other: Self) {
        self.given.extend(other.given);
        self.orders.extend(other.orders);
        for (refusal, count) in other.refusals {
            *self.refusals.entry(refusal).or_default() += count;
        }
    }

    /// Whose they are.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// The ids of the orders that were accepted.
    pub fn orders(&self) -> &[String] {
        &self.orders
    }

    /// How often customers were sent away to come again, by the reason: it shows that a fault was felt.
    pub fn refusals(&self) -> &BTreeMap<String, usize> {
        &self.refusals
    }

    /// How many requests were carried out and never answered, until they were sent again.
    pub fn unanswered(&self) -> usize {
        self.refusals.get(UNANSWERED).copied().unwrap_or_default()
    }

    /// Places an order; returns its id.
    pub(super) async fn place(&mut self, client: &Client, intent: Intent) -> String {
        let answer = client.send(&intent, &mut self.refusals).await;
        assert_eq!(answer.status, 201, "{intent:?}: {}", answer.json());
        let id = id_of(&answer.json());
        self.given.push((intent, answer));
        self.orders.push(id.clone());
        id
    }

    /// Cancels an order, or is too late.
    pub(super) async fn cancel(&mut self, client: &Client, intent: Intent) {
        let answer = client.send(&intent, &mut self.refusals).await;
        assert!([200, 409].contains(&answer.status), "{intent:?}: {} {}", answer.status, answer.json());
        self.given.push((intent, answer));
    }

    /// Buys something, or is declined; returns the payment, if money was taken.
    pub(super) async fn buy(&mut self, client: &Client, intent: Intent) -> Option<String> {
        let view = self.pay(client, intent, &[201, 202, 402]).await;
        (view["status"] == "captured").then(|| id_of(&view))
    }

    /// Has a part of it given back.
    pub(super) async fn give_back(&mut self, client: &Client, intent: Intent) {
        let view = self.pay(client, intent, &[201, 202]).await;
        assert_eq!(view["status"], "succeeded", "{view}");
    }

    /// Sends what moves money, and waits until it is known whether it has.
    async fn pay(&mut self, client: &Client, intent: Intent, expected: &[u16]) -> Value {
        let answer = client.send(&intent, &mut self.refusals).await;
        assert!(expected.contains(&answer.status), "{intent:?}: {} {}", answer.status, answer.json());
        let view = match (answer.status, answer.headers.get("location")) {
            (202, Some(operation)) => client.outcome(operation).await,
            _ => answer.json(),
        };
        self.given.push((intent, answer));
        view
    }

    /// What does not agree with them: orders that nobody was told of, orders that were told of and are not there, and
    /// orders that have not ended.
    pub(crate) fn faults(&self, orders: &[Order]) -> Vec<String> {
        let promised: BTreeSet<&str> = self.orders.iter().map(String::as_str).collect();
        let own = orders.iter().filter(|order| order.tenant_id == self.tenant);
        let kept: BTreeMap<String, &str> =
            own.map(|order| (order.id.to_string(), order.state.as_str())).collect();
        let lost = promised.iter().filter(|id| !kept.contains_key(**id));
        let mut found: Vec<String> =
            lost.map(|id| format!("order {id} was promised, and is not there")).collect();
        for (id, state) in &kept {
            if !promised.contains(id.as_str()) {
                found.push(format!("order {id} is {state}, and nobody was told of it"));
            }
            if !["confirmed", "cancelled"].contains(state) {
                found.push(format!("order {id} is {state}"));
            }
        }
        found
    }

    /// Sends every request once more: each answer must be the one that was given, to the byte.
    pub(super) async fn ask_again(&self, client: &Client) {
        let mut refusals = BTreeMap::new();
        for (intent, answer) in &self.given {
            let again = client.send(intent, &mut refusals).await;
            assert_eq!(&again, answer, "another answer to {intent:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn order(id: u128, state: &str) -> Order {
        let (tenant_id, currency) = ("t".to_owned(), "EUR".to_owned());
        Order {
            id: Uuid::from_u128(id),
            tenant_id,
            state: state.to_owned(),
            amount: 450,
            currency,
            payment_id: None,
        }
    }

    #[test]
    fn orders_that_are_lost_unasked_for_or_open_are_seen() {
        let mut answers = Answers::of("t");
        answers.orders = vec![Uuid::from_u128(1).to_string(), Uuid::from_u128(2).to_string()];
        let ended = || vec![order(1, "confirmed"), order(2, "cancelled")];
        assert_eq!(answers.faults(&ended()), Vec::<String>::new());
        assert_eq!(answers.faults(&ended()[1..]).len(), 1, "lost");
        assert_eq!(answers.faults(&[ended(), vec![order(3, "confirmed")]].concat()).len(), 1, "unasked for");
        assert_eq!(answers.faults(&[order(1, "pending"), order(2, "cancelled")]).len(), 1, "open");
    }
}
