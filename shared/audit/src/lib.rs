#![doc = include_str!("../README.md")]

mod card_number;
mod operator;
mod store;

use std::fmt::Display;

use database::UnitOfWork;
use envelope::{Caller, OperationId};
use serde_json::{Map, Value};
use uuid::Uuid;

pub use card_number::has_card_number;
pub use operator::{Operator, reason};

/// One audit fact: an actor, an action and its subject.
#[must_use = "a fact is recorded by audit::record"]
#[derive(Debug, Clone)]
pub struct Fact {
    id: Uuid,
    tenant: String,
    actor: String,
    operation: OperationId,
    action: &'static str,
    subject_type: &'static str,
    subject_id: String,
    details: Map<String, Value>,
}

impl Fact {
    /// `caller` did `action`, such as `order.place`, to a subject. `operation` is the accepted command.
    pub fn new(
        caller: &Caller,
        operation: OperationId,
        action: &'static str,
        subject_type: &'static str,
        subject_id: impl Display,
    ) -> Self {
        Self {
            id: Uuid::now_v7(),
            tenant: caller.tenant.to_string(),
            actor: caller.client.to_string(),
            operation,
            action,
            subject_type,
            subject_id: format!("{subject_id}"),
            details: Map::new(),
        }
    }

    /// The operation that did it.
    pub fn operation(&self) -> OperationId {
        self.operation
    }

    /// Adds the members of this object to the details. No secrets, no card data.
    pub fn with(mut self, details: Value) -> Self {
        if let Value::Object(members) = details {
            self.details.extend(members);
        }
        self
    }
}

/// Records the fact in the transaction of its effects.
pub fn record(unit: &mut impl UnitOfWork, fact: Fact) {
    unit.buffer(fact);
}
