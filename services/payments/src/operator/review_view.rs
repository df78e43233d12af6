//! A review as operators see it, in JSON and as text.

use chrono::{DateTime, Utc};
use contracts::PaymentId;
use database::Result;
use database::time::to_rfc3339;
use runtime::table::printable;
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::store::reviews::ReviewRow;

/// One review.
#[derive(Debug, Serialize)]
pub(super) struct ReviewView {
    #[serde(rename = "review_id")]
    pub(super) id: Uuid,
    reason: &'static str,
    subject: String,
    /// Our id of a payment or refund; the processor's id of an orphan.
    subject_id: String,
    payment_id: Option<Uuid>,
    tenant: Option<String>,
    details: Value,
    opened_at: String,
    resolution: Option<&'static str>,
    resolved_by: Option<String>,
    note: Option<String>,
    resolved_at: Option<String>,
}

impl ReviewView {
    pub(super) fn of(row: &ReviewRow) -> Result<Self> {
        let time = |at: DateTime<Utc>| to_rfc3339(at);
        Ok(Self {
            id: row.id,
            reason: row.reason.into(),
            subject: row.subject_name().to_owned(),
            subject_id: row.subject_id().to_owned(),
            payment_id: row.payment().map(PaymentId::uuid),
            tenant: row.tenant()?.map(|tenant| tenant.to_string()),
            details: row.details.clone(),
            opened_at: time(row.opened_at),
            resolution: row.resolution.map(Into::into),
            resolved_by: row.resolved_by.clone(),
            note: row.note.clone(),
            resolved_at: row.resolved_at.map(time),
        })
    }

    /// Returns the names and values for the list.
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        vec![
            ("review", self.id.to_string()),
            ("reason", self.reason.to_owned()),
            ("subject", format!("{} {}", self.subject, printable(&self.subject_id))),
            ("tenant", self.tenant.clone().unwrap_or_else(|| "-".to_owned())),
            ("opened", self.opened_at.clone()),
            ("resolution", self.resolution.unwrap_or("-").to_owned()),
        ]
    }

    /// Returns all names and values.
    pub(super) fn details(&self) -> Vec<(&'static str, String)> {
        let or_none = |text: &Option<String>| text.as_deref().map_or_else(|| "-".to_owned(), printable);
        let mut facts = self.summary();
        let payment = self.payment_id.map_or_else(|| "-".to_owned(), |payment| payment.to_string());
        facts.extend([
            ("payment", payment),
            ("resolved by", or_none(&self.resolved_by)),
            ("resolved at", or_none(&self.resolved_at)),
            ("note", or_none(&self.note)),
        ]);
        if let Value::Object(details) = &self.details {
            facts.push(("details", String::new()));
            let line = |(name, value): (&String, &Value)| {
                format!("{}: {}", printable(name), printable(&value.to_string()))
            };
            facts.extend(details.iter().map(line).map(|line| ("", line)));
        }
        facts
    }
}
