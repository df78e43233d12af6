//! A client of one tenant: puts items on sale, orders, cancels, reads. Every failure panics.

use contracts::{Currency, Money};
use harness::inventory::put_item;
use harness::orders::{Order, place_order};
use harness::{Api, Client, Endpoint, Part, Request, Response};
use testkit::{eventually, identity};
use uuid::Uuid;

use crate::Stack;

/// The item that [`Customer::stocked`] puts on sale.
pub const TEA: &str = "TEA";

/// A client with all scopes. Its requests go to the first instance of each service.
pub struct Customer {
    tenant: String,
    /// The programs, for requests whose response the test judges.
    pub api: Api<'static>,
}

impl Customer {
    /// A customer of this stack, with a new tenant.
    pub fn of(stack: &Stack) -> Self {
        let tenant = format!("t-{}", Uuid::new_v4().simple());
        let token = identity::token(&tenant, "e2e", &services::scopes());
        let endpoints = Part::PROGRAMS.map(|part| {
            let instance = part.instance(1);
            Endpoint { instance, address: stack.address(&instance.to_string()) }
        });
        let route = move |part| endpoints.iter().filter(|it| it.instance.part == part).cloned().collect();
        Self { tenant, api: Api::new(Client::new(usize::MAX, token).unwrap(), route) }
    }

    /// A customer whose shop has so many pieces of TEA at 4.50 EUR.
    pub async fn stocked(stack: &Stack, pieces: i64) -> Self {
        let customer = Self::of(stack);
        let put = customer.send(&put_item(TEA, TEA, Money::new(450, Currency::Eur))).await;
        assert!([200, 201].contains(&put.status), "{}", put.json());
        customer.api.deliver(TEA, pieces).await.unwrap();
        customer
    }

    /// The bearer token.
    pub fn token(&self) -> &str {
        self.api.client().token()
    }

    /// The tenant.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// Sends a request that must get a response.
    pub async fn send(&self, request: &Request) -> Response {
        self.api.send(request).await.unwrap()
    }

    /// An order.
    pub async fn order(&self, id: Uuid) -> Order {
        self.api.order(id).await.unwrap()
    }

    /// An order for TEA under a new key, not yet sent.
    pub fn tea(&self, pieces: i64) -> Request {
        place_order(&[(TEA, pieces)], "")
    }

    /// Places an order for TEA; returns its id. Sends again until the catalogue of orders knows TEA.
    pub async fn places(&self, pieces: i64) -> Uuid {
        self.sends(&self.tea(pieces)).await
    }

    /// Sends an order until the catalogue of orders knows its items; returns its id.
    pub async fn sends(&self, request: &Request) -> Uuid {
        let accepted = eventually("the order is accepted", async || {
            Some(self.send(request).await).filter(|response| response.status != 422)
        });
        accepted.await.read::<Order>(201).unwrap().id
    }

    /// Places an order for TEA, and waits until it is confirmed.
    pub async fn buys(&self, pieces: i64) -> Order {
        let order = self.places(pieces).await;
        self.sees(order, "confirmed").await
    }

    /// Waits until an order has this outcome, such as `confirmed` or `cancelled/expired`; returns the order.
    pub async fn sees(&self, id: Uuid, outcome: &str) -> Order {
        eventually(&format!("order {id} is {outcome}"), async || {
            Some(self.order(id).await).filter(|order| order.outcome() == outcome)
        })
        .await
    }
}
