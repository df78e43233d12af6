//! Processes are killed at moments that nobody chose, one after the other, while orders keep coming: every client gets
//! its answer in the end, and no order is lost or taken twice.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::part::Instance;
use crate::report::{Step, span};
use crate::traffic::Traffic;
use crate::trouble::Trouble;
use crate::world::World;

pub(crate) async fn run(
    world: &World<'_>,
    step: &mut Step<'_>,
    reference: &'static str,
    victims: &[Instance],
) -> Result<(), Trouble> {
    step.doing("orders keep coming");
    let start = Instant::now();
    let passed_on = || world.api.passed_on.load(Ordering::Relaxed);
    let before = passed_on();
    let traffic = Traffic::during(world, reference, async |traffic| {
        for victim in victims {
            tokio::time::sleep(some_time()).await;
            world.stack.kill(*victim).await?;
            step.doing(&format!("{victim} is killed"));
            world.stack.start(&[*victim]).await?;
            traffic.grows_by(5).await?;
        }
        Ok(())
    })
    .await?;
    let passed_on = passed_on() - before;
    let number = traffic.settle(step).await?;
    step.figure(format!("{} kills under {number} orders", victims.len()));
    step.figure(format!("requests that got no answer, sent again: {}", traffic.again()));
    if world.stack.is_doubled() {
        step.figure(format!("that found nobody, and went to the other: {passed_on}"));
    }
    step.figure(format!("all confirmed and charged once after {}", span(start.elapsed())));
    Ok(())
}

/// Up to half a second.
fn some_time() -> Duration {
    let (random, _) = Uuid::new_v4().as_u64_pair();
    Duration::from_millis(random % 500)
}
