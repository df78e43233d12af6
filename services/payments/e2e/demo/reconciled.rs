//! `payments reconcile` compares our books with the processor's, object by object.

use std::collections::BTreeMap;

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

/// The number of objects by verdict.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Counts {
    charges: BTreeMap<String, usize>,
    refunds: BTreeMap<String, usize>,
}

const MATCHED: &str = "matched";

/// The verdicts about objects that do not differ: another deployment's, and those whose difference an operator has accepted.
const NO_DIFFERENCE: [&str; 3] = [MATCHED, "foreign", "accepted"];

/// Because nothing is in progress, new objects must be known to both sides, too.
fn differing(verdicts: &BTreeMap<String, usize>) -> usize {
    let differs = |(verdict, _): &(&String, &usize)| !NO_DIFFERENCE.contains(&verdict.as_str());
    verdicts.iter().filter(differs).map(|(_, objects)| objects).sum()
}

pub(super) async fn run(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    step.progress("waiting until nothing is in progress");
    demo.settled().await?;
    step.progress("comparing");
    let table = demo.stack.platform.command(Part::PAYMENTS, &["reconcile"]).await?;
    step.equal("whether both books agree, by the exit code", true, table.is_success(), HINT);
    let again = demo.stack.platform.command(Part::PAYMENTS, &["reconcile", "--json"]).await?;
    let report: Report = serde_json::from_str(&again.stdout)
        .map_err(|error| Error::unreadable(format!("the output of {HINT}"), error))?;
    step.equal(
        "whether both books agree, asked again",
        (true, true),
        (report.agrees, again.is_success()),
        HINT,
    );
    let Counts { charges, refunds } = &report.counts;
    step.equal("charges that do not match", 0, differing(charges), HINT);
    step.equal("refunds that do not match", 0, differing(refunds), HINT);

    // The comparison includes other tenants.
    let [charged, refunded] = [charges, refunds].map(|verdicts| verdicts.get(MATCHED).copied().unwrap_or(0));
    let (own, returned) = demo.books.made_by_processor(&demo.payments().await?).await?;
    step.check("charges that match", &format!("at least {own}"), charged, charged >= own, HINT);
    step.check("refunds that match", &format!("at least {returned}"), refunded, refunded >= returned, HINT);
    step.figure(format!("{charged} charges and {refunded} refunds match"));
    step.figure(format!("differences: {}", differing(charges) + differing(refunds)));
    for line in table.text().lines() {
        step.detail(line);
    }
    Ok(())
}
