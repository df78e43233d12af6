//! The table `review`: questions for operators, and their resolutions.

use audit::Operator;
use contracts::{PaymentId, RefundId};
use database::functions::clock_timestamp;
use database::{Connection, Result, Tx, unreadable};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use envelope::TenantId;
use serde_json::Value;
use uuid::Uuid;

use crate::domain::review::{Reason, Resolution, Subject};
use crate::schema::review;

/// A stored review.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = review)]
pub(crate) struct ReviewRow {
    pub(crate) id: Uuid,
    tenant_id: Option<String>,
    subject: String,
    subject_id: String,
    payment_id: Option<Uuid>,
    pub(crate) reason: Reason,
    pub(crate) resolution: Option<Resolution>,
}

impl ReviewRow {
    pub(crate) fn tenant(&self) -> Result<Option<TenantId>> {
        let tenant = self.tenant_id.as_deref().map(str::parse).transpose();
        tenant.map_err(|_| unreadable("review.tenant_id"))
    }

    pub(crate) fn subject(&self) -> Result<Subject<'_>> {
        let unreadable = || unreadable("review.subject");
        let id = || self.subject_id.parse::<Uuid>().map_err(|_| unreadable());
        match (self.subject.as_str(), self.payment_id) {
            ("payment", _) => Ok(Subject::Payment(id()?.into())),
            ("refund", Some(payment)) => Ok(Subject::Refund(payment.into(), id()?.into())),
            ("orphan", _) => Ok(Subject::Orphan(&self.subject_id)),
            _ => Err(unreadable()),
        }
    }

    /// `payment`, `refund` or `orphan`.
    pub(crate) fn subject_name(&self) -> &str {
        &self.subject
    }

    /// Our id of a payment or refund; the processor's id of an orphan.
    pub(crate) fn subject_id(&self) -> &str {
        &self.subject_id
    }

    /// The payment; `None` for an orphan.
    pub(crate) fn payment(&self) -> Option<PaymentId> {
        self.payment_id.map(PaymentId::from)
    }
}

/// A review to open.
#[derive(Debug)]
pub(crate) struct NewReview<'a> {
    /// `None` for an orphan.
    pub(crate) tenant: Option<&'a TenantId>,
    pub(crate) subject: Subject<'a>,
    pub(crate) reason: Reason,
    /// What the service observed: a JSON object without keys and cards.
    pub(crate) details: Value,
}

/// Inserts a review and returns its id; `None` if a review of the same subject and reason is open.
pub(crate) async fn insert(tx: &mut Tx, new: &NewReview<'_>) -> Result<Option<Uuid>> {
    let (subject, subject_id, payment) = columns_of(new.subject);
    let id = Uuid::now_v7();
    let inserted = diesel::insert_into(review::table)
        .values((
            review::id.eq(id),
            review::tenant_id.eq(new.tenant.map(TenantId::as_str)),
            review::subject.eq(subject),
            review::subject_id.eq(subject_id),
            review::payment_id.eq(payment.map(PaymentId::uuid)),
            review::reason.eq(new.reason),
            review::details.eq(&new.details),
        ))
        .on_conflict_do_nothing()
        .execute(tx)
        .await?;
    Ok((inserted == 1).then_some(id))
}

fn columns_of(subject: Subject<'_>) -> (&'static str, String, Option<PaymentId>) {
    match subject {
        Subject::Payment(payment) => ("payment", payment.to_string(), Some(payment)),
        Subject::Refund(payment, refund) => ("refund", refund.to_string(), Some(payment)),
        Subject::Orphan(object) => ("orphan", object.to_owned(), None),
    }
}

/// Finds a review.
pub(crate) async fn find(connection: &mut Connection, id: Uuid) -> Result<Option<ReviewRow>> {
    let row = review::table.find(id).select(ReviewRow::as_select());
    Ok(row.first(connection).await.optional()?)
}

/// Locks a review. Its payment, if it has one, is locked.
pub(crate) async fn lock(tx: &mut Tx, id: Uuid) -> Result<ReviewRow> {
    Ok(review::table.find(id).select(ReviewRow::as_select()).for_update().first(tx).await?)
}

/// The reasons of a review about a failed refund.
const OF_FAILED_REFUND: [Reason; 2] = [Reason::RefundFailed, Reason::RefundReturned];

/// Locks the open review of a failed refund, if there is one. Its payment is locked.
pub(crate) async fn lock_open_of_failed(tx: &mut Tx, refund: RefundId) -> Result<Option<ReviewRow>> {
    let row = review::table
        .filter(review::subject.eq("refund"))
        .filter(review::subject_id.eq(refund.to_string()))
        .filter(review::reason.eq_any(OF_FAILED_REFUND))
        .filter(review::resolution.is_null())
        .select(ReviewRow::as_select())
        .for_update();
    Ok(row.first(tx).await.optional()?)
}

/// Returns whether an operator has resolved that the payer has the money of this refund back.
pub(crate) async fn is_paid_back(tx: &mut Tx, refund: RefundId) -> Result<bool> {
    let paid_back = review::table
        .filter(review::subject.eq("refund"))
        .filter(review::subject_id.eq(refund.to_string()))
        .filter(review::resolution.eq(Resolution::Refunded));
    Ok(diesel::select(diesel::dsl::exists(paid_back)).get_result(tx).await?)
}

/// Returns whether an operator has resolved a review with the same subject, reason and details.
pub(crate) async fn is_resolved(tx: &mut Tx, new: &NewReview<'_>) -> Result<bool> {
    let (subject, subject_id, _) = columns_of(new.subject);
    let same = review::table
        .filter(review::subject.eq(subject))
        .filter(review::subject_id.eq(subject_id))
        .filter(review::reason.eq(new.reason))
        .filter(review::details.eq(&new.details))
        .filter(review::resolution.is_not_null());
    Ok(diesel::select(diesel::dsl::exists(same)).get_result(tx).await?)
}

/// Stores the resolution of a review, which is locked and open.
///
/// It also resolves the reviews of the same subject that the resolution itself has opened.
pub(crate) async fn resolve(
    tx: &mut Tx,
    row: &ReviewRow,
    resolution: Resolution,
    by: &Operator,
) -> Result<()> {
    let follows = review::reason.eq_any(OF_FAILED_REFUND);
    let same_subject = review::subject.eq(&row.subject).and(review::subject_id.eq(&row.subject_id));
    let resolved = review::id.eq(row.id).or(same_subject.and(follows));
    diesel::update(review::table.filter(review::resolution.is_null()).filter(resolved))
        .set((
            review::resolution.eq(resolution),
            review::resolved_by.eq(by.actor()),
            review::note.eq(by.reason()),
            review::resolved_at.eq(clock_timestamp().nullable()),
        ))
        .execute(tx)
        .await?;
    Ok(())
}
