//! Reads the processor's books: what became of one request of ours, and page by page everything there is.
//!
//! Its lists do not filter by metadata and its search lags behind, so what has no name yet is looked for among
//! everything that was made since the first attempt, to the last page.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};

use super::classify::{Answer, Asked, classify, classify_found};
use super::client::Processor;
use super::forms::Mark;
use super::objects::{Listed, Page, read_page};
use crate::domain::{Doubt, Finding, Outcome};

/// The most that the processor gives in one page.
const PAGE: &str = "100";
/// How far the processor's clock may be from our database's.
pub(crate) const SKEW: TimeDelta = TimeDelta::minutes(5);
/// Tells the fee along with the payment intent.
const EXPAND: (&str, &str) = ("expand[]", "latest_charge.balance_transaction");

/// What is looked for.
pub struct LookUp {
    /// What was asked for.
    pub asked: Asked,
    /// Where to look.
    pub place: Place,
    /// What it bears.
    pub mark: Mark,
    /// The key that it was asked under: what waits for an absent customer is cancelled by it.
    pub key: String,
}

/// Where to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Under the processor's own name.
    Object(String),
    /// Among the refunds of this payment intent of the processor's.
    RefundsOf(String),
    /// Among everything that was made between these two.
    Window(DateTime<Utc>, DateTime<Utc>),
}

impl Place {
    /// Everything that may have been made under a key that was used from `since` on, for so long.
    pub fn window(since: DateTime<Utc>, key_life: Duration) -> Self {
        let life = TimeDelta::from_std(key_life).unwrap_or(TimeDelta::MAX);
        let until = since.checked_add_signed(life).and_then(|end| end.checked_add_signed(SKEW));
        Self::Window(since - SKEW, until.unwrap_or(DateTime::<Utc>::MAX_UTC))
    }
}

impl Processor {
    /// Looks what became of it. It changes nothing there, but that an intent which waits for an absent customer is
    /// cancelled.
    pub async fn look_up(&self, wanted: &LookUp) -> Finding {
        let until = self.deadline();
        let finding = match &wanted.place {
            Place::Object(id) => self.read(wanted.asked, id, until).await,
            Place::RefundsOf(intent) => self.search(wanted, &[("payment_intent", intent)], until).await,
            Place::Window(from, to) => {
                let (from, to) = (from.timestamp().to_string(), to.timestamp().to_string());
                self.search(wanted, &[("created[gte]", &from), ("created[lte]", &to)], until).await
            }
        };
        match finding {
            Finding::Found { object, outcome: Outcome::RequiresAction { .. } } => {
                let outcome = self.abandon(wanted.asked, &wanted.key, &object, until).await;
                Finding::Found { object, outcome }
            }
            finding => finding,
        }
    }

    async fn read(&self, asked: Asked, id: &str, until: Instant) -> Finding {
        let answer = match asked {
            Asked::Charge(_) => self.get(&["v1", "payment_intents", id], &[EXPAND], until).await,
            Asked::Refund(_) => self.get(&["v1", "refunds", id], &[], until).await,
        };
        match (&answer, classify(asked, &answer)) {
            (Answer::Reply { status: 404, .. }, Outcome::Rejected { .. }) => Finding::Missing,
            (_, Outcome::Unknown(doubt @ (Doubt::OtherAmount | Doubt::DoneTwice))) => {
                Finding::Found { object: id.to_owned(), outcome: Outcome::Unknown(doubt) }
            }
            (Answer::Reply { status: 200, .. }, outcome) if !matches!(outcome, Outcome::Unknown(_)) => {
                Finding::Found { object: id.to_owned(), outcome }
            }
            (Answer::NotSent | Answer::Lost | Answer::Reply { .. }, outcome) => Finding::Unanswered(outcome),
        }
    }

    /// Looks through every page: what bears our mark may stand on the last one, and more than once.
    async fn search(&self, wanted: &LookUp, filter: &[(&str, &str)], until: Instant) -> Finding {
        let (mut found, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let page = match self.page(path_of(wanted.asked), filter, cursor.as_deref(), until).await {
                Ok(page) => page,
                Err(outcome) => return Finding::Unanswered(outcome),
            };
            found.extend(page.items.into_iter().filter(|item| item.bears(&wanted.mark)));
            match page.next {
                Some(next) => cursor = Some(next),
                None => return classify_found(wanted.asked, found),
            }
        }
    }

    /// A page of the payment intents that were made since then, newest first; `cursor` is the page's before it. If it
    /// cannot be read: what came instead.
    pub async fn payment_intents(&self, since: DateTime<Utc>, cursor: Option<&str>) -> Result<Page, Outcome> {
        self.page(
            "payment_intents",
            &[("created[gte]", &since.timestamp().to_string())],
            cursor,
            self.deadline(),
        )
        .await
    }

    /// A page of the refunds that were made since then; see [`Self::payment_intents`].
    pub async fn refunds(&self, since: DateTime<Utc>, cursor: Option<&str>) -> Result<Page, Outcome> {
        self.page("refunds", &[("created[gte]", &since.timestamp().to_string())], cursor, self.deadline())
            .await
    }

    async fn page(
        &self,
        objects: &str,
        filter: &[(&str, &str)],
        cursor: Option<&str>,
        until: Instant,
    ) -> Result<Page, Outcome> {
        let mut query = filter.to_vec();
        query.push(("limit", PAGE));
        query.extend(cursor.map(|cursor| ("starting_after", cursor)));
        let page = read_page(&self.get(&["v1", objects], &query, until).await)?;
        if page.next.is_some() && page.next.as_deref() == cursor {
            // It does not go on from where it was asked to: read like this, it would never end.
            return Err(Outcome::Unknown(Doubt::Unreadable { status: 200 }));
        }
        Ok(page)
    }
}

impl Listed {
    fn bears(&self, mark: &Mark) -> bool {
        self.reference.as_ref() == Some(&mark.reference) && self.deployment.as_ref() == Some(&mark.deployment)
    }
}

fn path_of(asked: Asked) -> &'static str {
    match asked {
        Asked::Charge(_) => "payment_intents",
        Asked::Refund(_) => "refunds",
    }
}
