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
    let tenants = std::slice::from_ref(&demo.tenant);
    orders_and_money(demo, step, tenants).await?;
    stock(demo, step).await?;
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

/// Compares the orders of these tenants with the processor's charges. Returns the number of orders.
pub(super) async fn orders_and_money(
    demo: &Demo<'_>,
    step: &mut Step<'_>,
    tenants: &[String],
) -> Result<usize> {
    let settlement = demo.books.settlement().await?;
    let sums: Vec<Sum> = tenants.iter().map(|tenant| settlement.sum(tenant)).collect();
    let count = |of: fn(&Sum) -> usize| sums.iter().map(of).sum::<usize>();
    let amount = |of: fn(&Sum) -> i64| sums.iter().map(of).sum::<i64>();
    let orders = count(|sum| sum.orders);
    let (confirmed, cancelled) = (count(|sum| sum.confirmed), count(|sum| sum.cancelled));
    let (captures, late) = (count(|sum| sum.captures), count(|sum| sum.late_captures));
    let (taken, refunded) = (amount(|sum| sum.taken), amount(|sum| sum.refunded));
    let owed = amount(|sum| sum.owed);
    step.check("orders of this run", "some", orders, orders > 0, "./dev psql orders");
    step.equal("confirmed + cancelled", orders, confirmed + cancelled, "./dev psql orders");
    step.equal("captures of confirmed orders", confirmed, captures, "./dev psql provider");
    step.equal("taken less refunded", owed, taken - refunded, "./dev psql provider");
    step.detail(format!("orders     {orders} = {confirmed} confirmed + {cancelled} cancelled"));
    step.detail(format!("captures   {captures} of confirmed orders; {late} of cancelled orders, refunded"));
    let kept = euros(taken - refunded);
    step.detail(format!("money      {} taken - {} refunded = {kept}", euros(taken), euros(refunded)));
    step.detail(format!("           the confirmed orders cost {}", euros(owed)));
    Ok(orders)
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
        "audit      {facts} facts = {accepted} commands with a key + {others} without (PUT, expiry, money of orders)"
    ));
    Ok(())
}
