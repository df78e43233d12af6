//! The scenarios: which order is the next one, and what else happens.

use contracts::events::PaymentRequested;
use contracts::{Currency, Money, OrderId, PaymentId};
use envelope::{Event, TenantId, Timestamp};
use harness::orders::place_order;
use harness::{Context, Request, Result};
use serde_json::{Value, json};
use strum::{IntoStaticStr, VariantArray};
use uuid::Uuid;

use crate::subjects::bare_producer::OutgoingRecord;

/// Items of each tenant, besides the hot one.
pub(super) const ITEMS: usize = 10;

/// The item that every order of [`Scenario::HotSku`] names.
pub(super) const HOT_ITEM: &str = "HOT";

/// One message of so many is poison.
const POISON_EVERY: usize = 100;

/// Ways in which orders can be unequal. The report uses their names.
#[derive(Clone, Copy, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Scenario {
    /// Ten tenants in turn, each with ten items.
    Plain,
    /// Every order is of one tenant and names the same item.
    HotSku,
    /// Nine of ten orders are of one tenant.
    HotTenant,
    /// With each hundredth order comes an event that cannot be read. It is parked at once.
    Unreadable,
    /// With each hundredth order comes an event that its handler refuses. It is parked at once.
    Refused,
    /// The processor takes half a second for each charge.
    SlowProcessor,
}

impl Scenario {
    /// The tenant of an order, by number. The first one is the hot one.
    pub(super) fn tenant(self, order: usize, tenants: usize) -> usize {
        match self {
            Self::HotSku => 0,
            Self::HotTenant if order % 10 != 9 => 0,
            Self::HotTenant => 1 + order / 10 % (tenants - 1),
            _ => order % tenants,
        }
    }

    /// The order of this number: two items.
    pub(super) fn request(self, order: usize) -> Request {
        let (one, other) = (item(order / 10), item(order / 10 + ITEMS / 2));
        let first = if self == Self::HotSku { HOT_ITEM } else { &one };
        place_order(&[(first, 1), (&other, 1)], "")
    }

    /// The poison that comes with an order.
    pub(super) fn poison(self, order: usize, tenant: &TenantId) -> Result<Option<OutgoingRecord>> {
        if order % POISON_EVERY != POISON_EVERY / 2 {
            return Ok(None);
        }
        let id = OrderId::generate();
        let (kind, payload) = match self {
            Self::Unreadable => ("orders.OrderPlaced.v1", b"{".to_vec()),
            Self::Refused => (PaymentRequested::TYPE, charge_of_nothing(id)?),
            _ => return Ok(None),
        };
        let time = "2026-01-01T00:00:00.000000Z";
        Ok(Some(OutgoingRecord::about(id.uuid(), Uuid::now_v7(), kind, payload, tenant, time)))
    }

    /// The faults of the processor.
    pub(super) fn faults(self) -> Value {
        match self {
            Self::SlowProcessor => {
                json!([{"kinds": ["delay"], "delay_ms": 500, "route": "POST /v1/payment_intents"}])
            }
            _ => json!([]),
        }
    }
}

/// The name of an item, in turn.
pub(super) fn item(number: usize) -> String {
    format!("ITEM-{}", number % ITEMS)
}

/// A request that payments refuses: an amount of 0.
fn charge_of_nothing(order: OrderId) -> Result<Vec<u8>> {
    let event = PaymentRequested {
        order,
        payment: PaymentId::generate(),
        amount: Money::new(0, Currency::Eur),
        payment_method: "pm_card_visa".to_owned(),
        expires_at: Timestamp::from_rfc3339("2100-01-01T00:00:00.000000Z"),
    };
    serde_json::to_vec(&event).context("write an event")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_of_ten_orders_are_of_the_hot_tenant_and_every_other_one_has_its_share() {
        let of = |tenant| (0..900).filter(|order| Scenario::HotTenant.tenant(*order, 10) == tenant).count();
        assert_eq!((0..10).map(of).collect::<Vec<_>>(), [810, 10, 10, 10, 10, 10, 10, 10, 10, 10]);
    }
}
