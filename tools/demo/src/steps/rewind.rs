//! Every consumer reads every message again, from the first: and nothing changes.

use std::collections::BTreeMap;

use contracts::Stream;
use futures_util::future::try_join_all;

use crate::kafka::READERS;
use crate::report::Step;
use crate::stack::Part;
use crate::trouble::Trouble;
use crate::wait::until;
use crate::world::{PATIENCE, World};

/// The digest of each table of each database.
type Digests = BTreeMap<(Part, String), (i64, Option<String>)>;

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    step.doing("waiting until nothing is under way");
    world.settled().await?;
    step.doing("stopping the services");
    world.stack.down(&Part::SERVICES).await?;
    let before = digests(world).await?;
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
    let unchanged = compare(step, &before, &digests(world).await?);
    step.equal("messages on the topics", &counts, &world.kafka.counts().await?, "./dev topics");

    let count = |stream: Stream| counts.get(&stream).copied().unwrap_or_default();
    let rows: i64 = before.values().map(|(rows, _)| rows).sum();
    let read: usize = READERS.iter().map(|(_, stream)| count(*stream)).sum();
    step.figure(format!("{read} messages read again by {} consumers", Part::SERVICES.len()));
    step.figure(format!("{unchanged} of {} tables ({rows} rows) unchanged to the byte", before.len()));
    Ok(())
}

async fn digests(world: &World<'_>) -> Result<Digests, Trouble> {
    let parts = Part::PROGRAMS.map(async |part| {
        let contents = world.books.contents(part).await?;
        Ok::<Vec<_>, Trouble>(contents.into_iter().map(|(table, found)| ((part, table), found)).collect())
    });
    Ok(try_join_all(parts).await?.into_iter().flatten().collect())
}

/// Checks each table. Returns how many are unchanged.
fn compare(step: &mut Step<'_>, before: &Digests, after: &Digests) -> usize {
    step.holds("tables to compare", "some", before.len(), !before.is_empty(), "./dev psql orders");
    let mut unchanged = 0;
    for ((part, table), then) in before {
        let now = after.get(&(*part, table.clone()));
        let rows = |found: &(i64, _)| found.0;
        let seen = format!("{} rows before, {:?} after, other contents", rows(then), now.map(rows));
        let what = format!("table {table} of {}", part.name());
        step.holds(&what, "unchanged", seen, now == Some(then), &format!("./dev psql {}", part.name()));
        unchanged += usize::from(now == Some(then));
    }
    unchanged
}
