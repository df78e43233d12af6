//! Writes the request bodies for the processor.
//!
//! A body is written once and stored with its call, because the processor refuses other bytes under the same key.

use contracts::{Money, PaymentId, RefundId};
use uuid::Uuid;

/// The metadata of an object at the processor that this deployment requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectTag {
    /// The id of the payment or refund.
    pub reference: String,
    /// The name of the deployment.
    pub deployment: String,
}

/// Writes the request bodies of one deployment.
#[derive(Debug, Clone)]
pub struct RequestBodies {
    /// Distinguishes the objects of this deployment from those of others at the same processor.
    deployment: String,
}

impl RequestBodies {
    /// Bodies that carry the name of this deployment.
    pub fn of(deployment: impl Into<String>) -> Self {
        Self { deployment: deployment.into() }
    }

    /// The name of the deployment.
    pub(crate) fn deployment(&self) -> &str {
        &self.deployment
    }

    /// The tag of the object of this payment or refund.
    pub fn tag(&self, id: Uuid) -> ObjectTag {
        ObjectTag { reference: id.to_string(), deployment: self.deployment.clone() }
    }

    /// `POST /v1/payment_intents`: charges the card at once, without the customer.
    pub fn charge(&self, payment: PaymentId, amount: Money, payment_method: &str) -> Vec<u8> {
        encode(&[
            ("amount", &amount.amount.to_string()),
            ("currency", &amount.currency.code().to_ascii_lowercase()),
            ("payment_method", payment_method),
            ("payment_method_types[]", "card"),
            ("confirm", "true"),
            ("off_session", "true"),
            ("error_on_requires_action", "true"),
            ("metadata[reference]", &payment.to_string()),
            ("metadata[deployment]", &self.deployment),
            // The response then contains the fee.
            ("expand[]", "latest_charge.balance_transaction"),
        ])
    }

    /// `POST /v1/refunds`: refunds `amount` minor units of the `PaymentIntent` with the id `payment_intent`.
    pub fn refund(&self, refund: RefundId, payment_intent: &str, amount: i64) -> Vec<u8> {
        encode(&[
            ("payment_intent", payment_intent),
            ("amount", &amount.to_string()),
            ("reason", "requested_by_customer"),
            ("metadata[reference]", &refund.to_string()),
            ("metadata[deployment]", &self.deployment),
        ])
    }
}

fn encode(pairs: &[(&str, &str)]) -> Vec<u8> {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish().into_bytes()
}

#[cfg(test)]
mod tests {
    use contracts::Currency;

    use super::*;

    // A changed body is allowed, because stored bodies are resent as they are. This test makes the change visible.
    #[test]
    fn the_bytes_are_those_of_the_protocol() {
        let bodies = RequestBodies::of("here & now");
        let id = Uuid::from_u128(1);
        let charge = bodies.charge(id.into(), Money::new(1999, Currency::Eur), "pm_card_visa");
        assert_eq!(
            String::from_utf8(charge).unwrap(),
            "amount=1999&currency=eur&payment_method=pm_card_visa&payment_method_types%5B%5D=card&confirm=true\
             &off_session=true&error_on_requires_action=true\
             &metadata%5Breference%5D=00000000-0000-0000-0000-000000000001&metadata%5Bdeployment%5D=here+%26+now\
             &expand%5B%5D=latest_charge.balance_transaction"
        );
        let refund = bodies.refund(id.into(), "pi_1", 1999);
        assert_eq!(
            String::from_utf8(refund).unwrap(),
            "payment_intent=pi_1&amount=1999&reason=requested_by_customer\
             &metadata%5Breference%5D=00000000-0000-0000-0000-000000000001&metadata%5Bdeployment%5D=here+%26+now"
        );
    }
}
