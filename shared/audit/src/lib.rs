#![doc = include_str!("../README.md")]

mod operator;
mod store;

use std::fmt::Display;

use contracts::{Caller, OperationId, TenantId};
use database::UnitOfWork;
use serde_json::{Map, Value};
use uuid::Uuid;

pub use operator::{Operator, reason};

/// The tenant of facts that concern several tenants. It is not a valid tenant name.
const NO_TENANT: &str = "@system";

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

    /// An operator did `action` to a subject of this tenant, or of several tenants if `tenant` is `None`. The details hold
    /// the reason. The operation gets a new id.
    pub fn by_operator(
        operator: &Operator,
        tenant: Option<&TenantId>,
        action: &'static str,
        subject_type: &'static str,
        subject_id: impl Display,
    ) -> Self {
        Self {
            id: Uuid::now_v7(),
            tenant: tenant.map_or(NO_TENANT, TenantId::as_str).to_owned(),
            actor: operator.actor(),
            operation: OperationId::generate(),
            action,
            subject_type,
            subject_id: format!("{subject_id}"),
            details: Map::from_iter([("reason".to_owned(), operator.reason().into())]),
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
