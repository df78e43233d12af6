//! Erases the texts of clients: the `reason` of adjustments. Their quantities stay.

use database::{Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use envelope::TenantId;
use uuid::Uuid;

use crate::schema::stock_movement as movement;

/// The reason of an adjustment whose reason was erased. An adjustment has one.
const ERASED: &str = "(erased)";

/// Erases the reasons of the next adjustments of this tenant after `after`. Returns the adjustments, in order.
pub(crate) async fn erase_texts(
    tx: &mut Tx,
    tenant: &TenantId,
    after: Uuid,
    limit: i64,
) -> Result<Vec<Uuid>> {
    let next = movement::table
        .filter(movement::tenant_id.eq(tenant.as_str()))
        .filter(movement::id.gt(after))
        .filter(movement::reason.ne(ERASED))
        .order(movement::id)
        .limit(limit)
        .select(movement::id);
    let ids: Vec<Uuid> = next.load(tx).await?;
    let movements = movement::table.filter(movement::id.eq_any(&ids));
    diesel::update(movements).set(movement::reason.eq(ERASED)).execute(tx).await?;
    Ok(ids)
}
