//! Every consumer reads every message again, from the first: and nothing changes.

use audits::READERS;
use contracts::Stream;

use super::digests;
use crate::part::Part;
use crate::report::Step;
use crate::trouble::Trouble;
use crate::wait::until;
use crate::world::{PATIENCE, World};

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    step.doing("waiting until nothing is under way");
    world.settled().await?;
    step.doing("stopping the services");
    world.stack.down(&Part::SERVICES).await?;
    let before = digests::of(world).await?;
    let counts = world.kafka.counts().await?;

    step.doing("rewinding the consumer groups");
    world.kafka.rewind().await?;
    let rewound = world.kafka.places().await?;
    let places: i64 = rewound.values().map(|(place, _)| place).sum();
    step.equal("the sum of all offsets after rewinding", 0, places, "./dev topics");

    step.doing("starting the services, which read everything again");
    world.stack.up(&Part::SERVICES).await?;
    until("everybody has read everything again", PATIENCE, "./dev topics", async || {
        let behind: i64 = world.kafka.places().await?.values().map(|(place, end)| end - place).sum();
        Ok(if behind == 0 { Ok(()) } else { Err(format!("{behind} to be read")) })
    })
    .await?;
    world.settled().await?;
    let unchanged = digests::compare(step, &before, &digests::of(world).await?);
    step.equal("messages on the topics", &counts, &world.kafka.counts().await?, "./dev topics");

    let count = |stream: Stream| counts.get(&stream).copied().unwrap_or_default();
    let rows: i64 = before.values().map(|(rows, _)| rows).sum();
    let read: usize = READERS.iter().map(|(_, stream)| count(*stream)).sum();
    step.figure(format!("{read} messages read again by {} consumers", Part::SERVICES.len()));
    step.figure(format!("{unchanged} of {} tables ({rows} rows) unchanged to the byte", before.len()));
    Ok(())
}
