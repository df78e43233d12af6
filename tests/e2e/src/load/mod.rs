//! Load: customers who keep each key and send the same request again until the response is final. They remember every
//! response, because a replay must repeat it byte for byte.

mod client;
mod responses;

use std::time::Duration;

use harness::Endpoint;
use harness::orders::{cancel_order, place_order};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub(crate) use client::PatientClient;
pub use responses::Responses;

use crate::{Customer, TEA, of_services};

/// The pause between two orders of one customer.
const PAUSE: Duration = Duration::from_millis(100);

/// Customers at work, until they are stopped.
pub struct Load {
    tenant: String,
    client: PatientClient,
    stop: CancellationToken,
    customers: JoinSet<Responses>,
}

impl Load {
    /// So many customers of one tenant, who send orders to these instances in turn.
    pub fn start(customer: &Customer, endpoints: &[Endpoint], customers: usize) -> Self {
        Self::with_others(customer, endpoints, customers, 0)
    }

    /// The same, and so many customers of other services, who send to their instances among these.
    pub fn with_others(customer: &Customer, endpoints: &[Endpoint], customers: usize, others: usize) -> Self {
        let client = PatientClient::new(customer.api.client().clone(), endpoints);
        Self::with_client(customer, client, [customers, others], false)
    }

    /// Customers who wait for the end of each order before they place the next one, so that the number of open orders has a
    /// limit; and one customer of other services.
    pub fn of_waiting_customers(customer: &Customer, endpoints: &[Endpoint], customers: usize) -> Self {
        let client = PatientClient::new(customer.api.client().clone(), endpoints);
        Self::with_client(customer, client, [customers, 1], true)
    }

    /// Three customers, and two of other services, who follow `Retry-After`, and panic if they are refused again after it.
    pub fn following_retry_after(customer: &Customer, endpoints: &[Endpoint]) -> Self {
        let client = PatientClient::new(customer.api.client().clone(), endpoints);
        Self::with_client(customer, client.following_retry_after(), [3, 2], false)
    }

    fn with_client(
        customer: &Customer,
        client: PatientClient,
        [customers, others]: [usize; 2],
        waiting: bool,
    ) -> Self {
        let (tenant, stop) = (customer.tenant().to_owned(), CancellationToken::new());
        let mut load = Self { tenant, client, stop, customers: JoinSet::new() };
        for _ in 0..customers {
            load.customers.spawn(order(load.tenant.clone(), load.client.clone(), load.stop.clone(), waiting));
        }
        for _ in 0..others {
            of_services::spawn_customers(&load.tenant, &load.client, &load.stop, &mut load.customers);
        }
        load
    }

    /// Waits until each customer who was told to come again has done so. A rolling restart goes on to the next instance after that:
    /// otherwise a customer could meet one starting instance after the other.
    pub async fn came_again(&self) {
        self.client.came_again().await;
    }

    /// Lets each customer finish what it began, and then sends every request again. All programs must run again.
    pub async fn stop(mut self) -> Responses {
        let responses = self.finish().await;
        self.replay(&responses).await;
        responses
    }

    /// Lets each customer finish what it began.
    pub async fn finish(&mut self) -> Responses {
        self.stop.cancel();
        let mut responses = Responses::of(&self.tenant);
        while let Some(more) = self.customers.join_next().await {
            responses.extend(more.unwrap());
        }
        responses
    }

    /// Sends every request again: each response must repeat the first one byte for byte.
    pub async fn replay(&self, responses: &Responses) {
        responses.replay(&self.client).await;
    }
}

/// Places orders, and cancels every fifth at once.
async fn order(tenant: String, client: PatientClient, stop: CancellationToken, waiting: bool) -> Responses {
    let mut responses = Responses::of(&tenant);
    let pieces = [1, 2];
    for number in 1_usize.. {
        if stop.is_cancelled() {
            break;
        }
        let request = of_services::vary(place_order(&[(TEA, pieces[number % 2])], ""), number);
        let order = responses.place(&client, request).await;
        if number.is_multiple_of(5) {
            responses.cancel(&client, cancel_order(order)).await;
        }
        if waiting {
            let _ = stop.run_until_cancelled(client.end_of(order)).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
    responses
}
