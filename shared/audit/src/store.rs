//! The table of facts, and the statement that inserts them.

use std::mem::take;

use database::{Buffered, InsertRows, Write};
use serde_json::Value;

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

impl Buffered for Fact {
    fn writes(facts: Vec<Self>) -> Vec<Write> {
        let insert = InsertRows::new(audit_fact::table, facts)
            .column(audit_fact::id, |fact| fact.id)
            .column(audit_fact::tenant_id, |fact| take(&mut fact.tenant))
            .column(audit_fact::actor, |fact| take(&mut fact.actor))
            .column(audit_fact::action, |fact| fact.action)
            .column(audit_fact::subject_type, |fact| fact.subject_type)
            .column(audit_fact::subject_id, |fact| take(&mut fact.subject_id))
            .column(audit_fact::operation_id, |fact| fact.operation.uuid())
            .column(audit_fact::details, |fact| Value::Object(take(&mut fact.details)));
        vec![Write::new(insert)]
    }
}
