//! The verdict of the reconciliation about each object and record: cases one by one, and generated histories of two days
//! against a model of the rules.

mod cases;
mod generate;
mod history;
mod model;

use std::collections::BTreeSet;

use proptest::test_runner::{Config, TestRunner};
use tokio::runtime::Runtime;

use self::generate::histories;
use self::history::{History, Kind};
use self::model::Findings;
use crate::listing::Listing;
use crate::stage::Stage;

/// The books of both sides. One history after the other is stored in them.
struct Books {
    stage: Stage,
    listing: Listing,
}

impl Books {
    async fn new() -> Self {
        Self { stage: Stage::new().await, listing: Listing::start().await }
    }

    /// Stores a history and reconciles.
    async fn reconcile(&self, history: &History) -> Findings {
        history.store(&self.stage).await;
        self.listing.holds(|now| [Kind::Charge, Kind::Refund].map(|kind| history.list(kind, now)));
        let (code, report) = self.listing.reconcile(&self.stage).await;
        let findings = Findings::of_report(&report);
        assert_eq!((code == 0, report["agrees"] == true), (findings.agree(), findings.agree()), "{report}");
        findings
    }
}

#[test]
fn generated_histories_have_the_verdicts_of_the_model() {
    let runtime = Runtime::new().unwrap();
    let books = runtime.block_on(Books::new());
    let verdicts = std::cell::RefCell::new(BTreeSet::new());
    let config = Config { cases: 24, failure_persistence: None, max_shrink_iters: 100, ..Config::default() };
    let run = TestRunner::new(config).run(&histories(), |history| {
        let findings = runtime.block_on(books.reconcile(&history));
        proptest::prop_assert_eq!(&findings, &Findings::expected(&history));
        verdicts.borrow_mut().extend(findings.verdicts());
        Ok(())
    });
    run.unwrap_or_else(|failure| panic!("{failure}"));
    let all = [
        "amount_differs",
        "denied",
        "foreign",
        "matched",
        "missing_here",
        "missing_there",
        "pending",
        "unsettled",
        "young",
    ];
    assert_eq!(verdicts.into_inner(), all.map(str::to_owned).into(), "every verdict has occurred");
}
