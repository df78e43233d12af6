//! The plan of each payment and the calls that fail. Both depend only on the seed and on the payment's number.

use contracts::{Money, OrderId};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::stage::{Order, VISA};

/// The number of payments.
pub(super) const PAYMENTS: u128 = 1000;

/// The share of calls that fail, and the share of these that are late.
const SHARE: f64 = 0.3;
const LATE: f64 = 0.02;

/// The kinds of failures besides a delay.
const KINDS: [&str; 6] = ["error_before", "error_after", "drop_reply", "truncate", "rate_limit", "conflict"];

/// Far longer than the deadline of a call.
pub(super) const DELAY_MS: u64 = 1200;

/// Payments whose requests are all lost, before or after execution.
const CHARGE_NEVER_MADE: std::ops::Range<u128> = 0..6;
const CHARGE_NEVER_ANSWERED: std::ops::Range<u128> = 6..12;
const REFUND_NEVER_MADE: std::ops::Range<u128> = 12..15;
const REFUND_NEVER_ANSWERED: std::ops::Range<u128> = 15..18;

/// One payment of the thousand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan(pub(super) u128);

/// The event after the capture.
pub(super) enum After {
    /// The order is cancelled, so the whole amount is refunded.
    Cancelled,
    /// The order is confirmed, and the customer gets a refund of this amount.
    Refunded(Money),
    /// The order is confirmed.
    Kept,
}

impl Plan {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        (0..PAYMENTS).map(Self)
    }

    /// The id is the same in each run.
    pub(super) fn order(self) -> Order {
        Order::with(OrderId::from(Uuid::from_u128(0xb0 << 64 | self.0)))
    }

    /// Each payment has another amount, so that a lost or doubled payment can be identified.
    pub(super) fn amount(self) -> i64 {
        10_000 + 7 * i64::try_from(self.0).unwrap()
    }

    pub(super) fn card(self) -> &'static str {
        match self.0 % 20 {
            _ if self.0 < REFUND_NEVER_ANSWERED.end => VISA,
            3 | 13 => "pm_card_visa_chargeDeclined",
            4 => "pm_card_idem_processing",
            5 => "pm_card_idem_processing_declined",
            6 | 16 => "pm_card_idem_charged_no_reply",
            9 => "pm_card_pendingRefund",
            10 => "pm_card_idem_refund_pending_fails",
            _ => VISA,
        }
    }

    /// True if the order is cancelled before the first attempt.
    pub(super) fn is_called_off(self) -> bool {
        self.0 % 50 == 49
    }

    pub(super) fn after(self) -> After {
        let whole = Money::new(self.amount(), contracts::Currency::Eur);
        let all = self.0 < REFUND_NEVER_ANSWERED.end && self.0 >= REFUND_NEVER_MADE.start;
        match self.0 % 8 {
            _ if all => After::Cancelled,
            0 => After::Cancelled,
            1 => After::Refunded(Money::new(self.amount() / 3, contracts::Currency::Eur)),
            2 => After::Refunded(whole),
            _ => After::Kept,
        }
    }
}

/// The faults of the processor: some for each route of a single payment, and a few for the pages of its lists. A page is
/// not about a single payment, and a lookup reads ten pages.
pub(super) fn faults(seed: u64) -> Value {
    let (charges, refunds) = ("POST /v1/payment_intents", "POST /v1/refunds");
    let never = [
        (CHARGE_NEVER_MADE, charges, "error_before"),
        (CHARGE_NEVER_ANSWERED, charges, "drop_reply"),
        (REFUND_NEVER_MADE, refunds, "error_before"),
        (REFUND_NEVER_ANSWERED, refunds, "drop_reply"),
    ];
    let mut rules = Vec::new();
    for (payments, route, kind) in never {
        for payment in payments.map(Plan) {
            let reference = payment.order().payment;
            rules.push(json!({ "kinds": [kind], "route": route, "reference": reference }));
        }
    }
    let about_one =
        [charges, "GET /v1/payment_intents/{id}", refunds, "GET /v1/refunds", "GET /v1/refunds/{id}"];
    for (route, share) in
        about_one.map(|route| (route, SHARE)).into_iter().chain([("GET /v1/payment_intents", 0.03)])
    {
        // The share of the remaining failures, so that all failures together have the total share.
        let others = (share - LATE) / (1.0 - LATE);
        rules.push(json!({ "kinds": ["delay"], "route": route, "share": LATE, "delay_ms": DELAY_MS }));
        rules.push(json!({ "kinds": KINDS, "route": route, "share": others }));
    }
    json!({ "seed": seed, "rules": rules })
}

/// All faults that can take effect.
pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.into_iter().chain(["delay"])
}
