//! The table, and how facts get into it.

use database::{Buffered, Insert};
use diesel::prelude::*;
use serde_json::Value;
use uuid::Uuid;

use crate::Fact;

diesel::table! {
    audit_fact (id) {
        id -> Uuid,
        tenant_id -> Text,
        actor -> Text,
        action -> Text,
        subject_type -> Text,
        subject_id -> Text,
        operation_id -> Uuid,
        details -> Jsonb,
    }
}

#[derive(Insertable)]
#[diesel(table_name = audit_fact)]
// Otherwise the statement depends on which values are there, and is prepared anew each time: one round trip more.
#[diesel(treat_none_as_default_value = false)]
struct NewFact {
    id: Uuid,
    tenant_id: String,
    actor: String,
    action: &'static str,
    subject_type: &'static str,
    subject_id: String,
    operation_id: Uuid,
    details: Value,
}

impl From<Fact> for NewFact {
    fn from(fact: Fact) -> Self {
        Self {
            id: fact.id,
            tenant_id: fact.tenant,
            actor: fact.actor,
            action: fact.action,
            subject_type: fact.subject_type,
            subject_id: fact.subject_id,
            operation_id: fact.operation.uuid(),
            details: Value::Object(fact.details),
        }
    }
}

impl Buffered for Fact {
    fn inserts(facts: Vec<Self>) -> Vec<Insert> {
        // One for each fact: a unit of work has one.
        let insert = |fact| diesel::insert_into(audit_fact::table).values(NewFact::from(fact));
        facts.into_iter().map(|fact| Insert::new(insert(fact))).collect()
    }
}
