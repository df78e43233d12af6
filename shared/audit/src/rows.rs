//! The table, and how facts get into it.

use database::{Buffered, Error, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
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
    fn write(facts: Vec<Self>, tx: &Tx) -> BoxFuture<'_, Result<(), Error>> {
        async move {
            // One fact a statement: a unit of work has one, and a fixed statement stays prepared.
            for fact in facts {
                diesel::insert_into(audit_fact::table).values(NewFact::from(fact)).execute(&mut &*tx).await?;
            }
            Ok(())
        }
        .boxed()
    }
}
