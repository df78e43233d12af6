//! Formats numbers and times for people.

use std::fmt;

/// A time in seconds, printed in the unit of its size. A negative time prints as zero.
pub(super) struct RoundedTime(pub(super) f64);

impl fmt::Display for RoundedTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.max(0.0) {
            seconds if seconds < 120.0 => write!(f, "{seconds:.1} s"),
            seconds if seconds < 7_200.0 => write!(f, "{:.0} min", seconds / 60.0),
            seconds if seconds < 172_800.0 => write!(f, "{:.1} h", seconds / 3_600.0),
            seconds => write!(f, "{:.1} days", seconds / 86_400.0),
        }
    }
}

/// A number that is not negative, printed with a comma between groups of three digits.
pub(super) struct GroupedDigits<N>(pub(super) N);

impl<N: fmt::Display> fmt::Display for GroupedDigits<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (index, digit) in digits.char_indices() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
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
    fn digits_are_grouped_by_three() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(GroupedDigits(number).to_string(), text);
        }
    }

    #[test]
    fn a_time_is_printed_in_the_unit_of_its_size() {
        for (seconds, text) in [
            (-1.0, "0.0 s"),
            (3.25, "3.2 s"),
            (600.0, "10 min"),
            (10_000.0, "2.8 h"),
            (864_000.0, "10.0 days"),
        ] {
            assert_eq!(RoundedTime(seconds).to_string(), text);
        }
    }
}
