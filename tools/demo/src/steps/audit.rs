//! All questions at the end: of the whole databases what must hold always, of this run its figures.

use audits::{Database, Question, Sum};
use futures_util::future::try_join_all;

use crate::part::Part;
use crate::report::{Step, euros};
use crate::trouble::Trouble;
use crate::world::World;

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    step.doing("waiting until nothing is under way");
    world.settled().await?;
    step.doing("asking");
    let asked = try_join_all(audits::ALL.iter().map(|question| ask(world, question))).await?;
    let mut violations = 0;
    for (question, database, found) in asked.iter().flatten() {
        violations += found.len();
        step.none(question.file, found, &question.command(*database));
    }
    let answers: usize = asked.iter().map(Vec::len).sum();
    let (questions, databases) = (audits::ALL.len(), Database::ALL.len());
    step.figure(format!("{questions} questions to {databases} databases, asked {answers} times"));
    step.figure(format!("violations: {violations}"));

    orders_and_money(world, step).await?;
    stock(world, step).await?;
    messages(world, step).await?;
    intents(world, step).await
}

type Answer<'q> = (&'q Question, Database, Vec<String>);

async fn ask<'q>(world: &World<'_>, question: &'q Question) -> Result<Vec<Answer<'q>>, Trouble> {
    let mut answers = Vec::new();
    for database in question.of {
        answers.push((question, *database, world.books.violations(*database, question).await?));
    }
    Ok(answers)
}

async fn orders_and_money(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let settlement = world.books.settlement().await?;
    step.none(
        "orders, stock and money together",
        &settlement.violations(),
        "./dev psql orders, ./dev psql provider",
    );
    let sum = settlement.sum(&world.tenant);
    let look = "./dev psql provider";
    step.holds("orders of this run", "some", sum.orders, sum.orders > 0, "./dev psql orders");
    step.equal("confirmed + cancelled", sum.orders, sum.confirmed + sum.cancelled, "./dev psql orders");
    step.equal("captures of confirmed orders", sum.confirmed, sum.captures, look);
    step.equal("taken less refunded", sum.owed, sum.taken - sum.refunded, look);
    let Sum { orders, confirmed, cancelled, captures, late_captures, taken, refunded, owed } = sum;
    step.tell(format!("orders     {orders} = {confirmed} confirmed + {cancelled} cancelled"));
    step.tell(format!(
        "captures   {captures} of confirmed orders; {late_captures} of cancelled ones, given back"
    ));
    let kept = euros(taken - refunded);
    step.tell(format!("money      {} taken - {} given back = {kept}", euros(taken), euros(refunded)));
    step.tell(format!("           the confirmed orders cost {}", euros(owed)));
    Ok(())
}

async fn stock(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let items = world.books.stock(&world.tenant).await?;
    step.holds("items of this run", "some", items.len(), !items.is_empty(), "./dev psql inventory");
    for item in &items {
        step.equal(
            &format!("{} on hand + shipped", item.sku),
            item.adjusted,
            item.on_hand + item.shipped,
            "./dev psql inventory",
        );
        step.equal(
            &format!("{} reserved, with no order open", item.sku),
            0,
            item.reserved,
            "./dev psql inventory",
        );
    }
    let sum = |of: fn(&crate::books::Item) -> i64| items.iter().map(of).sum::<i64>();
    let (adjusted, shipped) = (sum(|item| item.adjusted), sum(|item| item.shipped));
    let (on_hand, reserved) = (sum(|item| item.on_hand), sum(|item| item.reserved));
    step.tell(format!(
        "stock      {adjusted} delivered = {on_hand} on hand + {shipped} shipped; {reserved} reserved"
    ));
    Ok(())
}

async fn messages(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let delivery = world.delivery().await?;
    step.holds("events of this run", "some", delivery.rows(), delivery.rows() > 0, "./dev psql orders");
    step.none("committed is published, published was committed", &delivery.unpublished(), "./dev topics");
    step.none("first occurrences in order", &delivery.disordered(), "./dev topics");
    step.none("each reader has entered each message", &delivery.unheard(), "./dev psql orders");
    let (rows, messages, repeats) = (delivery.rows(), delivery.messages(), delivery.repeats());
    step.tell(format!("messages   {rows} committed, each on its topic with the same bytes, in order"));
    step.tell(format!(
        "           {messages} on the topics, {repeats} of them repeats; {} entered, each once per consumer",
        delivery.entered()
    ));
    Ok(())
}

async fn intents(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let all = try_join_all(Part::SERVICES.map(|part| world.books.intents(part, &world.tenant))).await?;
    let accepted: i64 = all.iter().map(|intents| intents.accepted).sum();
    let facts: i64 = all.iter().map(|intents| intents.facts).sum();
    step.holds("accepted intents of this run", "some", accepted, accepted > 0, "./dev psql orders");
    let others = facts - accepted;
    step.tell(format!(
        "audit      {facts} facts = {accepted} commands with a key + {others} PUTs, charges and refunds"
    ));
    Ok(())
}
