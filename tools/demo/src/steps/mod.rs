//! The steps in their order. Each step makes what it needs, so that a failed step does not fail the next one.

mod audit;
mod broker;
mod cancelled;
mod crashes;
mod idle;
mod instances;
mod ledger;
mod load;
mod of_services;
mod operator;
mod processor;
mod ready;
mod reconciled;
mod refunds;
mod requests;
mod rewind;
mod watch;
mod webhook;

use harness::{Part, Result};

use crate::demo::Demo;
use crate::report::{Report, Step};

pub(crate) use load::Load;

/// Runs all steps.
pub(crate) async fn all(demo: &Demo<'_>, report: &mut Report<'_>) {
    let run = &mut Run { demo, report };
    run.step("The stack is ready", async |step| ready::run(demo, step).await).await;
    run.step("One order, watched", async |step| watch::run(demo, step).await).await;
    of_services::run(run).await;
    run.step("The same key 20 times at once", async |step| requests::same_key(demo, step).await).await;
    run.step("The same key, another body", async |step| requests::reused_key(demo, step).await).await;
    run.step("No key", async |step| requests::missing_key(demo, step).await).await;
    run.step("No stock", async |step| cancelled::no_stock(demo, step).await).await;
    run.step("A declined card", async |step| cancelled::declined(demo, step).await).await;
    run.step("Cancelled during the charge", async |step| cancelled::in_mid_charge(demo, step).await).await;
    run.step("The broker is away", async |step| broker::run(demo, step).await).await;
    run.kills().await;
    run.money().await;
    if demo.stack.is_doubled() {
        run.doubled().await;
    }
    run.step("Everything is delivered again", async |step| rewind::run(demo, step).await).await;
    run.step("Idle: no process is busy", async |step| idle::run(demo, step).await).await;
    run.step("Reconciled with the processor", async |step| reconciled::run(demo, step).await).await;
    run.step("The ledger, verified", async |step| ledger::run(demo, step).await).await;
    run.step("The audit", async |step| audit::run(demo, step).await).await;
    run.step("What an operator saw", async |step| operator::run(demo, step).await).await;
}

struct Run<'r, 's, 'w> {
    demo: &'r Demo<'s>,
    report: &'r mut Report<'w>,
}

impl Run<'_, '_, '_> {
    /// Kills at crash points, or at random moments where programs have none.
    async fn kills(&mut self) {
        let demo = self.demo;
        if demo.stack.platform.has_crash_points() {
            self.step("orders killed after its commit", async |step| crashes::orders(demo, step).await).await;
            self.step("payments killed after a charge", async |step| crashes::payments(demo, step).await)
                .await;
        } else {
            let victims = [Part::ORDERS, Part::PAYMENTS].map(|part| part.instance(1));
            let kills = async |step: &mut Step<'_>| {
                instances::kill_in_turn(demo, step, "killed-any-time", &victims).await
            };
            self.step("orders and payments killed at any moment", kills).await;
        }
    }

    /// Faults of the processor, and races for money.
    async fn money(&mut self) {
        let demo = self.demo;
        let lost = async |step: &mut Step<'_>| processor::lost_response(demo, step).await;
        self.step("The processor's response is lost", lost).await;
        let failed = async |step: &mut Step<'_>| processor::stored_failure(demo, step).await;
        self.step("The processor fails after charging", failed).await;
        self.step("One event, ten times", async |step| webhook::run(demo, step).await).await;
        self.step("20 refunds at once", async |step| refunds::run(demo, step).await).await;
        self.step("The processor is away for too long", async |step| processor::outage(demo, step).await)
            .await;
    }

    /// The steps that need two instances of each service.
    async fn doubled(&mut self) {
        let demo = self.demo;
        self.step("A consumer dies and comes back", async |step| instances::rebalance(demo, step).await)
            .await;
        self.step("The active relay dies", async |step| instances::relay_takeover(demo, step).await).await;
        let paused = async |step: &mut Step<'_>| instances::pause_past_lease(demo, step).await;
        self.step("Paused, replaced, resumed", paused).await;
        let victims = demo.stack.instances(Part::ORDERS);
        let kills =
            async |step: &mut Step<'_>| instances::kill_in_turn(demo, step, "killed-in-turn", &victims).await;
        self.step("Both instances of orders killed in turn", kills).await;
    }

    async fn step(&mut self, title: &str, work: impl AsyncFnOnce(&mut Step<'_>) -> Result<()>) {
        if !self.report.step(title, work).await
            && let Err(error) = self.demo.stack.up_all().await
        {
            self.report.say(&format!("The next steps may fail too: {error}"));
        }
    }
}
