//! `Operator`: the name and the reason that every operators' command with an effect requires, and its fact.

use std::fmt::Display;

use envelope::{ClientId, OperationId, TenantId};
use serde_json::Map;
use uuid::Uuid;

use crate::Fact;
use crate::card_number::has_card_number;

/// The tenant of facts that concern several tenants. It is not a valid tenant name.
const NO_TENANT: &str = "@system";

/// Who runs a command, and why.
#[derive(Debug, Clone)]
pub struct Operator {
    name: ClientId,
    reason: String,
}

impl Operator {
    /// Name and reason. The text is one that [`reason`] accepts.
    pub fn new(name: ClientId, reason: impl Into<String>) -> Self {
        Self { name, reason: reason.into() }
    }

    /// The actor of the fact. It is not a valid client name.
    pub fn actor(&self) -> String {
        format!("@operator:{}", self.name)
    }

    /// The reason.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl Fact {
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
}

/// Parses the reason that an operator gives. It is a text without a card number, because the audit stores it for years.
///
/// # Errors
/// A sentence for the operator if the text is empty or has a card number.
pub fn reason(text: &str) -> Result<String, &'static str> {
    match text {
        "" => Err("a reason has at least 1 character"),
        text if has_card_number(text) => Err("the audit stores this text; it must not contain a card number"),
        text => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_with_a_card_number_is_refused() {
        for text in ["duplicate of order 4711", "ticket 2026-11-02-000001"] {
            assert_eq!(reason(text), Ok(text.to_owned()));
        }
        for text in ["", "card 4242 4242 4242 4242 was charged twice"] {
            assert!(reason(text).is_err(), "{text}");
        }
    }
}
