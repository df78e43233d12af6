//! Every question of `audits/` to the whole databases, and the figures of this run.

use std::collections::BTreeSet;

use audits::Database;
use futures_util::future::try_join_all;
use harness::{Part, Result};

use super::of_services;
use crate::demo::Demo;
use crate::report::Step;

pub(crate) async fn run(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    step.progress("waiting until nothing is in progress");
    demo.settled().await?;
    questions(demo, step).await?;
    let tenants = std::slice::from_ref(&demo.tenant);
    orders(demo, step, tenants).await?;
    messages(demo, step, tenants).await?;
    accepted_requests(demo, step).await
}

/// Asks every question of `audits/`, and those that join databases.
pub(super) async fn questions(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    step.progress("asking");
    let asked = demo.books.audit().await;
    let mut violations = 0;
    for it in &asked {
        let found = it.found()?;
        violations += found.len();
        step.no_violations(it.question, found, &it.command);
    }
    let questions = asked.iter().map(|it| it.question).collect::<BTreeSet<_>>().len();
    let databases = Database::all().count();
    step.figure(format!("{questions} questions to {databases} databases, asked {} times", asked.len()));
    step.figure(format!("violations: {violations}"));
    Ok(())
}

/// Checks that each order of these tenants has ended. Returns their number.
pub(super) async fn orders(demo: &Demo<'_>, step: &mut Step<'_>, tenants: &[String]) -> Result<usize> {
    let orders = demo.books.orders().await?;
    let orders: Vec<_> = orders.iter().filter(|order| tenants.contains(&order.tenant_id)).collect();
    let in_state = |state: &str| orders.iter().filter(|order| order.state == state).count();
    let (all, confirmed, cancelled) = (orders.len(), in_state("confirmed"), in_state("cancelled"));
    step.check("orders of this run", "some", all, all > 0, "./dev psql orders");
    step.equal("confirmed + cancelled", all, confirmed + cancelled, "./dev psql orders");
    step.detail(format!("orders     {all} = {confirmed} confirmed + {cancelled} cancelled"));
    of_services::figures(demo, step, tenants).await?;
    Ok(all)
}

/// Checks that each event of these tenants was published and consumed, once and in order.
pub(super) async fn messages(demo: &Demo<'_>, step: &mut Step<'_>, tenants: &[String]) -> Result<()> {
    let (mut rows, mut messages, mut repeats, mut entered) = (0, 0, 0, 0);
    for tenant in tenants {
        let delivery = demo.books.delivery(&demo.kafka, tenant).await?;
        let what = "committed events are published, and no others";
        step.no_violations(what, &delivery.unpublished(), "./dev topics");
        step.no_violations("first occurrences in order", &delivery.disordered(), "./dev topics");
        let what = "each consumer has entered each message";
        step.no_violations(what, &delivery.unconsumed(), "./dev psql orders");
        rows += delivery.rows();
        messages += delivery.messages();
        repeats += delivery.repeats();
        entered += delivery.entered();
    }
    step.check("events of this run", "some", rows, rows > 0, "./dev psql orders");
    step.detail(format!("messages   {rows} committed, each on its topic with the same bytes, in order"));
    step.detail(format!(
        "           {messages} on the topics, {repeats} of them repeats; {entered} entered, each once per consumer"
    ));
    Ok(())
}

async fn accepted_requests(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    let all = try_join_all(Part::SERVICES.map(|part| demo.accepted_requests(part))).await?;
    let accepted: i64 = all.iter().map(|requests| requests.accepted).sum();
    let facts: i64 = all.iter().map(|requests| requests.facts).sum();
    step.check("accepted requests of this run", "some", accepted, accepted > 0, "./dev psql orders");
    let others = facts - accepted;
    step.detail(format!(
        "audit      {facts} facts = {accepted} commands with a key + {others} without (PUT, and what follows events and jobs)"
    ));
    Ok(())
}
