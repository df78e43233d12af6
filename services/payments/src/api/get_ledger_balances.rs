//! `GET /v1/ledger/balances`

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use contracts::Currency;
use edge::{Edge, Principal, Problem, ReadProblems};
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::ledger::Account;
use crate::store::balances::{self, Balance};

/// Read the balance of each account of the tenant's ledger, by currency.
///
/// The balances belong to one moment and contain everything that is posted. In each currency, they sum to zero. An
/// account without postings is left out.
#[utoipa::path(
    operation_id = "getLedgerBalances",
    tag = "ledger",
    responses((status = 200, description = "The balances", body = LedgerBalances), ReadProblems),
    security(("bearer" = ["payments:read"])),
)]
#[get("/v1/ledger/balances")]
pub(crate) async fn get_ledger_balances(
    principal: Principal,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    principal.require("payments:read")?;
    let mut connection = edge.database().connection().await?;
    let balances = balances::balances(&mut connection, principal.tenant()).await?;
    let data = balances.into_iter().map(LedgerBalance::from).collect();
    Ok(HttpResponse::Ok().json(LedgerBalances { data }))
}

/// All balances of the tenant. The list is short, so it has no pages.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LedgerBalances {
    /// Sorted by account, then by currency.
    data: Vec<LedgerBalance>,
}

/// The balance of one account in one currency, in minor units.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LedgerBalance {
    /// The account.
    #[serde(with = "LedgerAccount")]
    #[schema(value_type = LedgerAccount)]
    account: Account,
    /// ISO 4217.
    currency: Currency,
    /// The sum of its debits; never negative.
    #[schema(minimum = 0, examples(1999))]
    debit: i64,
    /// The sum of its credits; never negative.
    #[schema(minimum = 0, examples(0))]
    credit: i64,
    /// `debit - credit`: positive is a debit balance, negative a credit balance. The processor owes the balance of
    /// `receivable`. Revenue makes `revenue` negative.
    #[schema(examples(1999))]
    balance: i64,
}

/// An account. The list is closed: a new value is a new version of the API.
// Because of `serde(remote)`, a list that differs from the domain's does not compile.
#[derive(Serialize, ToSchema)]
#[serde(remote = "Account", rename_all = "snake_case")]
pub(crate) enum LedgerAccount {
    /// The amount that the processor owes.
    Receivable,
    /// Captured for orders that are neither confirmed nor refunded yet.
    Clearing,
    /// Revenue.
    Revenue,
    /// Refunded revenue.
    Refunds,
    /// Fees of the processor.
    Fees,
}

impl From<Balance> for LedgerBalance {
    fn from(balance: Balance) -> Self {
        let Balance { account, currency, debit, credit } = balance;
        Self { account, currency, debit, credit, balance: debit - credit }
    }
}
