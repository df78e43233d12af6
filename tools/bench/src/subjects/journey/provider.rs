//! The stand-in for the processor alone, so that it can be seen that it does not limit the saga.

use harness::{Part, Result};

use super::charge::Charger;
use super::cost::Usage;
use crate::load::closed_loop;
use crate::report::{Ratio, Section, Table, number};
use crate::subjects::stack::Stack;
use crate::workload::Workload;

/// As many requests at the same time as payments sends at least.
const CONNECTIONS: usize = 64;

/// Charges cards as fast as the stand-in answers. No program runs before or after.
pub(super) async fn measure(
    stack: &mut Stack<'_>,
    orders_per_second: f64,
    workload: &Workload,
    section: &mut Section,
) -> Result<()> {
    stack.start_program(Part::Provider).await?;
    let mut chargers = Vec::new();
    for _ in 0..CONNECTIONS {
        chargers.push(Charger::open(stack).await?);
    }
    let (_, chargers) = closed_loop(chargers, workload.warm_up).await?;
    let before = Usage::of(stack).await?;
    let (load, _) = closed_loop(chargers, workload.length).await?;
    let after = Usage::of(stack).await?;
    stack.stop_programs().await?;

    let mut table = Table::new(
        format!(
            "The stand-in for the processor alone: {CONNECTIONS} connections, a commit before each response"
        ),
        ["what", "measured"],
    );
    table.row(["charges/s".to_owned(), number(load.rate, 0)]);
    table.row(["p50 ms".to_owned(), number(load.p50, 2)]);
    table.row(["p99 ms".to_owned(), number(load.p99, 2)]);
    for (process, micros) in after.each(&before, load.count) {
        table.row([format!("µs of CPU a charge: {process}"), number(micros, 0)]);
    }
    section.tables.push(table);
    section.figure("journey.provider_alone_per_second", load.rate);
    let ratio = load.rate / orders_per_second;
    section.ratios.push(Ratio::new("charges/s of the stand-in alone ÷ orders/s of a crowd", ratio, 2.0));
    Ok(())
}
