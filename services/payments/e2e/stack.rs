//! payments and the processor's stand-in in an installation of the tests: their settings, faults and books, cards that are declined, and
//! customers who buy without an order.

use contracts::{Currency, Money};
use harness::payments::{Payment, charge, refund};
use harness::{Part, Request};
use serde_json::{Value, json};
use testkit::eventually;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::ServiceSide;
use crate::Customer;
use crate::load::{PatientClient, Responses};
use crate::stack::{Options, Stack};

/// The key that payments shows to the processor. No other place may contain it.
pub const SECRET_KEY: &str = "sk_test_canary_5d2f7c1e9b";

/// The secret with which the processor signs its events. No other place may contain it.
pub const WEBHOOK_SECRET: &str = "whsec_canary_8a41d6e03f";

/// The pause between two purchases of one customer.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

/// In turn: most are paid, some are declined, some are charged without a response.
const CARDS: [&str; 6] = [
    "pm_card_visa",
    "pm_card_visa",
    "pm_card_visa_chargeDeclined",
    "pm_card_visa",
    "pm_card_idem_charged_no_reply",
    "pm_card_visa",
];

/// The price of a purchase without an order, and its refunds.
const PRICE: Money = Money::new(1200, Currency::Eur);
const REFUNDS: [Money; 2] = [Money::new(500, Currency::Eur), Money::new(700, Currency::Eur)];

/// The side of payments.
pub(crate) struct Side;

impl ServiceSide for Side {
    const CRASH_POINTS: &'static [&'static str] = &[
        "charge.attempt_committed",
        "charge.request_sent",
        "charge.response_read",
        "charge.outcome_recorded",
        "refund.attempt_committed",
        "refund.request_sent",
        "refund.outcome_recorded",
        "webhook.event_verified",
        "webhook.before_commit",
        "webhook.after_commit",
    ];

    fn settings(stack: &Stack, part: Part, options: &Options) -> Vec<(&'static str, String)> {
        match part {
            Part::PROVIDER => vec![
                ("IDEM_WEBHOOK__URL", format!("http://{}/v1/webhooks/provider", stack.address("payments"))),
                ("IDEM_WEBHOOK__SECRET", WEBHOOK_SECRET.to_owned()),
                // A restarted payments gets its webhooks soon.
                ("IDEM_WEBHOOK__RETRY_MS", "100".to_owned()),
                ("IDEM_WEBHOOK__DEADLINE_MS", "1000".to_owned()),
                ("IDEM_BANK__DELAY_MS", "200".to_owned()),
            ],
            Part::PAYMENTS => of_payments(stack, options),
            _ => Vec::new(),
        }
    }

    fn vary(order: Request, number: usize) -> Request {
        order.paid_with(CARDS[number % CARDS.len()])
    }

    /// Buys without an order, and refunds two of three purchases in two parts.
    async fn customer(client: PatientClient, stop: CancellationToken, responses: &mut Responses) {
        for number in 1_usize.. {
            if stop.is_cancelled() {
                break;
            }
            let request = charge(PRICE, CARDS[number % CARDS.len()]);
            if let Some(payment) = responses.buy(&client, request).await
                && !number.is_multiple_of(3)
            {
                for amount in REFUNDS {
                    responses.refund(&client, refund(payment, amount)).await;
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn of_payments(stack: &Stack, options: &Options) -> Vec<(&'static str, String)> {
    let mut settings = vec![
        ("IDEM_PROCESSOR__URL", format!("http://{}", stack.address("provider"))),
        ("IDEM_PROCESSOR__SECRET_KEY", SECRET_KEY.to_owned()),
        ("IDEM_PROCESSOR__WEBHOOK_SECRETS", WEBHOOK_SECRET.to_owned()),
        // Tests reconcile by command. On a slow machine, the scheduled run would settle a difference before them.
        ("IDEM_RECONCILE__EVERY_SECONDS", "0".to_owned()),
        ("IDEM_WORKER__FIRST_LOOK_UP_PAUSE_MILLISECONDS", "100".to_owned()),
        ("IDEM_WORKER__FIRST_REFUND_PAUSE_MILLISECONDS", "100".to_owned()),
    ];
    if let Some(seconds) = options.lease_seconds {
        settings.extend([
            ("IDEM_WORKER__LEASE_SECONDS", seconds.to_string()),
            ("IDEM_PROCESSOR__TIMEOUT_MILLISECONDS", (seconds * 500).to_string()),
            ("IDEM_PROCESSOR__TOTAL_TIMEOUT_MILLISECONDS", (seconds * 900).to_string()),
        ]);
    }
    settings
}

impl Responses {
    /// Charges a card, or is declined; returns the payment if it is captured.
    async fn buy(&mut self, client: &PatientClient, request: Request) -> Option<Uuid> {
        let view = self.send_to_end(client, request, &[201, 202, 402]).await;
        (view["status"] == "captured").then(|| view["id"].as_str().and_then(|id| id.parse().ok())).flatten()
    }

    /// Refunds a part of a payment.
    async fn refund(&mut self, client: &PatientClient, request: Request) {
        let view = self.send_to_end(client, request, &[201, 202]).await;
        assert_eq!(view["status"], "succeeded", "{view}");
    }

    /// Sends a charge or a refund, and waits for its outcome.
    async fn send_to_end(&mut self, client: &PatientClient, request: Request, expected: &[u16]) -> Value {
        let response = self.send(client, request, expected).await;
        match (response.status, response.header("location")) {
            (202, Some(operation)) => final_body(client, operation).await,
            _ => response.json(),
        }
    }
}

/// Waits until an operation of payments has ended; returns the body of its reply.
async fn final_body(client: &PatientClient, operation: &str) -> Value {
    let view = client
        .read_until(&Request::get(Part::PAYMENTS, operation), PAUSE, |view| view["reply"].is_object())
        .await;
    view["reply"]["body"].clone()
}

impl Customer {
    /// A payment.
    pub async fn payment(&self, id: Uuid) -> Payment {
        self.api.payment(id).await.unwrap()
    }

    /// Places an order for TEA, to be paid with this card; returns its id.
    pub async fn places_with(&self, pieces: i64, card: &str) -> Uuid {
        self.sends(&self.tea(pieces).paid_with(card)).await
    }
}

impl Stack {
    /// Replaces the faults of the processor by these rules.
    pub async fn faults(&self, rules: Value) {
        self.api().set_faults(&rules).await.unwrap();
    }

    /// Removes the faults of the processor, and keeps their counters.
    pub async fn no_faults(&self) {
        self.faults(json!([])).await;
    }

    /// Returns how often a fault has taken effect.
    pub async fn fault_count(&self, kind: &str) -> i64 {
        self.api().fault_count(kind).await.unwrap()
    }

    /// Captured and refunded minor units in the processor's own books.
    pub async fn captured_and_refunded(&self) -> (i64, i64) {
        let captured = "SELECT coalesce(sum(amount_captured), 0)::bigint AS count FROM charge";
        let refunded =
            "SELECT coalesce(sum(amount), 0)::bigint AS count FROM refund WHERE status = 'succeeded'";
        (self.count(Part::PROVIDER, captured).await, self.count(Part::PROVIDER, refunded).await)
    }

    /// Waits until the processor's books say so.
    pub async fn captures_and_refunds(&self, captured: i64, refunded: i64) {
        eventually(&format!("{captured} captured and {refunded} refunded"), async || {
            (self.captured_and_refunded().await == (captured, refunded)).then_some(())
        })
        .await;
    }
}
