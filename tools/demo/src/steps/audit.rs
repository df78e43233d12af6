//! Every question of `audits/` to the whole databases, and the figures of this run.

use std::collections::BTreeSet;

use audits::{Database, Sum};
use futures_util::future::try_join_all;
use harness::{Part, Result};

use crate::demo::Demo;
use crate::queries::Item;
use crate::report::{Step, euros};

pub(crate) async fn run(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    step.progress("waiting until nothing is in progress");
    demo.settled().await?;
    questions(demo, step).await?;
    orders_and_money(demo, step).await?;
    stock(demo, step).await?;
    messages(demo, step).await?;
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
    let databases = Database::ALL.len();
    step.figure(format!("{questions} questions to {databases} databases, asked {} times", asked.len()));
    step.figure(format!("violations: {violations}"));
    Ok(())
}

async fn orders_and_money(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    let sum = demo.books.settlement().await?.sum(&demo.tenant);
    step.check("orders of this run", "some", sum.orders, sum.orders > 0, "./dev psql orders");
    step.equal("confirmed + cancelled", sum.orders, sum.confirmed + sum.cancelled, "./dev psql orders");
    step.equal("captures of confirmed orders", sum.confirmed, sum.captures, "./dev psql provider");
    step.equal("taken less refunded", sum.owed, sum.taken - sum.refunded, "./dev psql provider");
    let Sum { orders, confirmed, cancelled, captures, late_captures, taken, refunded, owed } = sum;
    step.detail(format!("orders     {orders} = {confirmed} confirmed + {cancelled} cancelled"));
    step.detail(format!(
        "captures   {captures} of confirmed orders; {late_captures} of cancelled orders, refunded"
    ));
    let kept = euros(taken - refunded);
    step.detail(format!("money      {} taken - {} refunded = {kept}", euros(taken), euros(refunded)));
    step.detail(format!("           the confirmed orders cost {}", euros(owed)));
    Ok(())
}

async fn stock(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    let hint = "./dev psql inventory";
    let items = demo.stock().await?;
    step.check("items of this run", "some", items.len(), !items.is_empty(), hint);
    for item in &items {
        let accounted = item.on_hand + item.shipped;
        step.equal(&format!("{} on hand + shipped", item.sku), item.adjusted, accounted, hint);
        step.equal(&format!("{} reserved, with no order open", item.sku), 0, item.reserved, hint);
    }
    let sum = |of: fn(&Item) -> i64| items.iter().map(of).sum::<i64>();
    let (adjusted, shipped) = (sum(|item| item.adjusted), sum(|item| item.shipped));
    let (on_hand, reserved) = (sum(|item| item.on_hand), sum(|item| item.reserved));
    step.detail(format!(
        "stock      {adjusted} delivered = {on_hand} on hand + {shipped} shipped; {reserved} reserved"
    ));
    Ok(())
}

async fn messages(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    let delivery = demo.delivery().await?;
    let (rows, messages, repeats) = (delivery.rows(), delivery.messages(), delivery.repeats());
    step.check("events of this run", "some", rows, rows > 0, "./dev psql orders");
    step.no_violations(
        "committed events are published, and no others",
        &delivery.unpublished(),
        "./dev topics",
    );
    step.no_violations("first occurrences in order", &delivery.disordered(), "./dev topics");
    step.no_violations("each consumer has entered each message", &delivery.unconsumed(), "./dev psql orders");
    step.detail(format!("messages   {rows} committed, each on its topic with the same bytes, in order"));
    step.detail(format!(
        "           {messages} on the topics, {repeats} of them repeats; {} entered, each once per consumer",
        delivery.entered()
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
        "audit      {facts} facts = {accepted} commands with a key + {others} without (PUT, expiry, money of orders)"
    ));
    Ok(())
}
