//! The ledger is audited, and compared with the processor's own balance, payment by payment.

use harness::payments::{AmountOwed, BooksAgree};
use harness::{Part, Result};

use super::euros;
use crate::demo::Demo;
use crate::report::Step;
use crate::steps::operator;

const AUDIT: &str = "./dev run payments audit";
const HINT: &str = "GET /v1/ledger/balances of payments, ./dev psql provider";

pub(super) async fn run(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    step.progress("waiting until nothing is in progress");
    demo.settled().await?;
    let audit = demo.stack.platform.command(Part::PAYMENTS, &["audit"]).await?;
    step.equal("whether the ledger agrees with itself, by the exit code", true, audit.is_success(), AUDIT);
    step.figure(audit.text().lines().last().unwrap_or_default());

    let [ledger, balance] = demo.amounts_owed().await?;
    let sum = |of: fn(&AmountOwed) -> i64| balance.iter().map(of).sum();
    let (payments, owed, fees) = (ledger.len(), sum(|row| row.owed), sum(|row| row.fees));
    step.check("payments in the ledger", "some", payments, payments > 0, "./dev psql payments");
    let differences = BooksAgree::of(ledger, balance).violations();
    step.no_violations("our ledger and the processor's balance", &differences, HINT);
    step.figure(format!("{payments} payments agree to the cent with the processor's balance"));
    // In the containers, /metrics cannot be reached from here.
    if demo.stack.platform.admin(Part::PAYMENTS.instance(1)).is_some() {
        let sum = operator::read(demo, Part::PAYMENTS).await?.gauge("payments_ledger_sum")?;
        step.equal("the sum of the ledger, by its metric", 0.0, sum, AUDIT);
    }
    accounts(demo, step, owed, fees).await
}

/// Compares our accounts with the amount that the processor owes, and the fees that it has kept.
async fn accounts(demo: &Demo<'_>, step: &mut Step<'_>, owed: i64, fees: i64) -> Result<()> {
    let accounts = demo.api.accounts().await?;
    let on = |name: &str| accounts.iter().find(|account| account.name == name).map_or(0, |one| one.balance);
    let sum: i64 = accounts.iter().map(|account| account.balance).sum();
    step.equal("the sum of all accounts", 0, sum, HINT);
    step.equal("on clearing, with no order open", 0, on("clearing"), HINT);
    step.equal("what the processor owes", owed, on("receivable"), HINT);
    step.equal("what the processor has kept", fees, on("fees"), HINT);
    for account in &accounts {
        let (debit, credit) = (euros(account.debit), euros(account.credit));
        let balance = euros(account.balance);
        step.detail(format!("{:<10} {debit:>13} debit {credit:>13} credit {balance:>13}", account.name));
    }
    step.detail(format!("processor  owes {}, has kept {}", euros(owed), euros(fees)));
    Ok(())
}
