//! Erases the texts of clients: `reference` and `cancel_note`. States, amounts and events keep none.

use database::{Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use envelope::TenantId;
use uuid::Uuid;

use crate::domain::CauseKind;
use crate::schema::{audit_fact as fact, order_timeline as timeline, orders};

/// Erases the texts of the next orders of this tenant after `after`: of all, or of those with this reference. Returns the orders, in
/// order, and the operations whose responses have the texts.
pub(crate) async fn erase_texts(
    tx: &mut Tx,
    tenant: &TenantId,
    reference: Option<&str>,
    after: Uuid,
    limit: i64,
) -> Result<(Vec<Uuid>, Vec<Uuid>)> {
    let mut next = orders::table
        .filter(orders::tenant_id.eq(tenant.as_str()))
        .filter(orders::id.gt(after))
        .filter(orders::reference.is_not_null().or(orders::cancel_note.is_not_null()))
        .order(orders::id)
        .limit(limit)
        .select(orders::id)
        .into_boxed();
    if let Some(reference) = reference {
        next = next.filter(orders::reference.eq(reference));
    }
    let ids: Vec<Uuid> = next.load(tx).await?;
    let erased = (orders::reference.eq(None::<String>), orders::cancel_note.eq(None::<String>));
    diesel::update(orders::table.filter(orders::id.eq_any(&ids))).set(erased).execute(tx).await?;
    let requests = timeline::table
        .filter(timeline::order_id.eq_any(&ids))
        .filter(timeline::cause_kind.eq(CauseKind::Request))
        .select(timeline::cause_id);
    let mut operations: Vec<Uuid> = requests.load(tx).await?;
    // A repeated cancellation has a response, and no entry in the timeline.
    let cancellations = fact::table
        .filter(fact::action.eq("order.cancel"))
        .filter(fact::subject_id.eq_any(ids.iter().map(Uuid::to_string)))
        .select(fact::operation_id);
    operations.extend(cancellations.load::<Uuid>(tx).await?);
    Ok((ids, operations))
}
