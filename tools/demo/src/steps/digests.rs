//! Everything that the databases hold, in one line for each table: what is equal before and after has not changed.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;

use crate::part::Part;
use crate::report::Step;
use crate::trouble::Trouble;
use crate::world::World;

/// Rows and digest of each table of each database.
pub(crate) type Digests = BTreeMap<(Part, String), (i64, Option<String>)>;

pub(crate) async fn of(world: &World<'_>) -> Result<Digests, Trouble> {
    let parts = Part::PROGRAMS.map(async |part| {
        let contents = world.books.contents(part).await?;
        Ok::<Vec<_>, Trouble>(contents.into_iter().map(|(table, found)| ((part, table), found)).collect())
    });
    Ok(try_join_all(parts).await?.into_iter().flatten().collect())
}

/// Checks each table. Returns how many are unchanged.
pub(crate) fn compare(step: &mut Step<'_>, before: &Digests, after: &Digests) -> usize {
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
