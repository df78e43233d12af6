//! Erases the texts of clients: the `reference` of payments and the `reason` of refunds. Ledger, states and amounts keep none.

use database::{Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use envelope::TenantId;
use uuid::Uuid;

use crate::schema::{payment, refund};

/// Erases the texts of the next payments of this tenant after `after`, and of their refunds: of all, or of those with this
/// reference. Returns the payments, in order, and the operations whose responses have the texts.
pub(crate) async fn erase_texts(
    tx: &mut Tx,
    tenant: &TenantId,
    reference: Option<&str>,
    after: Uuid,
    limit: i64,
) -> Result<(Vec<Uuid>, Vec<Uuid>)> {
    let mut next = payment::table
        .filter(payment::tenant_id.eq(tenant.as_str()))
        .filter(payment::id.gt(after))
        .order(payment::id)
        .limit(limit)
        .select((payment::id, payment::operation_id))
        .into_boxed();
    if let Some(reference) = reference {
        next = next.filter(payment::reference.eq(reference));
    }
    let rows: Vec<(Uuid, Option<Uuid>)> = next.load(tx).await?;
    let (ids, mut operations): (Vec<Uuid>, Vec<Option<Uuid>>) = rows.into_iter().unzip();
    let named = payment::table.filter(payment::id.eq_any(&ids)).filter(payment::reference.is_not_null());
    diesel::update(named).set(payment::reference.eq(None::<String>)).execute(tx).await?;
    let explained =
        refund::table.filter(refund::payment_id.eq_any(&ids)).filter(refund::reason.is_not_null());
    let refunds: Vec<Option<Uuid>> = diesel::update(explained)
        .set(refund::reason.eq(None::<String>))
        .returning(refund::operation_id)
        .get_results(tx)
        .await?;
    operations.extend(refunds);
    Ok((ids, operations.into_iter().flatten().collect()))
}
