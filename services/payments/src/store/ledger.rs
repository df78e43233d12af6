//! The tables `ledger_transaction` and `ledger_entry`. The service's database role can only insert and read.

use contracts::{PaymentId, RefundId, TenantId};
use database::{Result, Rows, Tx};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Nullable, SmallInt, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::domain::ledger::{Posting, PostingKind};

/// A posting to insert.
pub(crate) struct NewPosting<'a> {
    pub(crate) tenant: &'a TenantId,
    pub(crate) posting: Posting,
    /// The id of the payment, order, refund or balance transaction. Each kind is posted once for a cause.
    pub(crate) cause: String,
    pub(crate) payment: PaymentId,
    pub(crate) refund: Option<RefundId>,
}

/// Inserts a posting with its entries. Returns `false` if it is stored already, or if its amount is zero.
pub(crate) async fn insert(tx: &mut Tx, new: NewPosting<'_>) -> Result<bool> {
    let entries = new.posting.entries();
    if entries.is_empty() {
        return Ok(false);
    }
    let insert = InsertPosting {
        tenant: new.tenant.to_string(),
        kind: new.posting.kind(),
        cause: new.cause,
        payment: new.payment.uuid(),
        refund: new.refund.map(RefundId::uuid),
        entries: Rows::default()
            .column::<SmallInt, i16>("line", (1..).take(entries.len()))
            .column::<Text, _>("account", entries.iter().map(|entry| entry.account))
            .column::<Text, _>("currency", entries.iter().map(|entry| entry.amount.currency.code()))
            .column::<BigInt, _>("amount", entries.iter().map(|entry| entry.amount.amount)),
    };
    Ok(insert.execute(&mut &*tx).await? > 0)
}

/// Inserts into both tables with one statement. A posting therefore costs one round trip, and its entries always have
/// the id of their own transaction.
struct InsertPosting {
    tenant: String,
    kind: PostingKind,
    cause: String,
    payment: Uuid,
    refund: Option<Uuid>,
    entries: Rows,
}

impl QueryFragment<Pg> for InsertPosting {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(
            "WITH posted AS (INSERT INTO ledger_transaction (tenant_id, kind, cause, payment_id, refund_id) VALUES (",
        );
        out.push_bind_param::<Text, _>(&self.tenant)?;
        out.push_sql(", ");
        out.push_bind_param::<Text, _>(&self.kind)?;
        out.push_sql(", ");
        out.push_bind_param::<Text, _>(&self.cause)?;
        out.push_sql(", ");
        out.push_bind_param::<SqlUuid, _>(&self.payment)?;
        out.push_sql(", ");
        out.push_bind_param::<Nullable<SqlUuid>, _>(&self.refund)?;
        out.push_sql(
            ") ON CONFLICT DO NOTHING RETURNING id, tenant_id) \
             INSERT INTO ledger_entry (transaction_id, line, tenant_id, account, currency, amount) \
             SELECT posted.id, given.line, posted.tenant_id, given.account, given.currency, given.amount \
             FROM posted, ",
        );
        self.entries.walk_ast(out.reborrow())
    }
}

impl QueryId for InsertPosting {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}
