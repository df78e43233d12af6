//! The ledger's rows. The service's role can add to them and read them, and nothing else.

use contracts::{Currency, PaymentId, RefundId, TenantId};
use database::{Connection, Result, Tx};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{Array, BigInt, Nullable, SmallInt, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::unreadable;
use crate::domain::ledger::{Account, Posting};

/// A posting, and what it belongs to.
pub(crate) struct NewPosting<'a> {
    pub(crate) tenant: &'a TenantId,
    pub(crate) posting: Posting,
    /// What the posting's kind happened to: it happens to it once.
    pub(crate) cause: String,
    pub(crate) payment: PaymentId,
    pub(crate) refund: Option<RefundId>,
}

/// Inserts it with its entries, unless it is there; `false` if nothing was inserted.
pub(crate) async fn insert(tx: &mut Tx, new: NewPosting<'_>) -> Result<bool> {
    let entries = new.posting.entries();
    if entries.is_empty() {
        return Ok(false);
    }
    let insert = InsertPosting {
        tenant: new.tenant.to_string(),
        kind: new.posting.kind().name(),
        cause: new.cause,
        payment: new.payment.uuid(),
        refund: new.refund.map(RefundId::uuid),
        line: (1..).take(entries.len()).collect(),
        account: entries.iter().map(|entry| entry.account.name()).collect(),
        currency: entries.iter().map(|entry| entry.amount.currency.code()).collect(),
        amount: entries.iter().map(|entry| entry.amount.amount).collect(),
    };
    Ok(insert.execute(&mut &*tx).await? > 0)
}

/// One statement for both tables, so that a posting costs one round trip, and an entry never names another
/// transaction's id.
#[derive(QueryId)]
struct InsertPosting {
    tenant: String,
    kind: &'static str,
    cause: String,
    payment: Uuid,
    refund: Option<Uuid>,
    line: Vec<i16>,
    account: Vec<&'static str>,
    currency: Vec<&'static str>,
    amount: Vec<i64>,
}

impl QueryFragment<Pg> for InsertPosting {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(
            "WITH posted AS (INSERT INTO ledger_transaction (tenant_id, kind, cause, payment_id, refund_id) VALUES (",
        );
        out.push_bind_param::<Text, _>(&self.tenant)?;
        out.push_sql(", ");
        out.push_bind_param::<Text, _>(self.kind)?;
        out.push_sql(", ");
        out.push_bind_param::<Text, _>(&self.cause)?;
        out.push_sql(", ");
        out.push_bind_param::<SqlUuid, _>(&self.payment)?;
        out.push_sql(", ");
        out.push_bind_param::<Nullable<SqlUuid>, _>(&self.refund)?;
        out.push_sql(
            ") ON CONFLICT DO NOTHING RETURNING id, tenant_id) \
             INSERT INTO ledger_entry (transaction_id, line, tenant_id, account, currency, amount) \
             SELECT posted.id, entry.line, posted.tenant_id, entry.account, entry.currency, entry.amount \
             FROM posted, unnest(",
        );
        out.push_bind_param::<Array<SmallInt>, _>(&self.line)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<Text>, _>(&self.account)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<Text>, _>(&self.currency)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<BigInt>, _>(&self.amount)?;
        out.push_sql(") AS entry (line, account, currency, amount)");
        Ok(())
    }
}

/// What stands on one account of a tenant, in one currency.
pub(crate) struct Balance {
    pub(crate) account: Account,
    pub(crate) currency: Currency,
    /// The sum of its debits, as a positive number.
    pub(crate) debit: i64,
    /// The sum of its credits, as a positive number.
    pub(crate) credit: i64,
}

/// Every account that this tenant has used, by account and currency.
pub(crate) async fn balances(connection: &mut Connection, tenant: &TenantId) -> Result<Vec<Balance>> {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = Text)]
        account: String,
        #[diesel(sql_type = Text)]
        currency: String,
        #[diesel(sql_type = BigInt)]
        debit: i64,
        #[diesel(sql_type = BigInt)]
        credit: i64,
    }
    const BALANCES: &str = "\
        SELECT account, currency, \
               coalesce(sum(amount) FILTER (WHERE amount > 0), 0)::bigint AS debit, \
               coalesce(-sum(amount) FILTER (WHERE amount < 0), 0)::bigint AS credit \
          FROM ledger_entry WHERE tenant_id = $1 GROUP BY account, currency ORDER BY account, currency";
    let rows: Vec<Row> =
        diesel::sql_query(BALANCES).bind::<Text, _>(tenant.as_str()).load(connection).await?;
    let balance = |row: Row| {
        let account = Account::ALL.into_iter().find(|account| account.name() == row.account);
        Ok(Balance {
            account: account.ok_or_else(|| unreadable("ledger_entry.account"))?,
            currency: row.currency.parse().map_err(|_| unreadable("ledger_entry.currency"))?,
            debit: row.debit,
            credit: row.credit,
        })
    };
    rows.into_iter().map(balance).collect()
}
