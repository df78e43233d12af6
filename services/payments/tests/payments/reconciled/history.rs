//! Our records and the processor's objects at the end of a history of two days, and the rows that hold them.

use diesel_async::SimpleAsyncConnection;
use serde_json::{Value, json};
use uuid::Uuid;

use super::model::Money;
use crate::listing::OURS;
use crate::stage::Stage;

/// Minutes before the reconciliation.
pub(super) type Age = i64;

/// The configured period: two days.
pub(super) const PERIOD: Age = 48 * 60;
/// The configured grace period.
pub(super) const GRACE: Age = 15;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Charge,
    Refund,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Charge => "charge",
            Self::Refund => "refund",
        }
    }
}

/// A payment or a refund of ours.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) kind: Kind,
    pub(super) id: Uuid,
    pub(super) state: &'static str,
    /// A worker holds the call.
    pub(super) in_flight: bool,
    /// The processor's id, if we know it.
    pub(super) object: Option<String>,
    pub(super) amount: i64,
    /// `None`: no request was sent.
    pub(super) sent: Option<Age>,
    /// The row changes after the reconciliation has begun.
    pub(super) changes: bool,
}

impl Record {
    /// A refund's payment, or the payment itself. The payment of a refund was captured before the period.
    pub(super) fn payment(&self) -> Uuid {
        match self.kind {
            Kind::Charge => self.id,
            Kind::Refund => Uuid::from_u128(self.id.as_u128() + (1 << 64)),
        }
    }

    /// The `PaymentIntent` of the payment.
    pub(super) fn intent(&self) -> String {
        format!("pi_{}", self.payment().as_u128())
    }
}

/// An object of the processor.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub(super) kind: Kind,
    pub(super) id: String,
    pub(super) status: &'static str,
    pub(super) deployment: Option<&'static str>,
    pub(super) reference: Option<String>,
    /// Of a refund.
    pub(super) payment_intent: Option<String>,
    pub(super) amount: i64,
    pub(super) currency: &'static str,
    pub(super) created: Age,
}

impl Object {
    fn json(&self, now: i64) -> Value {
        let Self { id, status, amount, currency, deployment, reference, payment_intent, .. } = self;
        let (created, metadata) =
            (now - self.created * 60, json!({ "reference": reference, "deployment": deployment }));
        match self.kind {
            Kind::Charge => json!({
                "id": id, "object": "payment_intent", "status": status, "currency": currency, "created": created,
                // The requested amount of a charge says nothing once money moved.
                "amount": if *status == "succeeded" { amount + 5 } else { *amount }, "amount_received": amount,
                "metadata": metadata,
            }),
            Kind::Refund => json!({
                "id": id, "object": "refund", "status": status, "currency": currency, "created": created,
                "amount": amount, "payment_intent": payment_intent, "metadata": metadata,
            }),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct History {
    pub(super) records: Vec<Record>,
    pub(super) objects: Vec<Object>,
}

impl History {
    /// The list of the processor, newest first. `now` in seconds.
    pub(super) fn list(&self, kind: Kind, now: i64) -> Vec<Value> {
        let mut objects: Vec<&Object> = self.objects.iter().filter(|object| object.kind == kind).collect();
        objects.sort_by_key(|object| object.created);
        objects.into_iter().map(|object| object.json(now)).collect()
    }

    /// Stores the records instead of those of an earlier history.
    pub(super) async fn store(&self, stage: &Stage) {
        let tables = "review, refund, processor_call, ledger_entry, ledger_transaction, payment";
        let mut sql = format!("TRUNCATE {tables} CASCADE; UPDATE reconciliation SET compared_until = NULL;");
        for record in &self.records {
            if record.kind == Kind::Refund {
                sql.push_str(&record.captured_payment().insert());
            }
            sql.push_str(&record.insert());
        }
        stage.database.owner().await.batch_execute(&sql).await.unwrap();
    }
}

impl Record {
    /// The payment of a refund, which is older than the period.
    fn captured_payment(&self) -> Self {
        Self {
            kind: Kind::Charge,
            id: self.payment(),
            state: "captured",
            in_flight: false,
            object: Some(self.intent()),
            sent: Some(2 * PERIOD),
            ..self.clone()
        }
    }

    /// The statements that insert the row and its call.
    fn insert(&self) -> String {
        let Self { id, state, amount, in_flight, .. } = self;
        let (payment, kind) = (self.payment(), self.kind.name());
        let text = |text: Option<&str>| text.map_or("NULL".to_owned(), |text| format!("'{text}'"));
        let object = text(self.object.as_deref());
        let proof = if self.money() == Money::Moved { &object } else { "NULL" };
        let code = text(["declined", "failed"].contains(state).then_some("generic_decline"));
        let updated = if self.changes { "now() + interval '1 hour'" } else { "now() - interval '1 second'" };
        let row = match self.kind {
            Kind::Charge => format!(
                "INSERT INTO payment (id, tenant_id, amount, currency, payment_method, state, decline_code, processor_intent,
                                      updated_at, expires_at)
                 VALUES ('{id}', 'acme', {amount}, 'EUR', 'pm_x', '{state}', {code}, {proof}, {updated}, now());"
            ),
            Kind::Refund => format!(
                "INSERT INTO refund (id, tenant_id, payment_id, cause, amount, state, failure_code, processor_refund, updated_at)
                 VALUES ('{id}', 'acme', '{payment}', 'order_cancelled', {amount}, '{state}', {code}, {proof}, {updated});"
            ),
        };
        let sent = self.sent.map_or("NULL".to_owned(), |age| format!("now() - interval '{age} minutes'"));
        let due = if *in_flight { "now() + interval '1 hour'" } else { "NULL" };
        row + &format!(
            "INSERT INTO processor_call (id, tenant_id, kind, payment_id, provider_key, request, attempt, sent_since,
                                         processor_object, in_flight, due_at)
             VALUES ('{id}', 'acme', '{kind}', '{payment}', '{id}', '', 1, {sent}, {object}, {in_flight}, {due});"
        )
    }
}

/// A tag of our deployment.
pub(super) fn tagged(reference: &str) -> (Option<&'static str>, Option<String>) {
    (Some(OURS), Some(reference.to_owned()))
}
