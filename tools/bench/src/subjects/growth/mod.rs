//! What a row more costs: each table is filled by SQL, and the statements of the services are counted in PostgreSQL while
//! the programs do the same work as before.

mod audits;
mod days;
mod ended;
mod events;
mod ground;
mod keys;
mod lines;
mod messages;
mod orders;
mod payments;

use crate::environment::Environment;
use crate::report::Section;
use crate::workload::Workload;
use harness::Result;

use lines::Lines;

pub(crate) use days::measure as days;

/// Fills one table after the other.
pub(crate) async fn measure(environment: &Environment, workload: &Workload) -> Result<Section> {
    let mut lines = Lines::default();
    payments::payments(environment, &workload.growth, &mut lines).await?;
    ended::measure(environment, &workload.growth, &mut lines).await?;
    events::measure(environment, &workload.growth, &mut lines).await?;
    orders::open(environment, &workload.growth, &mut lines).await?;
    orders::due(environment, &workload.growth, &mut lines).await?;
    payments::calls(environment, &workload.growth, &mut lines).await?;
    messages::measure(environment, &workload.growth, &mut lines).await?;
    keys::measure(environment, &workload.growth, &mut lines).await?;
    Ok(lines.into_section())
}
