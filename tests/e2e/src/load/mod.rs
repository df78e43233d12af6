//! Customers who do not give up: each keeps its key and sends the same request again until it is told what became of
//! it, and remembers every answer, because a second one must be the same to the byte.

mod answers;
mod client;

use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use answers::Answers;
use client::{Client, Intent};

use crate::Customer;

/// Between two orders of one customer.
const PACE: Duration = Duration::from_millis(100);

/// In turn: most are paid, some are declined, some are charged without a reply.
const CARDS: [&str; 6] = [
    "pm_card_visa",
    "pm_card_visa",
    "pm_card_visa_chargeDeclined",
    "pm_card_visa",
    "pm_card_idem_charged_no_reply",
    "pm_card_visa",
];

/// What a purchase without an order costs, and what is given back of it at a time.
const PRICE: i64 = 1200;
const PART: i64 = 500;

/// Customers at work, until they are stopped.
pub struct Load {
    tenant: String,
    client: Client,
    stop: CancellationToken,
    customers: JoinSet<Answers>,
}

impl Load {
    /// So many customers of one tenant, who turn to these instances of `orders` in turn.
    pub fn start(customer: &Customer, orders: &[String], customers: usize) -> Self {
        Self::with_buyers(customer, orders, customers, &[], 0)
    }

    /// The same, and so many who buy without an order, and want a part of their money back: from these instances of
    /// `payments`.
    pub fn with_buyers(
        customer: &Customer,
        orders: &[String],
        customers: usize,
        payments: &[String],
        buyers: usize,
    ) -> Self {
        let client = Client::of(customer, orders, payments);
        let mut load = Self {
            tenant: customer.tenant().to_owned(),
            client,
            stop: CancellationToken::new(),
            customers: JoinSet::new(),
        };
        for _ in 0..customers {
            let (client, stop) = (load.client.clone(), load.stop.clone());
            load.customers.spawn(work(load.tenant.clone(), client, stop));
        }
        for _ in 0..buyers {
            let (client, stop) = (load.client.clone(), load.stop.clone());
            load.customers.spawn(buy(load.tenant.clone(), client, stop));
        }
        load
    }

    /// Lets each customer come to an end with what it began, then asks for every answer once more. What has failed
    /// must work again by now.
    pub async fn stop(mut self) -> Answers {
        self.stop.cancel();
        let mut answers = Answers::of(&self.tenant);
        while let Some(told) = self.customers.join_next().await {
            answers.extend(told.unwrap());
        }
        answers.ask_again(&self.client).await;
        answers
    }
}

/// Places orders, cancels some at once, and asks some twice.
async fn work(tenant: String, client: Client, stop: CancellationToken) -> Answers {
    let mut answers = Answers::of(&tenant);
    for number in 1_usize.. {
        if stop.is_cancelled() {
            break;
        }
        let card = CARDS[number % CARDS.len()];
        let order = answers.place(&client, Intent::place(1 + number % 2, card)).await;
        if number.is_multiple_of(5) {
            answers.cancel(&client, Intent::cancel(&order)).await;
        }
        tokio::time::sleep(PACE).await;
    }
    answers
}

/// Buys, and sends two parts of three purchases back.
async fn buy(tenant: String, client: Client, stop: CancellationToken) -> Answers {
    let mut answers = Answers::of(&tenant);
    for number in 1_usize.. {
        if stop.is_cancelled() {
            break;
        }
        let card = CARDS[number % CARDS.len()];
        if let Some(payment) = answers.buy(&client, Intent::charge(PRICE, card)).await
            && !number.is_multiple_of(3)
        {
            answers.give_back(&client, Intent::refund(&payment, PART)).await;
            answers.give_back(&client, Intent::refund(&payment, PRICE - PART)).await;
        }
        tokio::time::sleep(PACE).await;
    }
    answers
}
