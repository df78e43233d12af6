//! Processes that are killed or paused while orders keep coming: no order is lost, and none takes effect twice.

use std::time::{Duration, Instant};

use harness::{Instance, Part, Result};
use uuid::Uuid;

use crate::demo::Demo;
use crate::report::{Step, span};
use crate::traffic::Traffic;

/// Kills these processes one after the other, each at a random moment.
pub(crate) async fn kill_in_turn(
    demo: &Demo<'_>,
    step: &mut Step<'_>,
    reference: &str,
    victims: &[Instance],
) -> Result<()> {
    step.progress("placing orders all the time");
    let start = Instant::now();
    let passed_on = demo.api.passed_on();
    let traffic = Traffic::during(demo, reference, async |traffic| {
        for victim in victims {
            tokio::time::sleep(random_pause()).await;
            demo.stack.kill(*victim).await?;
            step.progress(&format!("killed {victim}"));
            demo.stack.start(&[*victim]).await?;
            traffic.grows_by(5).await?;
        }
        Ok(())
    })
    .await?;
    let passed_on = demo.api.passed_on() - passed_on;
    let orders = traffic.settle(step).await?;
    step.figure(format!("{} kills during {orders} orders", victims.len()));
    step.figure(format!("requests without a response, sent again: {}", traffic.retries()));
    if demo.stack.is_doubled() {
        step.figure(format!("requests that found no listener and went to the other instance: {passed_on}"));
    }
    step.figure(format!("all confirmed after {}", span(start.elapsed())));
    Ok(())
}

/// Up to half a second.
fn random_pause() -> Duration {
    let (random, _) = Uuid::new_v4().as_u64_pair();
    Duration::from_millis(random % 500)
}

/// A consumer is killed and comes back: its partitions move to the other instance and back.
pub(crate) async fn rebalance(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    let victim = Part::INVENTORY.instance(2);
    step.progress("placing orders all the time");
    let start = Instant::now();
    let traffic = Traffic::during(demo, "rebalanced", async |traffic| {
        demo.stack.kill(victim).await?;
        traffic.grows_by(10).await?;
        demo.stack.start(&[victim]).await?;
        traffic.grows_by(10).await
    })
    .await?;
    let orders = traffic.settle(step).await?;
    step.figure(format!("{victim} killed and started again during {orders} orders"));
    step.figure(format!("all of them confirmed after {}", span(start.elapsed())));
    Ok(())
}

/// The active relay dies between publishing and its checkpoint: the other relay takes over once the lease has run out,
/// and publishes those messages again.
pub(crate) async fn relay_takeover(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    let (_, epoch) = demo.relay_after(Part::ORDERS, 0).await?;
    let [victim, successor] = [1, 2].map(|number| Part::ORDERS.relay(number));
    step.progress("restarting a relay with a crash point");
    demo.stack.stop(&[victim, successor]).await?;
    demo.stack.arm(victim, "relay.before_checkpoint:1").await?;
    let (active, epoch) = demo.relay_after(Part::ORDERS, epoch).await?;
    step.equal("the active relay", victim, active, "./dev status");
    demo.stack.start(&[successor]).await?;
    let repeats = demo.delivery().await?.repeats();

    step.progress("placing orders all the time");
    let first = Instant::now();
    let traffic = Traffic::during(demo, "relay-killed", async |traffic| {
        let (active, next) = demo.relay_after(Part::ORDERS, epoch).await?;
        let took = first.elapsed();
        step.equal("the next relay and its epoch", (successor, epoch + 1), (active, next), "./dev status");
        step.figure(format!("{victim} killed between publishing and its checkpoint"));
        step.figure(format!("{active} took over {} after the first order", span(took)));
        traffic.confirmed().await.map(drop)
    })
    .await?;
    demo.stack.start(&[victim]).await?;
    let orders = traffic.settle(step).await?;
    step.figure(format!("{orders} orders accepted meanwhile, all confirmed"));
    let repeats = demo.delivery().await?.repeats() - repeats;
    step.check("messages published twice", "at least 1", repeats, repeats >= 1, "./dev topics");
    step.figure(format!("messages published twice: {repeats}"));
    Ok(())
}

/// A relay and a consumer are paused past lease and session, and resumed: what they still do is refused, or is a
/// duplicate.
pub(crate) async fn pause_past_lease(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    let (relay, epoch) = demo.relay_after(Part::ORDERS, 0).await?;
    let consumer = Part::SERVICES[1].instance(2);
    let repeats = demo.delivery().await?.repeats();
    step.progress("placing orders all the time");
    let traffic = Traffic::during(demo, "paused", async |traffic| {
        let paused = Instant::now();
        demo.stack.pause(&[relay, consumer]).await?;
        step.progress("waiting until other processes have taken over");
        let (successor, next) = demo.relay_after(Part::ORDERS, epoch).await?;
        step.equal("the epoch", epoch + 1, next, "./dev psql orders");
        step.figure(format!("{relay} paused, {successor} took over after {}", span(paused.elapsed())));
        // The session and the leases of the paused consumer run out, and the other instance does its work.
        let orders = traffic.confirmed().await?;
        let took = span(paused.elapsed());
        step.figure(format!("{consumer} paused, {orders} orders confirmed without it after {took}"));
        demo.stack.start(&[relay, consumer]).await?;
        traffic.grows_by(20).await
    })
    .await?;
    let orders = traffic.settle(step).await?;
    demo.settled().await?;
    let (holder, _) = demo.relay_after(Part::ORDERS, epoch).await?;
    step.check("the relay that publishes now", "the successor", holder, holder != relay, "./dev status");
    let delivery = demo.delivery().await?;
    step.no_violations("first occurrences in order", &delivery.disordered(), "./dev topics");
    let repeats = delivery.repeats() - repeats;
    step.figure(format!("both resumed, {orders} orders confirmed; messages published twice: {repeats}"));
    Ok(())
}
