//! The questions of `audits/`, and what they find. What spans databases or topics is joined here from facts.

pub(crate) mod delivery;
pub(crate) mod settlement;

use crate::books::Books;
use crate::stack::Part;
use crate::trouble::Trouble;

/// One question.
pub(crate) struct Audit {
    /// Its file, below `audits/`.
    pub(crate) file: &'static str,
    /// The databases that it is asked of.
    pub(crate) of: &'static [Part],
    query: &'static str,
}

macro_rules! audits {
    ($($of:expr => [$($file:literal),* $(,)?]),* $(,)?) => {
        &[$($(Audit { file: $file, of: $of, query: include_str!(concat!("../../../../audits/", $file)) }),*),*]
    };
}

/// All of them.
pub(crate) const ALL: &[Audit] = audits! {
    &Part::SERVICES => [
        "reliability/an_answer_is_kept.sql",
        "reliability/an_intent_has_one_fact.sql",
        "reliability/a_history_has_no_gap.sql",
        "reliability/an_event_is_told_once.sql",
        "reliability/what_was_committed_is_published.sql",
        "reliability/a_message_is_applied_once.sql",
        "reliability/nothing_waits_in_the_inbox.sql",
    ],
    &[Part::Orders] => [
        "orders/an_order_was_asked_for_once.sql",
        "orders/an_order_ends_in_time.sql",
        "orders/an_order_tells_its_story.sql",
    ],
    &[Part::Inventory] => [
        "inventory/stock_is_conserved.sql",
        "inventory/a_reservation_ships_what_it_held.sql",
        "inventory/a_price_change_has_one_fact.sql",
        "inventory/tenants_stay_apart.sql",
    ],
    &[Part::Payments] => [
        "payments/refunds_stay_within_the_capture.sql",
        "payments/a_cancelled_order_keeps_no_money.sql",
        "payments/an_intent_belongs_to_one_wish.sql",
        "payments/money_is_settled.sql",
    ],
    &[Part::Provider] => [
        "provider/a_payment_is_charged_once.sql",
        "provider/refunds_stay_within_the_charge.sql",
    ],
};

impl Audit {
    /// What is wrong, in sentences; empty if the promise holds.
    pub(crate) async fn ask(&self, books: &Books, part: Part) -> Result<Vec<String>, Trouble> {
        books.violations(part, self.query).await
    }

    /// The command that asks it.
    pub(crate) fn command(&self, part: Part) -> String {
        format!("./dev psql {} <audits/{}", part.name(), self.file)
    }
}

/// All questions as text, each after the commands that ask it.
pub(crate) fn as_commands() -> String {
    let mut text = String::new();
    for audit in ALL {
        for part in audit.of {
            text.extend(["# ", &audit.command(*part), "\n"]);
        }
        text.push_str(audit.query);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests;
