//! `payments reconcile` compares our books with the processor's, object by object.

use harness::{Error, Part, Result};
use serde::Deserialize;

use crate::demo::Demo;
use crate::report::Step;

const HINT: &str = "./dev run payments reconcile";

/// The members of the report that the step reads.
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
    /// Because nothing is in progress, new objects must be known to both sides, too.
    fn differing(&self) -> usize {
        let open = self.pending + self.young + self.unsettled;
        open + self.denied + self.missing_here + self.missing_there + self.amount_differs
    }
}

pub(crate) async fn run(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    step.progress("waiting until nothing is in progress");
    demo.settled().await?;
    step.progress("comparing");
    let table = demo.stack.platform.command(Part::Payments, &["reconcile"]).await?;
    step.equal("whether both books agree, by the exit code", true, table.is_success(), HINT);
    let again = demo.stack.platform.command(Part::Payments, &["reconcile", "--json"]).await?;
    let report: Report = serde_json::from_str(&again.stdout)
        .map_err(|error| Error::unreadable(format!("the output of {HINT}"), error))?;
    step.equal(
        "whether both books agree, asked again",
        (true, true),
        (report.agrees, again.is_success()),
        HINT,
    );
    let Counts { charges, refunds } = &report.counts;
    step.equal("charges that do not match", 0, charges.differing(), HINT);
    step.equal("refunds that do not match", 0, refunds.differing(), HINT);

    // The comparison includes other tenants.
    let (own, returned) = demo.books.made_by_processor(&demo.payments().await?).await?;
    step.check(
        "charges that match",
        &format!("at least {own}"),
        charges.matched,
        charges.matched >= own,
        HINT,
    );
    step.check(
        "refunds that match",
        &format!("at least {returned}"),
        refunds.matched,
        refunds.matched >= returned,
        HINT,
    );
    step.figure(format!("{} charges and {} refunds match", charges.matched, refunds.matched));
    step.figure(format!("differences: {}", charges.differing() + refunds.differing()));
    for line in table.text().lines() {
        step.detail(line);
    }
    Ok(())
}
