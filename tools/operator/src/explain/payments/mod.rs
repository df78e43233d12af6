//! Reads the rows of payments: the payment of the order, its processor calls, refunds, ledger entries and reviews.

mod rows;

use audits::Database;
use diesel::sql_query;
use diesel::sql_types::{Array, Text, Uuid as SqlUuid};
use harness::{Result, Session};
use uuid::Uuid;

pub(crate) use rows::{CallRow, EntryRow, PaymentRow, RefundRow, ReviewRow};

use super::line::{FactLine, Step, money, shown};
use super::provider::Attempts;
use super::requests::RequestRow;

/// The payment with its history.
#[derive(Debug, Clone)]
pub(crate) struct MoneyFacts {
    pub(crate) payment: PaymentRow,
    pub(crate) calls: Vec<CallRow>,
    pub(crate) refunds: Vec<RefundRow>,
    entries: Vec<EntryRow>,
    pub(crate) reviews: Vec<ReviewRow>,
    requests: Vec<RequestRow>,
}

impl MoneyFacts {
    /// `None` if no payment was requested for the order.
    pub(crate) async fn read(session: &mut Session, order: Uuid) -> Result<Option<Self>> {
        let query = sql_query(PaymentRow::QUERY).bind::<SqlUuid, _>(order);
        let Some(payment) = session.rows::<PaymentRow, _>(query).await?.pop() else {
            return Ok(None);
        };
        let query = sql_query(RefundRow::QUERY).bind::<SqlUuid, _>(payment.id);
        let refunds: Vec<RefundRow> = session.rows(query).await?;
        let ids: Vec<Uuid> =
            std::iter::once(payment.id).chain(refunds.iter().map(|refund| refund.id)).collect();
        let query = sql_query(CallRow::QUERY).bind::<Array<SqlUuid>, _>(ids.clone());
        let calls = session.rows(query).await?;
        let query = sql_query(EntryRow::QUERY).bind::<SqlUuid, _>(payment.id);
        let entries = session.rows(query).await?;
        let subjects: Vec<String> = ids.iter().map(Uuid::to_string).collect();
        let query = sql_query(ReviewRow::QUERY).bind::<Array<Text>, _>(subjects);
        let reviews = session.rows(query).await?;
        // The fact of money that a message moves has the id of the payment or refund as its operation.
        let operations = ids.into_iter().chain(refunds.iter().filter_map(|refund| refund.operation_id));
        let requests = RequestRow::read(session, operations.collect()).await?;
        Ok(Some(Self { payment, calls, refunds, entries, reviews, requests }))
    }

    /// The processor's id of the `PaymentIntent`, with the attempts that can have created it.
    pub(crate) fn intent(&self) -> Option<(&str, Attempts)> {
        let charge = self.calls.iter().find(|call| call.id == self.payment.id)?;
        let named = self.payment.processor_intent.as_deref().or(charge.processor_object.as_deref())?;
        let first = charge.sent_since.unwrap_or(charge.created_at);
        Some((named, Attempts { first, last: charge.last_sent_at.unwrap_or(first) }))
    }

    /// Whether the outcome of this payment or refund is open.
    pub(crate) fn is_unsettled(&self, id: Uuid) -> bool {
        let refund = self.refunds.iter().find(|refund| refund.id == id);
        let state = refund.map_or(&self.payment.state, |refund| &refund.state);
        matches!(state.as_str(), "requested" | "capturing" | "unknown" | "pending")
    }

    /// The amount of the refunds in this state.
    pub(crate) fn refunded(&self, is: impl Fn(&str) -> bool) -> i64 {
        self.refunds.iter().filter(|refund| is(&refund.state)).map(|refund| refund.amount).sum()
    }

    pub(crate) fn lines(&self) -> Vec<FactLine> {
        let mut lines: Vec<FactLine> = self.payment_lines().chain(self.refund_lines()).collect();
        lines.extend(self.calls.iter().map(call_line));
        lines.extend(self.ledger_lines());
        lines.extend(self.reviews.iter().flat_map(review_lines));
        lines.extend(self.requests.iter().filter_map(|request| request.line(Database::Payments, None)));
        lines
    }

    fn payment_lines(&self) -> impl Iterator<Item = FactLine> {
        let PaymentRow { id, amount, currency, state, decline_code, cancel_requested, .. } = &self.payment;
        let requested = format!("payment {id}: {} requested", money(*amount, currency));
        let code = decline_code.as_deref().map(|code| format!(": {code}")).unwrap_or_default();
        let cancelled = if *cancel_requested { "; the order is cancelled" } else { "" };
        let now = format!("payment, last change: {state}{code}{cancelled}");
        let changed = (self.payment.updated_at > self.payment.created_at).then_some(now);
        let line = |at, text| FactLine::new(at, Database::Payments, Step::Row, text);
        std::iter::once(line(self.payment.created_at, requested))
            .chain(changed.map(|text| line(self.payment.updated_at, text)))
    }

    fn refund_lines(&self) -> impl Iterator<Item = FactLine> {
        self.refunds.iter().flat_map(|refund| {
            let amount = money(refund.amount, &self.payment.currency);
            let code = refund.failure_code.as_deref().map(|code| format!(": {code}")).unwrap_or_default();
            let named = refund.processor_refund.as_deref().map(|id| format!(", {id}")).unwrap_or_default();
            let (id, cause, state) = (refund.id, &refund.cause, &refund.state);
            let line = |at, text| FactLine::new(at, Database::Payments, Step::Row, text);
            let ended = (state != "pending")
                .then(|| line(refund.updated_at, format!("refund {id}: {state}{code}{named}")));
            let opened = line(refund.created_at, format!("refund {id}: {amount} pending, cause {cause}"));
            std::iter::once(opened).chain(ended)
        })
    }

    /// One line for each transaction of the ledger, with its entries.
    fn ledger_lines(&self) -> impl Iterator<Item = FactLine> {
        self.entries.chunk_by(|one, next| one.id == next.id).filter_map(|entries| {
            let EntryRow { id, kind, recorded_at, .. } = entries.first()?;
            let entry = |row: &EntryRow| format!("{} {}", row.account, money(row.amount, &row.currency));
            let entries: Vec<String> = entries.iter().map(entry).collect();
            let text = format!("transaction {id}, {kind}: {}", entries.join(", "));
            Some(FactLine::new(*recorded_at, Database::Payments, Step::Ledger, text))
        })
    }
}

fn call_line(call: &CallRow) -> FactLine {
    let at = call.last_sent_at.or(call.sent_since).unwrap_or(call.created_at);
    let outcome = call.last_outcome.as_deref().unwrap_or("none yet");
    let CallRow { kind, attempt, mode, look_ups, .. } = call;
    let text = format!(
        "{kind}: {attempt} attempts, mode {mode}, {look_ups} lookups without a result, last outcome: {outcome}; {}",
        call.next()
    );
    FactLine::new(at, Database::Payments, Step::Call, text)
}

fn review_lines(review: &ReviewRow) -> impl Iterator<Item = FactLine> + use<> {
    let line = |at, text: String| FactLine::new(at, Database::Payments, Step::Review, text);
    let ReviewRow { id, subject, reason, resolution, resolved_by, .. } = review;
    let opened = line(review.opened_at, format!("review {id} of the {subject} opened: {reason}"));
    let by = resolved_by.as_deref().unwrap_or("?");
    let resolved = review
        .resolved_at
        .zip(resolution.as_deref())
        .map(|(at, resolution)| line(at, format!("review {id} resolved as {resolution} by {by}")));
    std::iter::once(opened).chain(resolved)
}

impl CallRow {
    /// The next step of the worker for this call.
    pub(crate) fn next(&self) -> String {
        match self.due_at {
            None => "finished".to_owned(),
            Some(at) if self.in_flight => {
                format!("an attempt is in progress, its lease ends at {}", shown(at))
            }
            Some(at) => format!("due at {}", shown(at)),
        }
    }
}
