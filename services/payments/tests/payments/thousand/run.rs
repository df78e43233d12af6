//! One run of the thousand payments, until no call is due.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use contracts::Currency;
use contracts::Money;
use contracts::events::{CancelReason, OrderCancelled, OrderConfirmed, PaymentRequested};
use database::Database;
use futures_util::{StreamExt, stream};
use payments::processor::CallPolicy;
use payments::{Backoff, WorkerSettings, consumers};
use serde_json::{Value, json};
use testkit::{Background, identity};

use super::plan::{After, PAYMENTS, Plan, faults};
use super::processor::{StandIn, hurry};
use crate::commands::{Client, client, key};
use crate::stage::{LATER, Stage, TENANT, brisk, message, policy, requested, worker_with};

/// The number of payments at the same time. Because a retry waits behind calls that were due earlier, a low number keeps
/// its wait short, and the lifetime of a key depends on attempts and not on the load of the machine.
const AT_A_TIME: usize = 40;

/// The pause between two reads of the states.
const LOOK: Duration = Duration::from_millis(50);

/// The longest time in which no further call ends: several times the lifetime of a key. How long a whole run takes depends on
/// the load of the machine.
const DEADLINE: Duration = Duration::from_mins(1);

/// The result of a run.
pub(super) struct Run {
    pub(super) stage: Stage,
    pub(super) stand_in: StandIn,
}

/// Hours become milliseconds: within the lifetime of a key there are at least twenty attempts.
fn scaled() -> WorkerSettings {
    let pace = |first| Backoff { first: Duration::from_millis(first), longest: Duration::from_millis(250) };
    WorkerSettings {
        concurrency: 8,
        poll: Duration::from_millis(40),
        backoff: pace(40),
        look_up_backoff: pace(20),
        ..brisk()
    }
}

fn scaled_policy() -> CallPolicy {
    let mut policy = policy();
    policy.limits.key_life = Duration::from_secs(8);
    policy
}

impl Run {
    pub(super) async fn of(seed: u64) -> Self {
        let (stage, stand_in) = (Stage::new().await, StandIn::start(&faults(seed)).await);
        hurry(&stage.database).await;
        let databases = [Database::clone(&stage.database), stage.database.second_instance()];
        let workers: Vec<Background> = databases
            .into_iter()
            .map(|database| worker_with(database, stand_in.client(), scaled_policy(), scaled()))
            .collect();
        let shop = Shop::of(client(&stage, Duration::from_millis(10)).await);
        let mut plans = Plan::all();
        let mut progress = (0, Instant::now());
        loop {
            let ended = stage.count("SELECT count(*) FROM processor_call WHERE due_at IS NULL").await;
            if ended > progress.0 {
                progress = (ended, Instant::now());
            }
            assert!(
                progress.1.elapsed() < DEADLINE,
                "no call after the first {ended} has ended for {DEADLINE:?}"
            );
            let under_way = stage.count("SELECT count(*) FROM processor_call WHERE due_at IS NOT NULL").await;
            let news = captured(&stage).await;
            let room = AT_A_TIME.saturating_sub(usize::try_from(under_way).unwrap());
            let next: Vec<Plan> = plans.by_ref().take(room).collect();
            if under_way == 0 && next.is_empty() && news.is_empty() {
                break;
            }
            for plan in next {
                wanted(&stage, plan).await;
            }
            stream::iter(news).for_each_concurrent(4, |plan| follow(&stage, &shop, plan)).await;
            tokio::time::sleep(LOOK).await;
        }
        for worker in workers {
            worker.stop().await;
        }
        Self { stage, stand_in }
    }

    /// Returns the number of attempts and lookups of each payment.
    pub(super) async fn attempts(&self) -> BTreeMap<u128, i64> {
        let asked = "SELECT json_build_array(order_id, sum(attempt))::text
                       FROM processor_call JOIN payment ON payment.id = payment_id GROUP BY order_id";
        self.stage.texts(asked).await.iter().map(|row| number_and(row)).collect()
    }

    /// Returns the end of each payment: its state, the states of its refunds, and the reasons of its reviews.
    pub(super) async fn ends(&self) -> BTreeMap<u128, String> {
        let ends =
            "SELECT json_build_array(payment.order_id, concat_ws('; ', payment.state, payment.decline_code,
                        (SELECT string_agg(format('refund of %s %s %s', refund.amount, refund.state,
                                                  refund.failure_code), '; ' ORDER BY refund.id)
                           FROM refund WHERE refund.payment_id = payment.id),
                        (SELECT string_agg('review: ' || reason, '; ' ORDER BY reason)
                           FROM review WHERE review.payment_id = payment.id)))::text
                      FROM payment";
        let ends = self.stage.texts(ends).await;
        let ends: BTreeMap<u128, String> = ends.iter().map(|end| number_and(end)).collect();
        assert_eq!(ends.len(), usize::try_from(PAYMENTS).unwrap());
        ends
    }

    /// Runs `payments reconcile --json` with these settings.
    pub(super) async fn reconciled(&self) -> Value {
        let settings = [
            ("IDEM_PROCESSOR__URL", self.stand_in.address()),
            ("IDEM_PROCESSOR__SECRET_KEY", "sk_test_thousand"),
        ];
        let (_, stdout) = crate::listing::operate(&self.stage, &["reconcile", "--json"], &settings).await;
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
    }
}

/// Rows of `["order's id", value]`, by the payment's number.
pub(super) fn number_and<T: serde::de::DeserializeOwned>(row: &str) -> (u128, T) {
    let (id, value): (uuid::Uuid, T) =
        serde_json::from_str(row).unwrap_or_else(|error| panic!("{error}: {row}"));
    (id.as_u128() & u128::from(u64::MAX), value)
}

/// Returns the payments whose order has not ended yet.
async fn captured(stage: &Stage) -> Vec<Plan> {
    let open = "SELECT json_build_array(order_id, 0)::text FROM payment
                 WHERE state = 'captured' AND NOT confirmed AND NOT cancel_requested";
    stage.texts(open).await.iter().map(|row| Plan(number_and::<u8>(row).0)).collect()
}

/// Handles the payment request of the order. Some orders are cancelled directly afterwards.
async fn wanted(stage: &Stage, plan: Plan) {
    let order = plan.order();
    let mut wanted = requested(order, plan.card(), LATER);
    wanted.data = PaymentRequested { amount: Money::new(plan.amount(), Currency::Eur), ..wanted.data };
    let mut tx = stage.database.begin().await.unwrap();
    consumers::charge(&mut tx, &policy(), &wanted).await.unwrap();
    if plan.is_called_off() {
        let cancelled = OrderCancelled { order: order.order, reason: CancelReason::Customer };
        consumers::cancel(&mut tx, &policy(), &message(cancelled)).await.unwrap();
    }
    tx.commit().await.unwrap();
}

/// Does what the plan says after the capture.
async fn follow(stage: &Stage, shop: &Shop, plan: Plan) {
    let order = plan.order();
    if matches!(plan.after(), After::Cancelled) {
        return stage.cancel(order).await;
    }
    let mut tx = stage.database.begin().await.unwrap();
    let confirmed = OrderConfirmed { order: order.order, payment: order.payment };
    consumers::confirm(&mut tx, &message(confirmed)).await.unwrap();
    tx.commit().await.unwrap();
    if let After::Refunded(amount) = plan.after() {
        let body = json!({ "amount": amount, "reason": "broken" });
        shop.ask(&format!("/v1/payments/{}/refunds", order.payment), &body).await;
    }
}

/// The HTTP API. Each request has a new connection, because the server may close an idle one at the moment of its reuse.
struct Shop {
    server: Client,
    http: reqwest::Client,
}

impl Shop {
    fn of(server: Client) -> Self {
        let http = reqwest::Client::builder().pool_max_idle_per_host(0).no_proxy().build().unwrap();
        Self { server, http }
    }

    async fn ask(&self, path: &str, body: &Value) {
        let post = self.http.post(format!("http://{}{path}", self.server.address));
        let post = post.bearer_auth(identity::token(TENANT, "web-shop", "payments:refund"));
        let response = post.header("Idempotency-Key", key()).json(body).send().await.unwrap();
        let status = response.status().as_u16();
        assert!([201, 202].contains(&status), "{status}: {}", response.text().await.unwrap());
    }
}
