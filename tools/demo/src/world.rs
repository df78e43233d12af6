//! All that a step may ask and break, and the tenant of this run: its data are its own, so the demo can be repeated.

use std::collections::BTreeMap;
use std::time::Duration;

use audits::{Database, Delivery};
use contracts::{Currency, Money};
use futures_util::future::try_join_all;
use serde_json::Value;
use uuid::Uuid;

use crate::api::{Api, CommandRequest, Order};
use crate::books::{Asked, Books};
use crate::kafka::Kafka;
use crate::part::{Instance, Part};
use crate::stack::Stack;
use crate::trouble::Trouble;
use crate::wait::until;

/// How long an order may take when nothing is broken, or just was.
pub(crate) const PATIENCE: Duration = Duration::from_secs(45);

/// SKU, name, price of one, and how many are delivered.
pub(crate) type Good = (&'static str, &'static str, Money, i64);

pub(crate) const TEA: &str = "green-tea";
pub(crate) const POT: &str = "teapot";
pub(crate) const TRUFFLE: &str = "white-truffle";

/// What the demo sells.
pub(crate) const GOODS: [Good; 3] = [
    (TEA, "Green tea, 100 g", Money::new(450, Currency::Eur), 100),
    (POT, "Teapot", Money::new(2990, Currency::Eur), 10),
    (TRUFFLE, "White truffle", Money::new(19_900, Currency::Eur), 1),
];

pub(crate) const VISA: &str = "pm_card_visa";

/// The parts and this run's place among them.
pub(crate) struct World<'s> {
    pub(crate) stack: &'s Stack,
    pub(crate) api: Api<'s>,
    pub(crate) kafka: Kafka,
    pub(crate) books: Books,
    pub(crate) tenant: String,
}

impl<'s> World<'s> {
    pub(crate) async fn new(stack: &'s Stack) -> Result<Self, Trouble> {
        let run = Uuid::new_v4().simple().to_string();
        let tenant = format!("demo-{}", run.get(..6).unwrap_or(&run));
        let around = stack.around.as_ref();
        let token = around.token(&tenant).await?;
        let (kafka, books) = (Kafka::of(around)?, Books::of(around));
        Ok(Self { stack, api: Api::new(stack, token)?, kafka, books, tenant })
    }

    /// Places one order of one tea, as every step may.
    pub(crate) async fn order_tea(&self, card: &str, reference: &str) -> Result<Order, Trouble> {
        let wish = CommandRequest { lines: &[(TEA, 1)], card, reference };
        self.api.place(Uuid::new_v4(), &wish.body()).await?.read(201)
    }

    /// Waits until the order is confirmed or cancelled.
    pub(crate) async fn ends(&self, order: Uuid) -> Result<Order, Trouble> {
        until(format!("order {order} has ended"), PATIENCE, "./dev logs, ./dev topics", async || {
            let order = self.api.order(order).await?;
            Ok(if order.is_open() { Err(order.end()) } else { Ok(order) })
        })
        .await
    }

    /// Waits until the order is confirmed and has shipped: then it moves no stock under the next step's feet.
    pub(crate) async fn ships(&self, order: Uuid) -> Result<Order, Trouble> {
        let ended = self.ends(order).await?;
        if ended.status == "confirmed" {
            self.reservation_becomes(order, "shipped").await?;
        }
        Ok(ended)
    }

    /// Waits until the reservation of an order has a status.
    pub(crate) async fn reservation_becomes(&self, order: Uuid, status: &str) -> Result<(), Trouble> {
        until(
            format!("the reservation of {order} is {status}"),
            PATIENCE,
            "./dev logs inventory",
            async || {
                let seen = self.api.reservation(order).await?;
                Ok(if seen == status { Ok(()) } else { Err(seen) })
            },
        )
        .await
    }

    /// Successful charges for an order, by the processor's own books: how many, how much, and how much was given back.
    pub(crate) async fn taken_for(&self, order: &Order) -> Result<Taken, Trouble> {
        match order.payment_id {
            Some(payment) => self.taken(payment).await,
            None => Ok(Taken::default()),
        }
    }

    /// The same for a payment.
    pub(crate) async fn taken(&self, payment: Uuid) -> Result<Taken, Trouble> {
        let charges = self.books.charges().await?;
        let own = charges.iter().filter(|charge| charge.succeeded && charge.payment() == Some(payment));
        Ok(own.fold(Taken::default(), |sum, charge| Taken {
            charges: sum.charges + 1,
            amount: sum.amount + charge.amount,
            refunded: sum.refunded + charge.refunded,
        }))
    }

    /// What payments has asked the processor about the order's money.
    pub(crate) async fn asked_for(&self, order: &Order) -> Result<Asked, Trouble> {
        match order.payment_id {
            Some(payment) => self.books.asked(payment).await,
            None => Ok(Asked { times: 0, how: String::new() }),
        }
    }

    /// All payments of this run.
    pub(crate) async fn payments(&self) -> Result<Vec<Uuid>, Trouble> {
        let payments = self.books.payments().await?;
        Ok(payments.into_iter().filter(|row| row.tenant_id == self.tenant).map(|row| row.id).collect())
    }

    /// Lets these faults bite at the processor while the work goes on, and none of them afterwards.
    pub(crate) async fn with_faults<T>(
        &self,
        rules: &Value,
        work: impl AsyncFnOnce() -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        self.api.set_faults(rules).await?;
        let done = work().await;
        self.api.end_faults().await?;
        done
    }

    /// The relay of a service that has the lease, of those that run apart; and its epoch.
    pub(crate) async fn active_relay(&self, part: Part) -> Result<(Instance, i64), Trouble> {
        self.relay_after(part, 0).await
    }

    /// The same, once the lease has changed hands since an epoch.
    pub(crate) async fn relay_after(&self, part: Part, epoch: i64) -> Result<(Instance, i64), Trouble> {
        let what = format!("a relay of {} has taken the lease", part.name());
        until(what, PATIENCE, "./dev status", async || {
            let lease = self.books.lease(part).await?;
            for relay in self.stack.relays(part) {
                let process = self.stack.around.process(relay).await?;
                if lease.epoch > epoch && process.is_some() && process == lease.process() {
                    return Ok(Ok((relay, lease.epoch)));
                }
            }
            Ok(Err(format!("{lease:?}")))
        })
        .await
    }

    /// What the tenant's services have committed, said and heard.
    pub(crate) async fn delivery(&self) -> Result<Delivery, Trouble> {
        let (mut rows, mut entered) = (Vec::new(), BTreeMap::new());
        for database in Database::SERVICES {
            rows.extend(self.books.outbox(database.into(), &self.tenant).await?);
            entered.insert(database, self.books.inbox(database.into()).await?);
        }
        Ok(Delivery::of(rows, self.kafka.said(&self.tenant).await?, entered))
    }

    /// Waits until nothing is under way: everything was asked of the processor, told, sealed, and read by everybody.
    ///
    /// The ends of the topics are read before and after, so that what came in between does not go unnoticed.
    pub(crate) async fn settled(&self) -> Result<(), Trouble> {
        until("nothing is under way", PATIENCE, "./dev topics, ./dev logs", async || {
            let before = self.kafka.places().await?;
            let behind: i64 = before.values().map(|(place, end)| end - place).sum();
            let unsettled = self.books.unsettled().await?;
            let untold = self.books.untold(self.api.listeners().await?).await?;
            let looks = Part::SERVICES.map(|part| self.books.backlog(part, &self.tenant));
            let waiting: i64 = try_join_all(looks).await?.iter().map(|backlog| backlog.waiting).sum();
            if (behind, unsettled, untold, waiting) != (0, 0, 0, 0) {
                return Ok(Err(format!(
                    "{behind} to be read, {unsettled} to be asked or sealed, {untold} to be told by the processor, \
                     {waiting} to be told"
                )));
            }
            let after = self.kafka.places().await?;
            Ok(if before == after { Ok(()) } else { Err("new messages".to_owned()) })
        })
        .await
    }
}

/// What was taken for one order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) charges: usize,
    pub(crate) amount: i64,
    pub(crate) refunded: i64,
}
