//! The steps in their order. Each step makes what it needs, so that a failed step does not fail the next one.

mod audit;
mod broker;
mod cancelled;
mod crashes;
mod idle;
pub(crate) mod instances;
mod load;
pub(crate) mod of_services;
pub(crate) mod operator;
mod ready;
mod requests;
mod rewind;
mod watch;

use harness::{Part, Result};

use crate::demo::Demo;
use crate::report::{Report, Step};

pub(crate) use load::Load;

/// Runs all steps.
pub(crate) async fn all(demo: &Demo<'_>, report: &mut Report<'_>) {
    let run = &mut Run { demo, report };
    run.step("The stack is ready", async |step| ready::run(demo, step).await).await;
    run.step("One order, watched", async |step| watch::run(demo, step).await).await;
    run.step("The same key 20 times at once", async |step| requests::same_key(demo, step).await).await;
    run.step("The same key, another body", async |step| requests::reused_key(demo, step).await).await;
    run.step("No key", async |step| requests::missing_key(demo, step).await).await;
    run.step("No stock", async |step| cancelled::no_stock(demo, step).await).await;
    run.step("The broker is away", async |step| broker::run(demo, step).await).await;
    run.kill(Part::ORDERS, "after its commit", async |step| crashes::orders(demo, step).await).await;
    of_services::steps(run).await;
    if demo.stack.is_doubled() {
        run.doubled().await;
    }
    run.step("Everything is delivered again", async |step| rewind::run(demo, step).await).await;
    run.step("Idle: no process is busy", async |step| idle::run(demo, step).await).await;
    of_services::last_steps(run).await;
    run.step("The audit", async |step| audit::run(demo, step).await).await;
    run.step("What an operator saw", async |step| operator::run(demo, step).await).await;
}

pub(crate) struct Run<'r, 's, 'w> {
    pub(crate) demo: &'r Demo<'s>,
    report: &'r mut Report<'w>,
}

impl Run<'_, '_, '_> {
    /// Kills a service at a crash point, which `armed` knows, or at a random moment where programs have none. `moment` is that of the crash
    /// point.
    pub(crate) async fn kill(
        &mut self,
        part: Part,
        moment: &str,
        armed: impl AsyncFnOnce(&mut Step<'_>) -> Result<()>,
    ) {
        let (demo, name) = (self.demo, part.name());
        if demo.stack.platform.has_crash_points() {
            self.step(&format!("{name} killed {moment}"), armed).await;
        } else {
            let reference = format!("{name}-killed-any-time");
            let kills = async |step: &mut Step<'_>| {
                instances::kill_in_turn(demo, step, &reference, &[part.instance(1)]).await
            };
            self.step(&format!("{name} killed at any moment"), kills).await;
        }
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

    /// Runs one step.
    pub(crate) async fn step(&mut self, title: &str, work: impl AsyncFnOnce(&mut Step<'_>) -> Result<()>) {
        if !self.report.step(title, work).await
            && let Err(error) = self.demo.stack.up_all().await
        {
            self.report.say(&format!("The next steps may fail too: {error}"));
        }
    }
}
