//! The requests' exact bytes, written once: a retry with other bytes under the same key is refused by the processor.

use contracts::{Money, PaymentId, RefundId};
use uuid::Uuid;

/// What an object of ours bears in its metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The payment's or the refund's id.
    pub reference: String,
    /// The deployment's name.
    pub deployment: String,
}

/// Writes requests of this deployment.
#[derive(Debug, Clone)]
pub struct Forms {
    /// Tells this deployment's objects from those of others at the same processor.
    deployment: String,
}

impl Forms {
    /// Forms that carry this name.
    pub fn of(deployment: impl Into<String>) -> Self {
        Self { deployment: deployment.into() }
    }

    /// The name that they carry.
    pub(crate) fn deployment(&self) -> &str {
        &self.deployment
    }

    /// What the object of this payment or refund bears.
    pub fn mark(&self, id: Uuid) -> Mark {
        Mark { reference: id.to_string(), deployment: self.deployment.clone() }
    }

    /// `POST /v1/payment_intents`: charges the card at once, without the customer.
    pub fn charge(&self, payment: PaymentId, amount: Money, payment_method: &str) -> Vec<u8> {
        encoded(&[
            ("amount", &amount.amount.to_string()),
            ("currency", &amount.currency.code().to_ascii_lowercase()),
            ("payment_method", payment_method),
            ("payment_method_types[]", "card"),
            ("confirm", "true"),
            ("off_session", "true"),
            ("error_on_requires_action", "true"),
            ("metadata[reference]", &payment.to_string()),
            ("metadata[deployment]", &self.deployment),
            // What it costs is told along with it.
            ("expand[]", "latest_charge.balance_transaction"),
        ])
    }

    /// `POST /v1/refunds`: gives back `amount` minor units of an `intent` that nobody here asked for.
    pub(crate) fn orphan_refund(&self, intent: &str, amount: i64) -> Vec<u8> {
        encoded(&[
            ("payment_intent", intent),
            ("amount", &amount.to_string()),
            ("metadata[reference]", &format!("orphan-{intent}")),
            ("metadata[deployment]", &self.deployment),
        ])
    }

    /// `POST /v1/refunds`: gives back `amount` minor units of what the processor's `intent` captured.
    pub fn refund(&self, refund: RefundId, intent: &str, amount: i64) -> Vec<u8> {
        encoded(&[
            ("payment_intent", intent),
            ("amount", &amount.to_string()),
            ("reason", "requested_by_customer"),
            ("metadata[reference]", &refund.to_string()),
            ("metadata[deployment]", &self.deployment),
        ])
    }
}

fn encoded(pairs: &[(&str, &str)]) -> Vec<u8> {
    // Pairs of text always encode; were one ever not to, the processor would refuse the empty body for its form.
    serde_urlencoded::to_string(pairs).unwrap_or_default().into_bytes()
}

#[cfg(test)]
mod tests {
    use contracts::Currency;

    use super::*;

    // Bytes that were written by an older version are resent by a newer one, but never compared with what it would
    // write: this test only makes a change visible.
    #[test]
    fn the_bytes_are_those_of_the_protocol() {
        let forms = Forms::of("here & now");
        let id = Uuid::from_u128(1);
        let charge = forms.charge(id.into(), Money::new(1999, Currency::Eur), "pm_card_visa");
        assert_eq!(
            String::from_utf8(charge).unwrap(),
            "amount=1999&currency=eur&payment_method=pm_card_visa&payment_method_types%5B%5D=card&confirm=true\
             &off_session=true&error_on_requires_action=true\
             &metadata%5Breference%5D=00000000-0000-0000-0000-000000000001&metadata%5Bdeployment%5D=here+%26+now\
             &expand%5B%5D=latest_charge.balance_transaction"
        );
        let refund = forms.refund(id.into(), "pi_1", 1999);
        assert_eq!(
            String::from_utf8(refund).unwrap(),
            "payment_intent=pi_1&amount=1999&reason=requested_by_customer\
             &metadata%5Breference%5D=00000000-0000-0000-0000-000000000001&metadata%5Bdeployment%5D=here+%26+now"
        );
    }
}
