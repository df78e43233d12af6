//! Nothing is asked, and nothing is done: nobody spins, and no table grows.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::digests::{self, Digests};
use crate::kafka::Places;
use crate::part::{Instance, Part};
use crate::process::time_used;
use crate::report::Step;
use crate::trouble::Trouble;
use crate::world::World;

/// How long we look on.
const WINDOW: Duration = Duration::from_secs(5);
/// Hundredths of one processor. A loop that does not wait takes all hundred.
const MUCH: f64 = 25.0;

/// What must not change while nothing happens.
#[derive(Debug, PartialEq, Eq)]
struct Sight {
    tables: Digests,
    places: Places,
    /// When the relays last wrote down how far they are.
    checkpoints: Vec<String>,
}

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    step.doing("waiting until nothing is under way");
    world.settled().await?;
    let before = look(world).await?;
    let used_before = used(world).await?;
    let start = Instant::now();
    step.doing("looking on");
    tokio::time::sleep(WINDOW).await;
    let (window, used_after) = (start.elapsed(), used(world).await?);
    let after = look(world).await?;

    let unchanged = digests::compare(step, &before.tables, &after.tables);
    step.equal("ends of topics and places of consumers", &before.places, &after.places, "./dev topics");
    step.equal("the relays' last checkpoints", &before.checkpoints, &after.checkpoints, "./dev logs");
    step.figure(format!(
        "{unchanged} of {} tables unchanged in {:.1} s",
        before.tables.len(),
        window.as_secs_f64()
    ));
    step.figure(format!("{} relays wrote no checkpoint", after.checkpoints.len()));

    if used_before.is_empty() {
        step.figure("CPU not measured, as there is no /proc of these processes");
    }
    for part in Part::PROGRAMS {
        let mut shares = Vec::new();
        for (instance, before) in used_before.iter().filter(|(instance, _)| instance.part == part) {
            let Some(after) = used_after.get(instance) else { continue };
            let share = 100.0 * after.saturating_sub(*before).as_secs_f64() / window.as_secs_f64();
            let what = format!("share of one processor that {instance} takes");
            step.holds(&what, "a few hundredths", format!("{share:.1} %"), share < MUCH, "./dev logs");
            shares.push(format!("{instance} {share:.1} %"));
        }
        if !shares.is_empty() {
            step.tell(format!("CPU  {}", shares.join(", ")));
        }
    }
    Ok(())
}

async fn look(world: &World<'_>) -> Result<Sight, Trouble> {
    let mut checkpoints = Vec::new();
    for part in Part::SERVICES {
        checkpoints.push(world.books.last_checkpoint(part).await?);
    }
    Ok(Sight { tables: digests::of(world).await?, places: world.kafka.places().await?, checkpoints })
}

/// What each process has used of the processors so far; those of which it cannot be told are left out.
async fn used(world: &World<'_>) -> Result<BTreeMap<Instance, Duration>, Trouble> {
    let mut used = BTreeMap::new();
    for instance in world.stack.processes() {
        let process = world.stack.around.process(instance).await?;
        used.extend(process.and_then(time_used).map(|time| (instance, time)));
    }
    Ok(used)
}
