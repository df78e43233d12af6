//! Which failed refunds the service makes again by itself, and when.

use std::time::Duration;

use crate::domain::Backoff;

/// The refusals that pass: the same refund may be accepted later, and nobody has to change it.
///
/// Every other code needs a person. A code that is missing here costs a review; a wrong one costs useless requests.
const PASSING_REFUSALS: [&str; 1] = [
    // Our balance at the processor does not cover the refund.
    "balance_insufficient",
];

/// A refund that the processor has refused.
#[derive(Debug, Clone, Copy)]
pub struct RefusedRefund<'a> {
    /// The service requested it. A client's refund is the client's to repeat.
    pub is_automatic: bool,
    /// Its number among the tries of the same refund, from 1.
    pub try_number: i32,
    /// The processor's reason.
    pub code: &'a str,
}

/// How often an automatic refund is made, and the pauses between its tries.
#[derive(Debug, Clone, Copy)]
pub struct RefundRetries {
    /// The greatest number of tries. Each try is a refund of its own. After the last one, a review is opened.
    pub tries: i32,
    /// The pauses between the tries.
    pub backoff: Backoff,
}

impl RefundRetries {
    /// Returns the pause after which the service makes the refund again; `None` if it does not.
    pub fn pause_after(&self, refused: RefusedRefund<'_>) -> Option<Duration> {
        let RefusedRefund { is_automatic, try_number, code } = refused;
        let is_made_again = is_automatic && try_number < self.tries && PASSING_REFUSALS.contains(&code);
        is_made_again.then(|| self.backoff.after(try_number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    #[test]
    fn only_a_passing_refusal_of_an_automatic_refund_is_made_again_and_only_so_often() {
        let retries = RefundRetries { tries: 8, backoff: Backoff { first: HOUR, longest: 24 * HOUR } };
        let refused = RefusedRefund { is_automatic: true, try_number: 1, code: "balance_insufficient" };
        for (refund, expected) in [
            (refused, Some(HOUR)),
            (RefusedRefund { try_number: 2, ..refused }, Some(2 * HOUR)),
            (RefusedRefund { try_number: 5, ..refused }, Some(16 * HOUR)),
            (RefusedRefund { try_number: 6, ..refused }, Some(24 * HOUR)),
            (RefusedRefund { try_number: 7, ..refused }, Some(24 * HOUR)),
            (RefusedRefund { try_number: 8, ..refused }, None),
            (RefusedRefund { is_automatic: false, ..refused }, None),
            (RefusedRefund { code: "charge_already_refunded", ..refused }, None),
            (RefusedRefund { code: "charge_disputed", ..refused }, None),
            (RefusedRefund { code: "by_review", ..refused }, None),
        ] {
            assert_eq!(retries.pause_after(refund), expected, "{refund:?}");
        }
    }
}
