//! Opens reviews.

use database::{Tx, UnitOfWork};
use serde_json::json;

use crate::domain::review::{Reason, Subject};
use crate::metrics::count_review;
use crate::store::payments::PaymentRow;
use crate::store::reviews::{self, NewReview};

/// Opens a review. While a review of the same subject and reason is open, it changes nothing.
pub(crate) async fn open_review(tx: &mut Tx, new: NewReview<'_>) -> database::Result<()> {
    if let Some(review) = reviews::insert(tx, &new).await? {
        count_review(tx, new.reason);
        let (subject, reason) = (new.subject.to_string(), new.reason);
        // Log after the commit. Otherwise the log would name a review that a rollback removes.
        tx.after_commit(move || {
            tracing::error!(%review, subject, %reason, "ReviewOpened: an operator must resolve it");
        });
    }
    Ok(())
}

/// Opens a review with the observation as its details, so that the operator needs no log.
pub(super) async fn open_observed(
    tx: &mut Tx,
    payment: &PaymentRow,
    subject: Subject<'_>,
    reason: Reason,
    seen: &str,
) -> database::Result<()> {
    let tenant = payment.tenant()?;
    let details = json!({ "seen": seen });
    open_review(tx, NewReview { tenant: Some(&tenant), subject, reason, details }).await
}
