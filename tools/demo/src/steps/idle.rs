//! Without requests, no table changes and no process is busy.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use harness::process::cpu_time;
use harness::{AllContents, Instance, Part, Positions, Result};

use super::rewind::compare;
use crate::demo::Demo;
use crate::report::Step;

/// How long the step observes.
const WINDOW: Duration = Duration::from_secs(5);
/// Percent of one processor. A loop that does not wait takes 100.
const BUSY: f64 = 25.0;

/// The figures that must not change without requests.
#[derive(Debug, PartialEq, Eq)]
struct Snapshot {
    tables: AllContents,
    positions: Positions,
    /// When each relay last moved its cursor.
    checkpoints: Vec<String>,
}

pub(crate) async fn run(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    step.progress("waiting until nothing is in progress");
    demo.settled().await?;
    let before = snapshot(demo).await?;
    let used_before = cpu_times(demo).await?;
    let start = Instant::now();
    step.progress("observing");
    tokio::time::sleep(WINDOW).await;
    let (window, used_after) = (start.elapsed(), cpu_times(demo).await?);
    let after = snapshot(demo).await?;

    let unchanged = compare(step, &before.tables, &after.tables);
    step.equal("ends of topics, positions of consumers", &before.positions, &after.positions, "./dev topics");
    step.equal("the last checkpoints of the relays", &before.checkpoints, &after.checkpoints, "./dev logs");
    step.figure(format!(
        "{unchanged} of {} tables unchanged in {:.1} s",
        before.tables.len(),
        window.as_secs_f64()
    ));
    step.figure(format!("{} relays wrote no checkpoint", after.checkpoints.len()));

    if used_before.is_empty() {
        step.figure("CPU not measured, because /proc does not show these processes");
    }
    for part in Part::PROGRAMS {
        let mut shares = Vec::new();
        for (instance, before) in used_before.iter().filter(|(instance, _)| instance.part == part) {
            let Some(after) = used_after.get(instance) else { continue };
            let share = 100.0 * after.saturating_sub(*before).as_secs_f64() / window.as_secs_f64();
            let what = format!("share of one processor that {instance} uses");
            step.check(&what, "a few percent", format!("{share:.1} %"), share < BUSY, "./dev logs");
            shares.push(format!("{instance} {share:.1} %"));
        }
        if !shares.is_empty() {
            step.detail(format!("CPU  {}", shares.join(", ")));
        }
    }
    Ok(())
}

async fn snapshot(demo: &Demo<'_>) -> Result<Snapshot> {
    let mut checkpoints = Vec::new();
    for part in Part::SERVICES {
        checkpoints.push(demo.last_checkpoint(part).await?);
    }
    Ok(Snapshot {
        tables: demo.books.contents().await?,
        positions: demo.kafka.positions().await?,
        checkpoints,
    })
}

/// Processor time of each process so far, without the processes that /proc does not show.
async fn cpu_times(demo: &Demo<'_>) -> Result<BTreeMap<Instance, Duration>> {
    let mut used = BTreeMap::new();
    for instance in demo.stack.processes() {
        let process = demo.stack.platform.process(instance).await?;
        used.extend(process.and_then(cpu_time).map(|time| (instance, time)));
    }
    Ok(used)
}
