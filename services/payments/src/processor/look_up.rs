//! Looks up at the processor whether a request took effect, and reads its lists page by page.
//!
//! The processor's lists cannot filter by metadata, and its search lags behind. An object without a known id is
//! therefore searched for among all objects of the time of the attempts, to the last page.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};

use super::classify::{Page, classify, classify_found, read_page};
use super::client::Processor;
use super::objects::Object;
use super::request_bodies::ObjectTag;
use super::response::{Movement, ProcessorResponse};
use crate::domain::{AttemptOutcome, CallKind, LookupResult, UnknownReason, time_delta};

/// The largest page that the processor returns.
const PAGE_LENGTH: &str = "100";
/// The greatest supported difference between the processor's clock and the clock of our database.
pub(crate) const MAX_CLOCK_SKEW: TimeDelta = TimeDelta::minutes(5);
/// Asks for the fee in the same response as the `PaymentIntent`.
const EXPAND_FEE: (&str, &str) = ("expand[]", "latest_charge.balance_transaction");

/// A lookup of one earlier request.
pub struct Lookup {
    /// The movement that was requested.
    pub movement: Movement,
    /// The processor's id of the object, if something has named it. It counts only if it has the tag, or the scope permits.
    pub object: Option<String>,
    /// Where to search, if the id is not known or names another object.
    pub scope: LookupScope,
    /// The tag of the object.
    pub tag: ObjectTag,
    /// The key of the request. A `PaymentIntent` that waits for an absent customer is cancelled with a key made of it.
    pub key: String,
}

/// The list that a lookup searches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookupScope {
    /// The refunds of the `PaymentIntent` with this id.
    RefundsOf(String),
    /// Only the object with the known id, also without the tag: an operator has attached it.
    KnownObject,
    /// All objects that were created between these times.
    CreatedBetween(DateTime<Utc>, DateTime<Utc>),
}

impl LookupScope {
    /// The period in which requests can have taken effect: from the first one to the end of the last one's lease, widened by
    /// the clock skew on both sides. Later objects are not searched, so the cost of a lookup does not grow with time.
    pub fn of_attempts(first: DateTime<Utc>, last: DateTime<Utc>, lease: Duration) -> Self {
        let until = last.checked_add_signed(time_delta(lease));
        let until = until.and_then(|end| end.checked_add_signed(MAX_CLOCK_SKEW));
        Self::CreatedBetween(first - MAX_CLOCK_SKEW, until.unwrap_or(DateTime::<Utc>::MAX_UTC))
    }
}

impl Processor {
    /// Looks up the effect of an earlier request.
    ///
    /// It changes nothing at the processor, with one exception: a `PaymentIntent` that waits for an absent customer is
    /// cancelled.
    pub async fn look_up(&self, lookup: &Lookup) -> LookupResult {
        let until = self.deadline();
        let known = match &lookup.object {
            Some(id) => self.read(lookup, id, until).await,
            None => LookupResult::NotFound,
        };
        let result = match (known, &lookup.scope) {
            (LookupResult::NotFound, LookupScope::RefundsOf(id)) => {
                self.search(lookup, &[("payment_intent", id)], until).await
            }
            (LookupResult::NotFound, LookupScope::CreatedBetween(from, to)) => {
                let (from, to) = (from.timestamp().to_string(), to.timestamp().to_string());
                self.search(lookup, &[("created[gte]", &from), ("created[lte]", &to)], until).await
            }
            (LookupResult::NotFound, LookupScope::KnownObject) => LookupResult::NotFound,
            (known @ (LookupResult::Found { .. } | LookupResult::Unanswered(_)), _) => known,
        };
        match result {
            LookupResult::Found { object, outcome: AttemptOutcome::RequiresAction { .. } } => {
                let outcome = self.cancel_waiting(lookup.movement, &lookup.key, &object, until).await;
                LookupResult::Found { object, outcome }
            }
            result => result,
        }
    }

    async fn read(&self, lookup: &Lookup, id: &str, until: Instant) -> LookupResult {
        let movement = lookup.movement;
        let query: &[_] = if matches!(movement, Movement::Charge(_)) { &[EXPAND_FEE] } else { &[] };
        let response = self.get(&["v1", movement.collection(), id], query, until).await;
        if let ProcessorResponse::Received { status: 200, body, .. } = &response
            && lookup.scope != LookupScope::KnownObject
            && Object::read(body).is_some_and(|object| !has_tag(&object, &lookup.tag))
        {
            return LookupResult::NotFound;
        }
        let found = |outcome| LookupResult::Found { object: id.to_owned(), outcome };
        match (&response, classify(movement, &response)) {
            (ProcessorResponse::Received { status: 404, .. }, AttemptOutcome::Rejected { .. }) => {
                LookupResult::NotFound
            }
            (
                _,
                AttemptOutcome::Unknown(reason @ (UnknownReason::AmountMismatch | UnknownReason::Duplicate)),
            ) => found(AttemptOutcome::Unknown(reason)),
            (ProcessorResponse::Received { status: 200, .. }, outcome)
                if !matches!(outcome, AttemptOutcome::Unknown(_)) =>
            {
                found(outcome)
            }
            (
                ProcessorResponse::NotSent | ProcessorResponse::Lost | ProcessorResponse::Received { .. },
                outcome,
            ) => LookupResult::Unanswered(outcome),
        }
    }

    /// Searches all pages. The tagged object may be on the last page, and there may be several.
    async fn search(&self, lookup: &Lookup, filter: &[(&str, &str)], until: Instant) -> LookupResult {
        let (mut found, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let objects = lookup.movement.collection();
            let page = match self.page(objects, filter, cursor.as_deref(), until).await {
                Ok(page) => page,
                Err(outcome) => return LookupResult::Unanswered(outcome),
            };
            found.extend(page.items.into_iter().filter(|item| has_tag(item, &lookup.tag)));
            match page.next {
                Some(next) => cursor = Some(next),
                None => return classify_found(lookup.movement, found),
            }
        }
    }

    /// Reads a page of the objects that were created since a time, newest first. `cursor` comes from the previous page. The error
    /// is the outcome of the request.
    pub async fn list(
        &self,
        kind: CallKind,
        since: DateTime<Utc>,
        cursor: Option<&str>,
    ) -> Result<Page, AttemptOutcome> {
        let objects = match kind {
            CallKind::Charge => "payment_intents",
            CallKind::Refund => "refunds",
        };
        let since = since.timestamp().to_string();
        self.page(objects, &[("created[gte]", &since)], cursor, self.deadline()).await
    }

    async fn page(
        &self,
        objects: &str,
        filter: &[(&str, &str)],
        cursor: Option<&str>,
        until: Instant,
    ) -> Result<Page, AttemptOutcome> {
        let mut query = filter.to_vec();
        query.push(("limit", PAGE_LENGTH));
        query.extend(cursor.map(|cursor| ("starting_after", cursor)));
        let page = read_page(&self.get(&["v1", objects], &query, until).await)?;
        if page.next.is_some() && page.next.as_deref() == cursor {
            // The list ignores the cursor. A lookup would ask for the same page until its deadline.
            return Err(AttemptOutcome::Unknown(UnknownReason::Unreadable { status: 200 }));
        }
        Ok(page)
    }
}

fn has_tag(object: &Object, tag: &ObjectTag) -> bool {
    object.reference() == Some(&tag.reference) && object.deployment() == Some(&tag.deployment)
}
