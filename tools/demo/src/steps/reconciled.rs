//! Our books and the processor's, object by object.

use serde::Deserialize;

use crate::part::Part;
use crate::report::Step;
use crate::trouble::Trouble;
use crate::world::World;

const LOOK: &str = "./dev run payments reconcile";

/// What a comparison says.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Report {
    agrees: bool,
    counts: Counts,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Counts {
    charges: Verdicts,
    refunds: Verdicts,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Verdicts {
    matched: usize,
    pending: usize,
    young: usize,
    unsettled: usize,
    denied: usize,
    missing_here: usize,
    missing_there: usize,
    amount_differs: usize,
}

impl Verdicts {
    /// Nothing is under way, so that also what is merely new must be known to both.
    fn differing(&self) -> usize {
        let open = self.pending + self.young + self.unsettled;
        open + self.denied + self.missing_here + self.missing_there + self.amount_differs
    }
}

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    step.doing("waiting until nothing is under way");
    world.settled().await?;
    step.doing("comparing");
    let table = world.stack.around.command(Part::Payments, &["reconcile"]).await?;
    step.equal("whether all agrees, by the exit code", true, table.done, LOOK);
    let again = world.stack.around.command(Part::Payments, &["reconcile", "--json"]).await?;
    let report: Report = serde_json::from_str(&again.text)
        .map_err(|error| Trouble::Unreadable { request: LOOK.to_owned(), reason: error.to_string() })?;
    step.equal("whether all agrees, asked again", (true, true), (report.agrees, again.done), LOOK);
    let Counts { charges, refunds } = &report.counts;
    step.equal("charges that do not match", 0, charges.differing(), LOOK);
    step.equal("refunds that do not match", 0, refunds.differing(), LOOK);

    // Those of other tenants are compared with them.
    let (own, returned) = world.books.made_for(&world.payments().await?).await?;
    step.holds(
        "charges that match",
        &format!("at least {own}"),
        charges.matched,
        charges.matched >= own,
        LOOK,
    );
    step.holds(
        "refunds that match",
        &format!("at least {returned}"),
        refunds.matched,
        refunds.matched >= returned,
        LOOK,
    );
    step.figure(format!("{} charges and {} refunds match", charges.matched, refunds.matched));
    step.figure(format!("differences: {}", charges.differing() + refunds.differing()));
    for line in table.text.lines() {
        step.tell(line);
    }
    Ok(())
}
