//! Every consumer reads every message again from offset 0: no table changes.

use audits::readers;
use envelope::Stream;
use harness::{AllContents, Kafka, Part, Result, until};

use crate::demo::{Demo, LIMIT};
use crate::report::Step;

pub(crate) async fn run(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    step.progress("waiting until nothing is in progress");
    demo.settled().await?;
    step.progress("stopping the services");
    demo.stack.down(&Part::SERVICES).await?;
    let before = demo.books.contents().await?;
    let counts = demo.kafka.counts().await?;

    step.progress("rewinding the consumer groups");
    demo.kafka.rewind().await?;
    let offsets: i64 = demo.kafka.positions().await?.values().map(|(next, _)| next).sum();
    step.equal("the sum of all offsets after rewinding", 0, offsets, "./dev topics");

    step.progress("starting the services, which consume everything again");
    demo.stack.up(&Part::SERVICES).await?;
    until("every message is consumed again", LIMIT, "./dev topics", async || {
        let lag = Kafka::lag(&demo.kafka.positions().await?);
        Ok(if lag == 0 { Ok(()) } else { Err(format!("{lag} messages to consume")) })
    })
    .await?;
    demo.settled().await?;
    let unchanged = compare(step, &before, &demo.books.contents().await?);
    step.equal("messages on the topics", &counts, &demo.kafka.counts().await?, "./dev topics");

    let count = |stream: Stream| counts.get(&stream).copied().unwrap_or_default();
    let rows: i64 = before.values().map(|(rows, _)| rows).sum();
    let read: usize = readers().map(|(_, stream)| count(stream)).sum();
    step.figure(format!("{read} messages consumed again by {} services", Part::SERVICES.len()));
    step.figure(format!("{unchanged} of {} tables ({rows} rows) unchanged to the byte", before.len()));
    Ok(())
}

/// Checks each table. Returns how many are unchanged.
pub(super) fn compare(step: &mut Step<'_>, before: &AllContents, after: &AllContents) -> usize {
    step.check("tables to compare", "some", before.len(), !before.is_empty(), "./dev psql orders");
    let mut unchanged = 0;
    for ((part, table), then) in before {
        let now = after.get(&(*part, table.clone()));
        let rows = |found: &(i64, _)| found.0;
        let seen = format!("{} rows before, {:?} after, other contents", rows(then), now.map(rows));
        let what = format!("table {table} of {}", part.name());
        step.check(&what, "unchanged", seen, now == Some(then), &format!("./dev psql {}", part.name()));
        unchanged += usize::from(now == Some(then));
    }
    unchanged
}
