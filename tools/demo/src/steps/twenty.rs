//! The same request twenty times at once: it happens once, and everybody gets the same answer.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::api::{Answer, CommandRequest, Order};
use crate::crowd::at_once;
use crate::part::{Instance, Part};
use crate::report::{Step, span};
use crate::trouble::Trouble;
use crate::world::{TEA, VISA, World};

const TIMES: usize = 20;
const REFERENCE: &str = "twenty-at-once";

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let body = CommandRequest { lines: &[(TEA, 1)], card: VISA, reference: REFERENCE }.body();
    let key = Uuid::new_v4();
    let api = world.api.with_connections(TIMES, Part::Orders, "/v1/orders?limit=1").await?;
    let answers = at_once(TIMES, async |_| api.place(key, &body).await).await?;

    let look = "./dev logs orders";
    let created = answers.iter().filter(|(answer, _)| answer.status == 201).count();
    let executed =
        answers.iter().filter(|(answer, _)| answer.header("idempotency-status") == Some("executed")).count();
    let replays: Vec<&Answer> =
        answers.iter().map(|(answer, _)| answer).filter(|answer| answer.is_replay()).collect();
    step.equal("answers with 201", TIMES, created, look);
    step.equal("answers that were executed", 1, executed, look);
    step.equal("answers that were replayed", TIMES - 1, replays.len(), look);

    let first = answers.iter().map(|(answer, _)| answer).find(|answer| !answer.is_replay());
    let same =
        first.map_or(0, |first| replays.iter().filter(|replay| replay.receipt() == first.receipt()).count());
    step.equal("replays equal byte for byte", TIMES - 1, same, look);

    let orders = world.books.orders_called(&world.tenant, REFERENCE).await?;
    step.equal("orders in the database", 1, orders.len(), "./dev psql orders");
    step.figure(format!("{} order, {same} replays byte for byte", orders.len()));

    let mut by: BTreeMap<Instance, usize> = BTreeMap::new();
    for (answer, _) in &answers {
        *by.entry(answer.instance).or_default() += 1;
    }
    let instances = world.stack.instances(Part::Orders).len();
    step.equal("instances that have answered", instances, by.len(), look);
    if instances > 1 {
        let by: Vec<String> = by.iter().map(|(instance, times)| format!("{times} by {instance}")).collect();
        step.figure(format!("answered {}", by.join(", ")));
    }

    let told: usize = answers.iter().map(|(_, told)| told).sum();
    let slowest = answers.iter().map(|(answer, _)| answer.took).max().unwrap_or_default();
    step.figure(format!("told that it is in progress, waited and sent again: {told}"));
    step.figure(format!("slowest answer {}", span(slowest)));
    if let Some(first) = first {
        let order: Order = first.read(201)?;
        let ended = world.ships(order.id).await?;
        step.equal("how it ended", "confirmed", ended.end(), look);
        step.equal("charges", 1, world.taken_for(&ended).await?.charges, "./dev psql provider");
    }
    Ok(())
}
