//! The same refund twenty times at once, and then twenty refunds that are more together than was taken: money goes back
//! once for each wish, and never more of it than there is.

use contracts::{Currency, Money};
use uuid::Uuid;

use crate::api::{Answer, Api, Payment};
use crate::crowd::at_once;
use crate::part::Part;
use crate::report::{Step, euros};
use crate::trouble::Trouble;
use crate::wait::until;
use crate::world::{PATIENCE, Taken, VISA, World};

const TIMES: usize = 20;
const TAKEN: Money = Money::new(4500, Currency::Eur);
/// Asked for twenty times under one key.
const ONCE: Money = Money::new(500, Currency::Eur);
/// Asked for under twenty keys; what is left covers four.
const EACH: Money = Money::new(1000, Currency::Eur);
const COVERED: usize = 4;
const LOOK: &str = "./dev logs payments";

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let payment = world.api.pay(TAKEN, VISA).await?;
    step.equal("the payment", ("captured", TAKEN), (payment.status.as_str(), payment.amount), LOOK);
    let api = world.api.with_connections(TIMES, Part::Payments, "/v1/payments?limit=1").await?;
    one_key(world, step, &api, &payment).await?;
    twenty_keys(world, step, &api, &payment).await?;

    step.doing("waiting until the money is back");
    let payment = until("every refund has ended", PATIENCE, LOOK, async || {
        let payment = world.api.payment(payment.id).await?;
        let ended = payment.refunds.iter().all(|refund| refund.status == "succeeded");
        Ok(if ended { Ok(payment) } else { Err(format!("{:?}", payment.refunds)) })
    })
    .await?;
    let returned: i64 = payment.refunds.iter().map(|refund| refund.amount.amount).sum();
    let (there, taken) = (world.books.refunds_there(payment.id).await?, world.taken(payment.id).await?);
    let expected = Taken { charges: 1, amount: TAKEN.amount, refunded: TAKEN.amount };
    step.equal("what the processor has taken and given back", expected, taken, "./dev psql provider");
    step.equal("what payments says is given back", taken.refunded, returned, LOOK);
    step.equal("refunds at the processor", payment.refunds.len(), there, "./dev psql provider");
    step.figure(format!("{} of {} given back", euros(taken.refunded), euros(taken.amount)));
    Ok(())
}

async fn one_key(
    world: &World<'_>,
    step: &mut Step<'_>,
    api: &Api<'_>,
    payment: &Payment,
) -> Result<(), Trouble> {
    let key = Uuid::new_v4();
    let answers = at_once(TIMES, async |_| api.refund(payment.id, key, ONCE).await).await?;
    let first = answers.iter().map(|(answer, _)| answer).find(|answer| !answer.is_replay());
    let same = answers
        .iter()
        .filter(|(answer, _)| is_accepted(answer) && Some(answer.receipt()) == first.map(Answer::receipt))
        .count();
    let refunds = world.api.payment(payment.id).await?.refunds;
    step.equal("equal answers to one key", TIMES, same, LOOK);
    let amounts: Vec<Money> = refunds.iter().map(|refund| refund.amount).collect();
    step.equal("refunds of one key", vec![ONCE], amounts, "./dev psql payments");
    step.figure(format!("one key {TIMES} times: {} refund, {same} equal answers", refunds.len()));
    Ok(())
}

async fn twenty_keys(
    world: &World<'_>,
    step: &mut Step<'_>,
    api: &Api<'_>,
    payment: &Payment,
) -> Result<(), Trouble> {
    let answers = at_once(TIMES, async |_| api.refund(payment.id, Uuid::new_v4(), EACH).await).await?;
    let accepted = answers.iter().filter(|(answer, _)| is_accepted(answer)).count();
    let refused = answers
        .iter()
        .filter(|(answer, _)| answer.status == 422 && answer.code() == "refund-exceeds-capture")
        .count();
    step.equal("refunds that are covered", COVERED, accepted, LOOK);
    step.equal("refunds that are not", TIMES - COVERED, refused, LOOK);
    let refunds = world.api.payment(payment.id).await?.refunds.len();
    step.equal("refunds of the payment", 1 + COVERED, refunds, "./dev psql payments");
    step.figure(format!("{TIMES} keys for {} each: {accepted} accepted", euros(EACH.amount)));
    step.figure(format!("{refused} times 422 refund-exceeds-capture"));
    Ok(())
}

/// Given back, or about to be.
fn is_accepted(answer: &Answer) -> bool {
    matches!(answer.status, 201 | 202)
}
