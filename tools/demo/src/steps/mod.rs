//! The steps, one a file, in their order. Each makes what it needs, so that one that fails does not fail the next.

mod answers;
mod audit;
mod broker;
mod cancel;
mod crash_orders;
mod crash_payments;
mod declined;
mod digests;
mod idle;
mod killed;
mod ledger;
mod lost_answer;
mod no_stock;
mod outage;
mod rebalance;
mod reconciled;
mod refunds;
mod refused;
mod revived;
mod rewind;
mod stored_failure;
mod takeover;
mod twenty;
mod watch;
mod webhook;

use crate::part::Part;
use crate::report::{Report, Step};
use crate::trouble::Trouble;
use crate::world::World;

/// Takes them all.
pub(crate) async fn all(world: &World<'_>, report: &mut Report<'_>) {
    let run = &mut Run { world, report };
    run.step("The stack answers", async |step| answers::run(world, step).await).await;
    run.step("One order, watched", async |step| watch::run(world, step).await).await;
    run.step("The same key 20 times at once", async |step| twenty::run(world, step).await).await;
    run.step("The same key, another body", async |step| refused::reused_key(world, step).await).await;
    run.step("No key", async |step| refused::missing_key(world, step).await).await;
    run.step("No stock", async |step| no_stock::run(world, step).await).await;
    run.step("A declined card", async |step| declined::run(world, step).await).await;
    run.step("Cancelled in mid-charge", async |step| cancel::run(world, step).await).await;
    run.step("The broker goes away", async |step| broker::run(world, step).await).await;
    run.kills().await;
    run.money().await;
    if world.stack.is_doubled() {
        run.doubled().await;
    }
    run.step("Everything is delivered again", async |step| rewind::run(world, step).await).await;
    run.step("Idle: nobody spins", async |step| idle::run(world, step).await).await;
    run.step("Reconciled with the processor", async |step| reconciled::run(world, step).await).await;
    run.step("The ledger, computed anew", async |step| ledger::run(world, step).await).await;
    run.step("The audit", async |step| audit::run(world, step).await).await;
}

struct Run<'r, 's, 'w> {
    world: &'r World<'s>,
    report: &'r mut Report<'w>,
}

impl Run<'_, '_, '_> {
    /// At the worst moments, where programs know them; else at any.
    async fn kills(&mut self) {
        let world = self.world;
        if world.stack.around.has_crash_points() {
            self.step("orders killed after its commit", async |step| crash_orders::run(world, step).await)
                .await;
            self.step("payments killed after a charge", async |step| crash_payments::run(world, step).await)
                .await;
        } else {
            let victims = [Part::Orders, Part::Payments].map(|part| part.instance(1));
            let kills =
                async |step: &mut Step<'_>| killed::run(world, step, "killed-any-time", &victims).await;
            self.step("orders and payments killed at any moment", kills).await;
        }
    }

    /// What a processor can do to those who rely on it, and clients to both.
    async fn money(&mut self) {
        let world = self.world;
        self.step("The processor's answer is lost", async |step| lost_answer::run(world, step).await).await;
        self.step("The processor fails after charging", async |step| stored_failure::run(world, step).await)
            .await;
        self.step("One event, ten times", async |step| webhook::run(world, step).await).await;
        self.step("A refund raced 20 times", async |step| refunds::run(world, step).await).await;
        self.step("The processor is away for too long", async |step| outage::run(world, step).await).await;
    }

    /// What needs two of everything.
    async fn doubled(&mut self) {
        let world = self.world;
        self.step("A consumer dies and comes back", async |step| rebalance::run(world, step).await).await;
        self.step("The active relay dies", async |step| takeover::run(world, step).await).await;
        self.step("Frozen, taken for dead, revived", async |step| revived::run(world, step).await).await;
        let victims = world.stack.instances(Part::Orders);
        let kills = async |step: &mut Step<'_>| killed::run(world, step, "killed-in-turn", &victims).await;
        self.step("Both instances of orders killed in turn", kills).await;
    }

    async fn step(&mut self, title: &str, work: impl AsyncFnOnce(&mut Step<'_>) -> Result<(), Trouble>) {
        if !self.report.step(title, work).await
            && let Err(trouble) = self.world.stack.up_all().await
        {
            self.report.say(&format!("The next steps may fail too: {trouble}"));
        }
    }
}
