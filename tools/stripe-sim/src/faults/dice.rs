//! Repeatable chance: the result depends on seed, rule, route, reference and the number of the call alone. The order of
//! the calls of different references changes nothing.

use sha2::{Digest, Sha256};

/// One roll of the dice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Roll {
    /// The fault hits if this is below the rule's share: at least 0 and less than 1.
    pub(super) chance: f64,
    /// Chooses one of several kinds.
    pub(super) pick: u64,
    /// The part of a delay: at least 0 and less than 1.
    pub(super) spread: f64,
}

/// Rolls the dice for call `n`, from 1, of `reference` on `place`, a route or an event type.
pub(super) fn roll(seed: u64, rule: usize, place: &str, reference: &str, n: u64) -> Roll {
    let mut hash = Sha256::new();
    hash.update(seed.to_be_bytes());
    hash.update((rule as u64).to_be_bytes());
    for part in [place, reference] {
        // The length comes first. Otherwise two calls could give the same bytes.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.update(n.to_be_bytes());
    let hash: [u8; 32] = hash.finalize().into();
    let number =
        |at: usize| hash[at..at + 8].iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    Roll { chance: fraction(number(0)), pick: number(8), spread: fraction(number(16)) }
}

/// The upper 32 bits as a fraction. An f64 holds them exactly.
fn fraction(number: u64) -> f64 {
    f64::from((number >> 32) as u32) / 4_294_967_296.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_call_gets_the_same_fault_and_another_does_not() {
        let one = roll(1, 0, "GET /", "order 7", 1);
        assert_eq!(one, roll(1, 0, "GET /", "order 7", 1));
        for other in [
            roll(2, 0, "GET /", "order 7", 1),
            roll(1, 1, "GET /", "order 7", 1),
            roll(1, 0, "GET /o", "rder 7", 1),
            roll(1, 0, "GET /", "order 8", 1),
            roll(1, 0, "GET /", "order 7", 2),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn chances_are_spread_evenly() {
        let low = (0..1000).filter(|n| roll(7, 0, "route", &format!("order {n}"), 1).chance < 0.3).count();
        assert!((250..350).contains(&low), "{low} of 1000 below 0.3");
    }
}
