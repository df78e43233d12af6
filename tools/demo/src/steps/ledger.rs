//! The ledger, computed anew; and what stands in it beside the processor's own balance, payment by payment.

use audits::{BooksAgree, Standing};

use crate::part::Part;
use crate::report::{Step, euros};
use crate::trouble::Trouble;
use crate::world::World;

const VERIFY: &str = "./dev run payments ledger verify";
const LOOK: &str = "GET /v1/ledger/balances of payments, ./dev psql provider";

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let verified = world.stack.around.command(Part::Payments, &["ledger", "verify"]).await?;
    step.equal("whether it agrees with itself, by the exit code", true, verified.done, VERIFY);
    let lines: Vec<&str> = verified.text.lines().filter(|line| !line.is_empty()).collect();
    let (first, last) =
        (lines.first().copied().unwrap_or_default(), lines.last().copied().unwrap_or_default());
    step.figure(last);
    step.tell(first.split(", head").next().unwrap_or_default());

    let [ledger, balance] = world.books.standings(&world.payments().await?).await?;
    let (payments, theirs) = (ledger.len(), Sum::of(&balance));
    step.holds("payments in the ledger", "some", payments, payments > 0, "./dev psql payments");
    step.none("our ledger and the processor's balance", &BooksAgree::of(ledger, balance).violations(), LOOK);
    step.figure(format!("{payments} payments agree to the cent with the processor's balance"));
    accounts(world, step, theirs).await
}

/// What the processor owes and has kept, in minor units.
struct Sum {
    owed: i64,
    fees: i64,
}

impl Sum {
    fn of(standings: &[Standing]) -> Self {
        let sum = |of: fn(&Standing) -> i64| standings.iter().map(of).sum();
        Self { owed: sum(|row| row.owed), fees: sum(|row| row.fees) }
    }
}

async fn accounts(world: &World<'_>, step: &mut Step<'_>, theirs: Sum) -> Result<(), Trouble> {
    let accounts = world.api.accounts().await?;
    let on = |name: &str| accounts.iter().find(|account| account.name == name).map_or(0, |one| one.balance);
    let sum: i64 = accounts.iter().map(|account| account.balance).sum();
    step.equal("the sum of all accounts", 0, sum, LOOK);
    step.equal("on clearing, with no order open", 0, on("clearing"), LOOK);
    step.equal("what the processor owes", theirs.owed, on("receivable"), LOOK);
    step.equal("what it has kept", theirs.fees, on("fees"), LOOK);
    for account in &accounts {
        let (debit, credit) = (euros(account.debit), euros(account.credit));
        let balance = euros(account.balance);
        step.tell(format!("{:<10} {debit:>13} debit {credit:>13} credit {balance:>13}", account.name));
    }
    step.tell(format!("processor  owes {}, has kept {}", euros(theirs.owed), euros(theirs.fees)));
    Ok(())
}
