//! The tables `ledger_balance` and `ledger_mark`: the balances of the accounts up to a high-water mark.

use contracts::Currency;
use database::{Connection, Database, Error, Result, unreadable};
use diesel::define_sql_function;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;
use envelope::TenantId;

use crate::domain::ledger::Account;
use crate::schema::{ledger_mark, ledger_transaction};

define_sql_function! {
    /// Finds out up to which id the ledger is final. Fails if a writer takes longer than 50 ms.
    fn ledger_settle() -> BigInt;
}
define_sql_function! {
    /// Adds the entries of so many ids to the balances.
    fn ledger_fold(ids: BigInt) -> BigInt;
}

/// The balance of one account of a tenant, in one currency.
pub(crate) struct Balance {
    pub(crate) account: Account,
    pub(crate) currency: Currency,
    /// The sum of its debits, as a positive number.
    pub(crate) debit: i64,
    /// The sum of its credits, as a positive number.
    pub(crate) credit: i64,
}

/// Returns the balance of each account that the tenant has used, sorted by account and currency.
///
/// One statement reads the stored balances and the entries behind the mark, so that each entry counts once.
pub(crate) async fn balances(connection: &mut Connection, tenant: &TenantId) -> Result<Vec<Balance>> {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = Text)]
        account: Account,
        #[diesel(sql_type = Text)]
        currency: String,
        #[diesel(sql_type = BigInt)]
        debit: i64,
        #[diesel(sql_type = BigInt)]
        credit: i64,
    }
    const BALANCES: &str = "\
        SELECT account, currency, sum(debit)::bigint AS debit, sum(credit)::bigint AS credit \
          FROM (SELECT account, currency, debit, credit FROM ledger_balance WHERE tenant_id = $1 \
                UNION ALL \
                SELECT account, currency, greatest(amount, 0), greatest(-amount, 0) FROM ledger_entry \
                 WHERE transaction_id > (SELECT folded_id FROM ledger_mark) \
                   AND tenant_id = $1) AS part \
         GROUP BY account, currency ORDER BY account, currency";
    let rows: Vec<Row> =
        diesel::sql_query(BALANCES).bind::<Text, _>(tenant.as_str()).load(connection).await?;
    let balance = |row: Row| {
        Ok(Balance {
            account: row.account,
            currency: row.currency.parse().map_err(|_| unreadable("ledger_entry.currency"))?,
            debit: row.debit,
            credit: row.credit,
        })
    };
    rows.into_iter().map(balance).collect()
}

/// Returns the number of ids behind the mark.
pub(crate) async fn length_of_tail(database: &Database) -> Result<i64> {
    let last = ledger_transaction::table.select(diesel::dsl::max(ledger_transaction::id)).single_value();
    let mut connection = database.connection().await?;
    let (last, folded): (Option<i64>, i64) =
        ledger_mark::table.select((last, ledger_mark::folded_id)).first(&mut connection).await?;
    Ok(last.unwrap_or(0) - folded)
}

/// Finds out up to which id the ledger is final. Returns how many ids can be folded.
pub(crate) async fn find_final_id(database: &Database) -> Result<i64> {
    let mut connection = database.connection().await?;
    diesel::select(ledger_settle()).get_result(&mut connection).await.map_err(Error::from)
}

/// Adds the entries of so many ids to the balances. Returns how many ids are left.
pub(crate) async fn fold(database: &Database, ids: i64) -> Result<i64> {
    let mut connection = database.connection().await?;
    diesel::select(ledger_fold(ids)).get_result(&mut connection).await.map_err(Error::from)
}
