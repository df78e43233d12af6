//! The tools of a step: the running parts, a client of this run's own tenant, the topics and the books.

use std::time::Duration;

use audits::Delivery;
use contracts::{Currency, Money};
use envelope::Topics;
use futures_util::future::try_join_all;
use harness::orders::{Order, place_order};
use harness::{Api, Books, Client, Endpoint, Instance, Kafka, Part, Response, Result, until};
use messaging::Brokers;
use uuid::Uuid;

use crate::stack::Stack;

/// How long an order may take when no fault is active, or a fault has just ended.
pub(crate) const LIMIT: Duration = Duration::from_secs(45);

pub(crate) const TEA: &str = "green-tea";
pub(crate) const POT: &str = "teapot";
pub(crate) const TRUFFLE: &str = "white-truffle";

/// SKU, name, price, and how many pieces are delivered.
pub(crate) const ITEMS: [(&str, &str, Money, i64); 3] = [
    (TEA, "Green tea, 100 g", Money::new(450, Currency::Eur), 100),
    (POT, "Teapot", Money::new(2990, Currency::Eur), 10),
    (TRUFFLE, "White truffle", Money::new(19_900, Currency::Eur), 1),
];

/// One run of the demo. Its tenant is new, so that the demo can be repeated.
pub(crate) struct Demo<'s> {
    pub(crate) stack: &'s Stack,
    pub(crate) api: Api<'s>,
    pub(crate) kafka: Kafka,
    pub(crate) books: Books,
    pub(crate) tenant: String,
}

impl<'s> Demo<'s> {
    pub(crate) async fn new(stack: &'s Stack) -> Result<Self> {
        let tenant = format!("demo-{}", Uuid::new_v4().simple().to_string().split_off(26));
        let platform = stack.platform.as_ref();
        // A connection for each request: the demo kills servers, and a connection that died before a request would
        // make the request fail for a reason of no interest.
        let api = client_of(stack, 0, platform.token(&tenant).await?)?;
        let topics = Topics::of(platform.deployment());
        let kafka = Kafka { brokers: Brokers::from_environment(&platform.brokers())?, topics };
        let books = Books::new(|part| Some(platform.database(part)));
        Ok(Self { stack, api, kafka, books, tenant })
    }

    /// A client with so many open connections to a part, so that as many requests arrive at the same moment. `path` is
    /// read to open them.
    pub(crate) async fn with_connections(&self, number: usize, part: Part, path: &str) -> Result<Api<'s>> {
        let api = client_of(self.stack, number, self.api.client().token().to_owned())?;
        try_join_all((0..number).map(|_| api.get(part, path))).await?;
        Ok(api)
    }

    /// Places an order for one tea.
    pub(crate) async fn order_tea(&self, reference: &str) -> Result<Order> {
        self.api.send(&place_order(&[(TEA, 1)], reference)).await?.read(201)
    }

    /// Waits until the order is confirmed or cancelled.
    pub(crate) async fn ends(&self, order: Uuid) -> Result<Order> {
        until(
            format!("order {order} is confirmed or cancelled"),
            LIMIT,
            "./dev logs, ./dev topics",
            async || {
                let order = self.api.order(order).await?;
                Ok(if order.is_open() { Err(order.outcome()) } else { Ok(order) })
            },
        )
        .await
    }

    /// Waits until the order has ended and, if confirmed, its stock has shipped: the next step then sees stable stock.
    pub(crate) async fn ships(&self, order: Uuid) -> Result<Order> {
        let ended = self.ends(order).await?;
        if ended.status == "confirmed" {
            self.reservation_becomes(order, "shipped").await?;
        }
        Ok(ended)
    }

    /// Waits until the reservation of an order has a status.
    pub(crate) async fn reservation_becomes(&self, order: Uuid, status: &str) -> Result<()> {
        let condition = format!("the reservation of {order} is {status}");
        until(condition, LIMIT, "./dev logs inventory", async || {
            let seen = self.api.reservation(order).await?;
            Ok(if seen == status { Ok(()) } else { Err(seen) })
        })
        .await
    }

    /// Waits until a separate relay of the service has taken the lease with a later epoch. Returns the relay and its epoch.
    pub(crate) async fn relay_after(&self, part: Part, epoch: i64) -> Result<(Instance, i64)> {
        let condition = format!("a relay of {} has taken the lease", part.name());
        until(condition, LIMIT, "./dev status", async || {
            let lease = self.books.lease(part).await?;
            for relay in self.stack.relays(part) {
                let process = self.stack.platform.process(relay).await?;
                if lease.epoch > epoch && process.is_some() && process == lease.process() {
                    return Ok(Ok((relay, lease.epoch)));
                }
            }
            Ok(Err(format!("{lease:?}")))
        })
        .await
    }

    /// Returns the events that the services have committed, published and consumed for this tenant.
    pub(crate) async fn delivery(&self) -> Result<Delivery> {
        self.books.delivery(&self.kafka, &self.tenant).await
    }

    /// Waits until nothing is in progress.
    pub(crate) async fn settled(&self) -> Result<()> {
        self.settled_within(LIMIT).await
    }

    /// The same, after more work than a step of the demo makes.
    pub(crate) async fn settled_within(&self, limit: Duration) -> Result<()> {
        self.books.at_rest(&self.kafka, limit).await
    }
}

fn client_of(stack: &Stack, connections: usize, token: String) -> Result<Api<'_>> {
    let endpoints = |part| {
        let endpoint = |instance| Endpoint { instance, address: stack.platform.address(instance) };
        stack.in_turn(part).into_iter().map(endpoint).collect()
    };
    Ok(Api::new(Client::new(connections, token)?, endpoints))
}

/// The response to the client that executed the command; the others are replays.
pub(crate) fn first_execution(received: &[(Response, usize)]) -> Option<&Response> {
    received.iter().map(|(response, _)| response).find(|response| !response.is_replay())
}
