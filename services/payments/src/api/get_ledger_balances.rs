//! `GET /v1/ledger/balances`

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use contracts::Currency;
use edge::{Edge, Principal, Problem, ReadProblems};
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::ledger::Account;
use crate::store::ledger::{self, Balance};

/// Read what stands on each account of the tenant's ledger, by currency.
///
/// Everything that is posted counts, sealed or not, as of one moment. In each currency all balances together are zero.
/// An account that was never posted to is left out.
#[utoipa::path(
    operation_id = "getLedgerBalances",
    tag = "ledger",
    responses((status = 200, description = "The balances", body = LedgerBalances), ReadProblems),
    security(("bearer" = [])),
)]
#[get("/v1/ledger/balances")]
pub(crate) async fn get_ledger_balances(who: Principal, edge: Data<Edge>) -> Result<HttpResponse, Problem> {
    who.require("payments:read")?;
    let mut connection = edge.database().connection().await?;
    let balances = ledger::balances(&mut connection, who.tenant()).await?;
    let data = balances.into_iter().map(LedgerBalance::from).collect();
    Ok(HttpResponse::Ok().json(LedgerBalances { data }))
}

/// All of them: there are a few accounts in a few currencies.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LedgerBalances {
    /// By account, then currency.
    data: Vec<LedgerBalance>,
}

/// What stands on one account in one currency, in minor units.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LedgerBalance {
    /// Which account.
    account: LedgerAccount,
    /// ISO 4217.
    currency: Currency,
    /// The sum of its debits; never negative.
    #[schema(minimum = 0, examples(1999))]
    debit: i64,
    /// The sum of its credits; never negative.
    #[schema(minimum = 0, examples(0))]
    credit: i64,
    /// `debit - credit`: positive is a debit balance, negative a credit balance. The processor owes us what stands on
    /// `receivable`; what is earned makes `revenue` negative.
    #[schema(examples(1999))]
    balance: i64,
}

/// Where money can be. A closed list: a new value is a new version of the API.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LedgerAccount {
    /// What the processor owes us.
    Receivable,
    /// Taken for orders that are neither confirmed nor given back yet.
    Clearing,
    /// Earned.
    Revenue,
    /// Given back of what had been earned.
    Refunds,
    /// Kept by the processor.
    Fees,
}

impl From<Balance> for LedgerBalance {
    fn from(balance: Balance) -> Self {
        let Balance { account, currency, debit, credit } = balance;
        let account = match account {
            Account::Receivable => LedgerAccount::Receivable,
            Account::Clearing => LedgerAccount::Clearing,
            Account::Revenue => LedgerAccount::Revenue,
            Account::Refunds => LedgerAccount::Refunds,
            Account::Fees => LedgerAccount::Fees,
        };
        Self { account, currency, debit, credit, balance: debit - credit }
    }
}
