//! Numbers as people read them.

use std::fmt;

/// A length of time in seconds, as exact as anybody needs it.
pub(super) struct Length(pub(super) f64);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.max(0.0) {
            seconds if seconds < 120.0 => write!(f, "{seconds:.1} s"),
            seconds if seconds < 7_200.0 => write!(f, "{:.0} min", seconds / 60.0),
            seconds if seconds < 172_800.0 => write!(f, "{:.1} h", seconds / 3_600.0),
            seconds => write!(f, "{:.1} days", seconds / 86_400.0),
        }
    }
}

/// A number from 0 with its thousands apart.
pub(super) struct Number<N>(pub(super) N);

impl<N: fmt::Display> fmt::Display for Number<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (place, digit) in digits.char_indices() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(Number(number).to_string(), text);
        }
    }

    #[test]
    fn a_length_is_told_in_a_unit_of_its_size() {
        for (seconds, text) in [
            (-1.0, "0.0 s"),
            (3.25, "3.2 s"),
            (600.0, "10 min"),
            (10_000.0, "2.8 h"),
            (864_000.0, "10.0 days"),
        ] {
            assert_eq!(Length(seconds).to_string(), text);
        }
    }
}
