//! The steps, one a file, in their order. Each makes what it needs, so that one that fails does not fail the next.

mod answers;
mod audit;
mod broker;
mod cancel;
mod crash_orders;
mod crash_payments;
mod declined;
mod lost_answer;
mod no_stock;
mod refused;
mod rewind;
mod twenty;
mod watch;

use crate::report::{Report, Step};
use crate::trouble::Trouble;
use crate::world::World;

/// Takes them all.
pub(crate) async fn all(world: &World<'_>, report: &mut Report) {
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
    run.step("orders killed after its commit", async |step| crash_orders::run(world, step).await).await;
    run.step("payments killed after a charge", async |step| crash_payments::run(world, step).await).await;
    run.step("The processor's answer is lost", async |step| lost_answer::run(world, step).await).await;
    run.step("Everything is delivered again", async |step| rewind::run(world, step).await).await;
    run.step("The audit", async |step| audit::run(world, step).await).await;
}

struct Run<'r, 's> {
    world: &'r World<'s>,
    report: &'r mut Report,
}

impl Run<'_, '_> {
    async fn step(&mut self, title: &str, work: impl AsyncFnOnce(&mut Step<'_>) -> Result<(), Trouble>) {
        if !self.report.step(title, work).await
            && let Err(trouble) = self.world.stack.up_all().await
        {
            self.report.say(&format!("The next steps may fail too: {trouble}"));
        }
    }
}
