//! The money of the orders: declined and late charges, faults of the processor, webhooks, refunds, and the ledger.

mod books;
mod cancelled;
mod killed;
mod ledger;
mod processor;
mod reconciled;
mod refunds;
mod webhook;

use contracts::{Currency, Money};
use harness::payments::Sum;
use harness::{Part, Result};
use uuid::Uuid;

use crate::demo::Demo;
use crate::report::Step;
use crate::steps::Run;
use crate::steps::of_services::ServiceSide;

/// The side of payments.
pub(crate) struct Side;

impl ServiceSide for Side {
    async fn prepare(demo: &Demo<'_>) -> Result<()> {
        demo.api.clear_faults().await
    }

    async fn steps(run: &mut Run<'_, '_, '_>) {
        let demo = run.demo;
        run.step("A declined card", async |step| cancelled::declined(demo, step).await).await;
        run.step("Cancelled during the charge", async |step| cancelled::in_mid_charge(demo, step).await)
            .await;
        run.kill(Part::PAYMENTS, "after a charge", async |step| killed::run(demo, step).await).await;
        run.step("The processor's response is lost", async |step| processor::lost_response(demo, step).await)
            .await;
        run.step("The processor fails after charging", async |step| {
            processor::stored_failure(demo, step).await
        })
        .await;
        run.step("One event, ten times", async |step| webhook::run(demo, step).await).await;
        run.step("20 refunds at once", async |step| refunds::run(demo, step).await).await;
        run.step("The processor is away for too long", async |step| processor::outage(demo, step).await)
            .await;
    }

    async fn last_steps(run: &mut Run<'_, '_, '_>) {
        let demo = run.demo;
        run.step("Reconciled with the processor", async |step| reconciled::run(demo, step).await).await;
        run.step("The ledger, verified", async |step| ledger::run(demo, step).await).await;
    }

    /// One charge in the processor's books for each order, of its total, and no refund.
    async fn confirmed(demo: &Demo<'_>, step: &mut Step<'_>, orders: &[Uuid]) -> Result<()> {
        let mut expected: Vec<(Option<Uuid>, i64, i64)> = Vec::new();
        for order in demo.books.orders().await?.into_iter().filter(|order| orders.contains(&order.id)) {
            expected.push((order.payment_id, order.amount, 0));
        }
        let charges = demo.books.charges().await?.into_iter().filter(|charge| charge.succeeded);
        let charges = charges.map(|charge| (charge.payment(), charge.amount, charge.refunded));
        let mut seen: Vec<_> = charges
            .filter(|(payment, ..)| expected.iter().any(|(of_order, ..)| of_order == payment))
            .collect();
        expected.sort_unstable();
        seen.sort_unstable();
        step.equal("orders charged", orders.len(), seen.len(), "./dev psql provider");
        step.check(
            "amounts charged and refunded",
            "the totals, and 0",
            seen.len(),
            seen == expected,
            "./dev psql provider",
        );
        step.figure(format!("charged once and in full: {} of {}", seen.len(), orders.len()));
        Ok(())
    }

    /// Compares the orders of these tenants with the processor's charges.
    async fn figures(demo: &Demo<'_>, step: &mut Step<'_>, tenants: &[String]) -> Result<()> {
        let settlement = demo.books.settlement().await?;
        let sums: Vec<Sum> = tenants.iter().map(|tenant| settlement.sum(tenant)).collect();
        let count = |of: fn(&Sum) -> usize| sums.iter().map(of).sum::<usize>();
        let amount = |of: fn(&Sum) -> i64| sums.iter().map(of).sum::<i64>();
        let confirmed = count(|sum| sum.confirmed);
        let (captures, late) = (count(|sum| sum.captures), count(|sum| sum.late_captures));
        let (taken, refunded) = (amount(|sum| sum.taken), amount(|sum| sum.refunded));
        let owed = amount(|sum| sum.owed);
        step.equal("captures of confirmed orders", confirmed, captures, "./dev psql provider");
        step.equal("taken less refunded", owed, taken - refunded, "./dev psql provider");
        step.detail(format!(
            "captures   {captures} of confirmed orders; {late} of cancelled orders, refunded"
        ));
        let kept = euros(taken - refunded);
        step.detail(format!("money      {} taken - {} refunded = {kept}", euros(taken), euros(refunded)));
        step.detail(format!("           the confirmed orders cost {}", euros(owed)));
        Ok(())
    }
}

/// Minor units as EUR, the currency of all items of the demo.
fn euros(amount: i64) -> String {
    Money::new(amount, Currency::Eur).to_string()
}
