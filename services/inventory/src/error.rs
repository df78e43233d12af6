//! The problems that only `inventory` has, and how its rejections become answers.

use edge::{CommandError, ProblemType};

use crate::domain::{Impossible, Rejection, Stock};

/// Not enough is on hand, or what is there is held for orders.
pub(crate) const STOCK_INSUFFICIENT: ProblemType = ProblemType {
    code: "stock-insufficient",
    status: 409,
    title: "There is not enough stock",
    retryable: false,
};

/// Above the limit.
pub(crate) const STOCK_LIMIT: ProblemType =
    ProblemType { code: "stock-limit", status: 422, title: "The stock would be too large", retryable: false };

/// All of them.
#[cfg(test)]
const ALL: &[&ProblemType] = &[&STOCK_INSUFFICIENT, &STOCK_LIMIT];

impl From<Rejection> for CommandError {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Insufficient(stock) => {
                let Stock { on_hand, reserved } = stock;
                let detail = format!(
                    "{on_hand} are on hand and {reserved} of them are held for orders, so {} can be taken. Adjust by \
                     less, or wait until orders have shipped or were cancelled; then use a new key.",
                    stock.available(),
                );
                Self::rejected(&STOCK_INSUFFICIENT, detail)
            }
            Rejection::TooMany(Stock { on_hand, .. }) => {
                let detail = format!("{on_hand} are on hand; an item can have {} at most.", Stock::MAX);
                Self::rejected(&STOCK_LIMIT, detail)
            }
        }
    }
}

impl From<Impossible> for inbox::HandlerError {
    fn from(impossible: Impossible) -> Self {
        Self::Refused(impossible.to_string())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_problem_is_in_the_catalogue() {
        let catalogue = include_str!("../../../docs/problems.md");
        for kind in super::ALL {
            let heading = format!("## {}\n", kind.code);
            let section = catalogue
                .split(&heading)
                .nth(1)
                .unwrap_or_else(|| panic!("docs/problems.md has no {heading}"));
            let names_status = section.lines().take(3).any(|line| line.contains(&kind.status.to_string()));
            assert!(names_status, "{} lacks its status", kind.code);
        }
    }
}
