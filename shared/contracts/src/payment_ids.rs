//! The ids of payments and refunds. They are derived, so that a request that is made again names the same payment.

use envelope::{PathSegment, id};
use uuid::Uuid;

id! {
    /// A payment of an order, or of a request without an order.
    PaymentId
}
id! {
    /// A refund of a payment.
    RefundId
}
/// The UUIDv5 namespace of payment ids. It must never change.
const PAYMENTS: Uuid = Uuid::from_u128(0x6964_656d_2d70_6179_6d65_6e74_0000_0001);

impl PaymentId {
    /// The id of an order's payment (UUIDv8): the time of the order's id, then a hash of the whole id. Thus `orders` asks for
    /// the same payment again, also if it was restored from a backup, and the processor's key prevents a second charge.
    pub fn of(order: crate::OrderId) -> Self {
        Self(derived(&PAYMENTS, order.uuid(), order.uuid().as_bytes()))
    }

    /// The time at which the payment was requested, in milliseconds since 1970: that of its order, or of the client's request.
    pub fn requested_at(self) -> u64 {
        let (time, ..) = self.0.as_u64_pair();
        time >> 16
    }
}

/// The UUIDv5 namespace of refund ids. It must never change.
const REFUNDS: Uuid = Uuid::from_u128(0x6964_656d_2d72_6566_756e_6473_0000_0001);

impl RefundId {
    /// The id of a payment's automatic refund. Thus a database that was restored from a backup sends the same request again.
    pub fn automatic_of(payment: PaymentId) -> Self {
        Self(derived(&REFUNDS, payment.0, payment.0.as_bytes()))
    }

    /// The id of a refund that a client requests. The caller makes `seed` from tenant, client and
    /// idempotency key, so a repeated request makes the same refund, also if a database has lost the first one.
    pub fn requested_of(payment: PaymentId, seed: Uuid) -> Self {
        Self(derived(&REFUNDS, payment.0, &[*payment.0.as_bytes(), *seed.as_bytes()].concat()))
    }

    /// The id of the refund that follows a failed one. There is one at most.
    pub fn following(failed: Self) -> Self {
        Self(derived(&REFUNDS, failed.0, failed.0.as_bytes()))
    }
}

/// Derives an id (`UUIDv8`): the time of another id, then a hash of `name`.
fn derived(namespace: &Uuid, time_of: Uuid, name: &[u8]) -> Uuid {
    let mut id = *Uuid::new_v5(namespace, name).as_bytes();
    id[..6].copy_from_slice(&time_of.as_bytes()[..6]);
    Uuid::new_v8(id)
}

impl PathSegment for PaymentId {
    const RESOURCE: &'static str = "payment";
}

impl PathSegment for RefundId {
    const RESOURCE: &'static str = "refund";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OrderId;

    #[test]
    fn the_payment_of_an_order_has_the_same_id_for_ever_and_the_time_of_the_order() {
        let order = OrderId::from(Uuid::from_u128(0x0193_f2a4_5b6c_7d8e_9fa0_b1c2_d3e4_f506));
        assert_eq!(PaymentId::of(order).to_string(), "0193f2a4-5b6c-8e89-baf2-52135fe95854");
        assert_ne!(PaymentId::of(order), PaymentId::of(OrderId::generate()));
        assert_eq!(PaymentId::of(order).requested_at(), 0x0193_f2a4_5b6c);
        let refund = RefundId::automatic_of(PaymentId::of(order));
        assert_eq!(refund.to_string(), "0193f2a4-5b6c-8a61-8818-1fad02da729f");
    }

    #[test]
    fn a_refund_has_the_same_id_for_ever_by_its_payment_and_key_or_by_the_refund_that_it_follows() {
        let payment = PaymentId::from(Uuid::from_u128(0x0193_f2a4_5b6c_7d8e_9fa0_b1c2_d3e4_f506));
        let refund = RefundId::requested_of(payment, Uuid::from_u128(1));
        assert_eq!(refund.to_string(), "0193f2a4-5b6c-8f99-ae8a-c3b13757adb1");
        assert_ne!(refund, RefundId::requested_of(payment, Uuid::from_u128(2)));
        assert_ne!(refund, RefundId::requested_of(PaymentId::generate(), Uuid::from_u128(1)));
        assert_eq!(RefundId::following(refund).to_string(), "0193f2a4-5b6c-83de-a203-3edb6f8dbc6f");
    }
}
