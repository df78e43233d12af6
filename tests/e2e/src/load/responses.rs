//! The final responses to the customers, and the check that a replay repeats each of them.

use std::collections::{BTreeMap, BTreeSet};

use harness::orders::StoredOrder;
use harness::{Request, Response};
use serde_json::Value;
use uuid::Uuid;

use super::client::{PatientClient, UNANSWERED};

/// Every final response to the customers of one tenant.
pub struct Responses {
    tenant: String,
    given: Vec<(Request, Response)>,
    orders: Vec<Uuid>,
    refusals: BTreeMap<String, usize>,
}

impl Responses {
    /// None so far.
    pub fn of(tenant: &str) -> Self {
        Self { tenant: tenant.to_owned(), given: Vec::new(), orders: Vec::new(), refusals: BTreeMap::new() }
    }

    /// Adds the responses of another load.
    pub fn extend(&mut self, other: Self) {
        self.given.extend(other.given);
        self.orders.extend(other.orders);
        for (refusal, count) in other.refusals {
            *self.refusals.entry(refusal).or_default() += count;
        }
    }

    /// The tenant.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// Returns how often customers had to send again, by the reason: it shows that a fault had an effect.
    pub fn refusals(&self) -> &BTreeMap<String, usize> {
        &self.refusals
    }

    /// Returns how many requests were executed without a response.
    pub fn unanswered(&self) -> usize {
        self.refusals.get(UNANSWERED).copied().unwrap_or_default()
    }

    /// Places an order; returns its id.
    pub(super) async fn place(&mut self, client: &PatientClient, request: Request) -> Uuid {
        let id = id_of(&self.send(client, request, &[201]).await.json());
        self.orders.push(id);
        id
    }

    /// Cancels an order, or is too late.
    pub(super) async fn cancel(&mut self, client: &PatientClient, request: Request) {
        self.send(client, request, &[200, 409]).await;
    }

    /// Sends a request until its response is final; panics at another status.
    pub(crate) async fn send(
        &mut self,
        client: &PatientClient,
        request: Request,
        expected: &[u16],
    ) -> Response {
        let response = client.send(&request, &mut self.refusals).await;
        let status = response.status;
        assert!(expected.contains(&status), "{request:?}: {status} {}", response.json());
        self.given.push((request, response.clone()));
        response
    }

    /// Returns the orders that are missing, that no response named, or that have not ended.
    pub(crate) fn violations(&self, orders: &[StoredOrder]) -> Vec<String> {
        let promised: BTreeSet<Uuid> = self.orders.iter().copied().collect();
        let own = orders.iter().filter(|order| order.tenant_id == self.tenant);
        let kept: BTreeMap<Uuid, &str> = own.map(|order| (order.id, order.state.as_str())).collect();
        let lost = promised.iter().filter(|id| !kept.contains_key(*id));
        let mut found: Vec<String> =
            lost.map(|id| format!("order {id} was accepted, and is not in the database")).collect();
        for (id, state) in &kept {
            if !promised.contains(id) {
                found.push(format!("order {id} is {state}, and no response named it"));
            }
            if !["confirmed", "cancelled"].contains(state) {
                found.push(format!("order {id} is {state}"));
            }
        }
        found
    }

    /// Sends every request again: each response must repeat the first one byte for byte.
    pub(super) async fn replay(&self, client: &PatientClient) {
        let mut refusals = BTreeMap::new();
        for (request, response) in &self.given {
            let again = client.send(request, &mut refusals).await;
            assert_eq!(again.stored_part(), response.stored_part(), "another response to {request:?}");
        }
    }
}

fn id_of(view: &Value) -> Uuid {
    view["id"].as_str().and_then(|id| id.parse().ok()).unwrap_or_else(|| panic!("no id: {view}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(id: u128, state: &str) -> StoredOrder {
        let (tenant_id, currency) = ("t".to_owned(), "EUR".to_owned());
        StoredOrder {
            id: Uuid::from_u128(id),
            tenant_id,
            state: state.to_owned(),
            amount: 450,
            currency,
            payment_id: None,
        }
    }

    #[test]
    fn lost_unrequested_and_open_orders_are_violations() {
        let mut responses = Responses::of("t");
        responses.orders = vec![Uuid::from_u128(1), Uuid::from_u128(2)];
        let ended = || vec![order(1, "confirmed"), order(2, "cancelled")];
        assert_eq!(responses.violations(&ended()), Vec::<String>::new());
        assert_eq!(responses.violations(&ended()[1..]).len(), 1, "lost");
        assert_eq!(
            responses.violations(&[ended(), vec![order(3, "confirmed")]].concat()).len(),
            1,
            "unasked for"
        );
        assert_eq!(responses.violations(&[order(1, "pending"), order(2, "cancelled")]).len(), 1, "open");
    }
}
