//! Orders that keep coming while something is broken, placed as clients should: whoever gets no answer asks again under
//! the same key, at whoever answers.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures_util::future::join;
use uuid::Uuid;

use crate::api::{Answer, CommandRequest, Order};
use crate::report::Step;
use crate::trouble::Trouble;
use crate::wait::until;
use crate::world::{PATIENCE, TEA, VISA, World};

/// Between two orders.
const PAUSE: Duration = Duration::from_millis(50);
/// Between two attempts, unless the answer says how long to wait.
const AGAIN: Duration = Duration::from_millis(50);
/// More are not placed; as much tea is delivered before.
const MOST: usize = 500;

/// The orders of one step.
pub(crate) struct Traffic<'w> {
    world: &'w World<'w>,
    reference: &'static str,
    placed: RefCell<Vec<Uuid>>,
    /// Requests that got no answer, or none that counts, and were sent again.
    again: Cell<usize>,
    ended: Cell<bool>,
}

impl<'w> Traffic<'w> {
    /// Places orders with this reference for as long as the work goes on.
    pub(crate) async fn during(
        world: &'w World<'w>,
        reference: &'static str,
        work: impl AsyncFnOnce(&Self) -> Result<(), Trouble>,
    ) -> Result<Self, Trouble> {
        world.api.adjust(TEA, i64::try_from(MOST).unwrap_or_default()).await?;
        let (placed, again, ended) = (RefCell::default(), Cell::new(0), Cell::new(false));
        let traffic = Self { world, reference, placed, again, ended };
        let work = async {
            // There is something under way before anything is broken.
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

    /// The orders that have been accepted so far.
    pub(crate) fn so_far(&self) -> Vec<Uuid> {
        self.placed.borrow().clone()
    }

    pub(crate) fn again(&self) -> usize {
        self.again.get()
    }

    /// Waits until so many more orders have been accepted.
    pub(crate) async fn grows_by(&self, number: usize) -> Result<(), Trouble> {
        let goal = self.placed.borrow().len() + number;
        until("orders are accepted", PATIENCE, "./dev status, ./dev logs orders", async || {
            let placed = self.placed.borrow().len();
            Ok(if placed >= goal.min(MOST) { Ok(()) } else { Err(format!("{placed} so far")) })
        })
        .await
    }

    /// Waits until all that have been accepted so far are confirmed. Returns how many that are.
    pub(crate) async fn confirmed(&self) -> Result<usize, Trouble> {
        let orders = self.so_far();
        until("all orders so far are confirmed", PATIENCE, "./dev topics, ./dev logs", async || {
            let open = self.world.books.unconfirmed(&orders).await?;
            Ok(if open == 0 { Ok(orders.len()) } else { Err(format!("{open} of {} are not", orders.len())) })
        })
        .await
    }

    /// Waits until all are confirmed, and checks that each was placed once and charged once. Returns how many they are.
    pub(crate) async fn settle(&self, step: &mut Step<'_>) -> Result<usize, Trouble> {
        step.doing("waiting until all orders are confirmed");
        let number = self.confirmed().await?;
        let mut accepted = self.so_far();
        let mut found = self.world.books.orders_called(&self.world.tenant, self.reference).await?;
        accepted.sort_unstable();
        found.sort_unstable();
        let same = accepted == found;
        step.holds("orders in the database", "those accepted", found.len(), same, "./dev psql orders");

        let orders: BTreeSet<Uuid> = found.into_iter().collect();
        let payments =
            self.world.books.orders().await?.into_iter().filter(|order| orders.contains(&order.id));
        let payments: BTreeSet<Uuid> = payments.filter_map(|order| order.payment_id).collect();
        let charges = self.world.books.charges().await?.into_iter().filter(|charge| charge.succeeded);
        let charged: Vec<Uuid> = charges
            .filter_map(|charge| charge.payment())
            .filter(|payment| payments.contains(payment))
            .collect();
        let distinct = charged.iter().collect::<BTreeSet<_>>().len();
        step.equal(
            "charges, and orders charged",
            (number, number),
            (charged.len(), distinct),
            "./dev psql provider",
        );
        Ok(number)
    }

    async fn place_all(&self) -> Result<(), Trouble> {
        while !self.ended.get() && self.placed.borrow().len() < MOST {
            let order: Order = self.insist().await?.read(201)?;
            self.placed.borrow_mut().push(order.id);
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// One order, under one key, until there is an answer that is about the order.
    async fn insist(&self) -> Result<Answer, Trouble> {
        let wish = CommandRequest { lines: &[(TEA, 1)], card: VISA, reference: self.reference };
        let (key, body, start) = (Uuid::new_v4(), wish.body(), Instant::now());
        loop {
            let answer = self.world.api.place(key, &body).await;
            let pause = match &answer {
                Ok(answer) => answer.retry_after(),
                Err(_) => Some(AGAIN),
            };
            match pause {
                Some(pause) if start.elapsed() < PATIENCE => {
                    self.again.set(self.again.get() + 1);
                    tokio::time::sleep(pause).await;
                }
                _ => return answer,
            }
        }
    }
}
