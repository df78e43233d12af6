//! Orders that keep coming while something is broken. A client without a response sends the same request again, under
//! the same key, to an instance that answers.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use futures_util::future::join;
use harness::orders::{Order, place_order};
use harness::{Response, Result, until};
use uuid::Uuid;

use crate::demo::{Demo, LIMIT, TEA};
use crate::report::Step;
use crate::steps::of_services;

/// Between two orders, and between two attempts unless the response names a pause.
const PAUSE: Duration = Duration::from_millis(50);
/// The most orders; as much tea is delivered before.
const MOST: usize = 500;

/// The orders of one step.
pub(crate) struct Traffic<'d> {
    demo: &'d Demo<'d>,
    reference: &'d str,
    placed: RefCell<Vec<Uuid>>,
    /// Requests that got no response, or a retryable one, and were sent again.
    retries: Cell<usize>,
    ended: Cell<bool>,
}

impl<'d> Traffic<'d> {
    /// Places orders with this reference until the work is done.
    pub(crate) async fn during(
        demo: &'d Demo<'d>,
        reference: &'d str,
        work: impl AsyncFnOnce(&Self) -> Result<()>,
    ) -> Result<Self> {
        demo.api.deliver(TEA, i64::try_from(MOST).unwrap_or_default()).await?;
        let (placed, retries, ended) = (RefCell::default(), Cell::new(0), Cell::new(false));
        let traffic = Self { demo, reference, placed, retries, ended };
        let work = async {
            // The first orders come before the work, so that it breaks something in progress.
            let begun = traffic.grows_by(5).await;
            let done = if begun.is_ok() { work(&traffic).await } else { begun };
            traffic.ended.set(true);
            done
        };
        let (worked, placed) = join(work, traffic.place_all()).await;
        worked?;
        placed?;
        Ok(traffic)
    }

    /// Returns how many requests were sent again.
    pub(crate) fn retries(&self) -> usize {
        self.retries.get()
    }

    /// Waits until so many more orders are accepted.
    pub(crate) async fn grows_by(&self, number: usize) -> Result<()> {
        let goal = self.placed.borrow().len() + number;
        until("orders are accepted", LIMIT, "./dev status, ./dev logs orders", async || {
            let placed = self.placed.borrow().len();
            Ok(if placed >= goal.min(MOST) { Ok(()) } else { Err(format!("{placed} so far")) })
        })
        .await
    }

    /// Waits until all orders accepted so far are confirmed. Returns their number.
    pub(crate) async fn confirmed(&self) -> Result<usize> {
        let orders = self.placed.borrow().clone();
        until("all orders so far are confirmed", LIMIT, "./dev topics, ./dev logs", async || {
            let open = self.demo.unconfirmed(&orders).await?;
            Ok(if open == 0 { Ok(orders.len()) } else { Err(format!("{open} of {} are not", orders.len())) })
        })
        .await
    }

    /// Waits until all are confirmed, and checks that each was placed once, and that each service did its part once. Returns their number.
    pub(crate) async fn settle(&self, step: &mut Step<'_>) -> Result<usize> {
        step.progress("waiting until all orders are confirmed");
        let number = self.confirmed().await?;
        let mut accepted = self.placed.borrow().clone();
        let mut found = self.demo.orders_with_reference(self.reference).await?;
        accepted.sort_unstable();
        found.sort_unstable();
        let same = accepted == found;
        step.check("orders in the database", "the accepted orders", found.len(), same, "./dev psql orders");

        of_services::confirmed(self.demo, step, &found).await?;
        Ok(number)
    }

    async fn place_all(&self) -> Result<()> {
        while !self.ended.get() && self.placed.borrow().len() < MOST {
            let order: Order = self.place_one().await?.read(201)?;
            self.placed.borrow_mut().push(order.id);
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Sends one order under one key until the response is final.
    async fn place_one(&self) -> Result<Response> {
        let (request, start) = (place_order(&[(TEA, 1)], self.reference), Instant::now());
        loop {
            let response = self.demo.api.send(&request).await;
            let pause = match &response {
                Ok(response) => response.pause_before_retry(PAUSE),
                Err(_) => Some(PAUSE),
            };
            match pause {
                Some(pause) if start.elapsed() < LIMIT => {
                    self.retries.set(self.retries.get() + 1);
                    tokio::time::sleep(pause).await;
                }
                _ => return response,
            }
        }
    }
}
