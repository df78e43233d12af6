#![doc = include_str!("../README.md")]

mod rows;

use std::fmt::Display;

use contracts::{Caller, OperationId};
use database::Tx;
use serde_json::Value;
use uuid::Uuid;

/// Who did what to whom.
#[must_use = "a fact is recorded by audit::record"]
#[derive(Debug, Clone)]
pub struct Fact {
    id: Uuid,
    caller: Caller,
    operation: OperationId,
    action: &'static str,
    subject_type: &'static str,
    subject_id: String,
    details: Value,
}

impl Fact {
    /// `caller` did `action` (for instance `order.place`) to a subject; `operation` is the accepted intent.
    pub fn new(
        caller: &Caller,
        operation: OperationId,
        action: &'static str,
        subject_type: &'static str,
        subject_id: impl Display,
    ) -> Self {
        Self {
            id: Uuid::now_v7(),
            caller: caller.clone(),
            operation,
            action,
            subject_type,
            subject_id: format!("{subject_id}"),
            details: Value::Object(serde_json::Map::new()),
        }
    }

    /// What else an auditor wants to know. No secrets, no card data.
    pub fn with(mut self, details: Value) -> Self {
        self.details = details;
        self
    }
}

/// Records the fact with the transaction's other effects.
pub fn record(tx: &mut Tx, fact: Fact) {
    tx.buffer(fact);
}
