//! The problems that only `payments` has.

use edge::problem_types;

problem_types! {
    /// The card's bank said no.
    CARD_DECLINED = "card-declined", 402, "The card was declined", retryable: false;
    /// The processor finds the charge wrong.
    CHARGE_REJECTED = "charge-rejected", 422, "The processor does not accept the charge", retryable: false;
    /// Provably nothing was taken, this time.
    PAYMENT_NOT_EXECUTED = "payment-not-executed", 503, "The charge was not made", retryable: true;
    /// Nothing was taken within the payment's life.
    PAYMENT_EXPIRED = "payment-expired", 409, "The payment has expired", retryable: false;
    /// A mistake of ours that trying again does not mend.
    OPERATION_FAILED = "operation-failed", 500, "The operation cannot be carried out", retryable: false;
    /// Its order may still be cancelled, or confirmed.
    PAYMENT_UNCONFIRMED = "payment-unconfirmed", 409, "The order is not confirmed yet", retryable: true;
    /// What was taken goes back by itself.
    PAYMENT_CANCELLED = "payment-cancelled", 409, "The order is cancelled", retryable: false;
    /// There is nothing to give back.
    PAYMENT_NOT_CAPTURED = "payment-not-captured", 409, "Nothing was taken", retryable: false;
    /// More than is left of what was taken.
    REFUND_EXCEEDS_CAPTURE = "refund-exceeds-capture", 422, "That much cannot be given back", retryable: false;
    /// Not the payment's currency.
    REFUND_CURRENCY = "refund-currency", 422, "The payment has another currency", retryable: false;
    /// The processor refused it.
    REFUND_FAILED = "refund-failed", 422, "The refund failed", retryable: false;
    /// Nobody shows that it comes from the processor.
    WEBHOOK_REFUSED = "webhook-refused", 400, "The event is not the processor's", retryable: false;
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_problem_is_in_the_catalogue() {
        let catalogue = include_str!("../../../docs/problems.md");
        for kind in super::ALL {
            let heading = format!("## {}\n", kind.code);
            let section = catalogue.split(&heading).nth(1);
            let section = section.unwrap_or_else(|| panic!("docs/problems.md has no {heading}"));
            let status = format!("Status {}", kind.status);
            assert!(
                section.lines().take(3).any(|line| line.contains(&status)),
                "{} lacks its status",
                kind.code
            );
        }
    }
}
