//! Processor calls and payments: the worker's looks, a charge, the balances, and the reconciliation of the last hour.

use std::time::{Duration, Instant};

use contracts::{Currency, Money};
use harness::payments::charge;
use serde_json::Value;

use super::audits;
use super::ground::{Ground, without_relay};
use super::lines::Lines;
use crate::environment::{Environment, TestBed};
use crate::load::{Worker, closed_loop};
use crate::subjects::orders::Client;
use crate::workload::Growth;
use harness::{Part, Program, Request, Result, until};

/// Connections at the same time.
const CONNECTIONS: usize = 8;
/// The length of a measurement.
const LENGTH: Duration = Duration::from_secs(4);
/// The longest that charges may take to end.
const LIMIT: Duration = Duration::from_mins(2);

/// The balances are folded if more ledger transactions than these are behind the mark.
const TAIL: f64 = 10_000.0;

/// The look for due calls.
const LOOK: [&str; 1] = ["SELECT%processor_call%FOR UPDATE SKIP LOCKED%"];
/// All statements.
const ALL: [&str; 1] = ["%"];
/// The statements that read the ledger.
const LEDGER: [&str; 2] = ["%SELECT%", "%ledger_entry%"];

/// Calls that are not due.
pub(super) async fn calls(environment: &Environment, sizes: &Growth, lines: &mut Lines) -> Result<()> {
    let mut ground = Ground::prepare(environment, Part::PAYMENTS, "calls").await?;
    for &rows in &sizes.rows {
        ground.fill(include_str!("sql/calls.sql"), rows).await?;
        ground.analyse().await?;
        ground.meter.reset().await?;
        let processor = ("IDEM_PROCESSOR__URL", "http://127.0.0.1:9".to_owned());
        let mut payments = ground.serve(1, &settings(processor)).await?;
        let look = ground.until(&LOOK, |cost| cost.calls >= 200.0).await?;
        payments.stop().await?;
        lines.add("worker_look", rows, look, look.calls);
    }
    ground.remove().await
}

fn settings(processor: (&'static str, String)) -> [(&'static str, String); 4] {
    let poll = ("IDEM_WORKER__POLL_MILLISECONDS", "20".to_owned());
    [processor, ("IDEM_PROCESSOR__SECRET_KEY", "sk_test_bench".to_owned()), poll, without_relay()]
}

/// Captured payments with their postings, and audit facts.
pub(super) async fn payments(environment: &Environment, sizes: &Growth, lines: &mut Lines) -> Result<()> {
    let mut ground = Ground::prepare(environment, Part::PAYMENTS, "payments").await?;
    let books = environment.postgres.database("growth_provider").await?;
    let mut provider = start_provider(environment, &books).await?;
    let processor = ("IDEM_PROCESSOR__URL", format!("http://{}", provider.address().await?));
    for &rows in &sizes.payments {
        ground.fill(include_str!("sql/payments.sql"), rows).await?;
        ground.analyse().await?;
        let mut payments = ground.serve(1, &settings(processor.clone())).await?;
        let address = payments.address().await?;
        let open = || Client::open(environment, Part::PAYMENTS, &address);
        // The ledger behind the mark is as long as in life, and the job that folds it has ended.
        let tail = "SELECT (coalesce(max(id), 0) - (SELECT folded_id FROM ledger_mark))::float8 FROM ledger_transaction";
        until("the balances are folded", LIMIT, "the log of payments", async || {
            let tail = ground.number(tail).await?;
            Ok(if tail < TAIL { Ok(()) } else { Err(format!("{tail} are behind the mark")) })
        })
        .await?;
        let mut chargers = Vec::new();
        for _ in 0..CONNECTIONS {
            chargers.push(Charger(open().await?));
        }
        ground.meter.reset().await?;
        let (load, _) = closed_loop(chargers, LENGTH).await?;
        let cost = ground.meter.cost(&ALL).await?;
        lines.add("charge", rows, cost, load.count);
        let open_calls = "SELECT count(*)::float8 FROM processor_call WHERE due_at IS NOT NULL";
        until("every charge has ended", LIMIT, "the log of payments", async || {
            let open = ground.number(open_calls).await?;
            Ok(if open > 0.0 { Err(format!("{open} calls are open")) } else { Ok(()) })
        })
        .await?;
        ground.meter.reset().await?;
        let readers = vec![BalanceReader(open().await?)];
        let (balances, _) = closed_loop(readers, LENGTH / 4).await?;
        let cost = ground.meter.cost(&LEDGER).await?;
        lines.add("balances", rows, cost, balances.count);
        payments.stop().await?;
        let seconds = reconcile(&ground, &processor).await?;
        eprintln!("growth: {rows} payments: balances {:.1} ms, reconciliation {seconds:.2} s", balances.p50);
        lines.section.at_most(format!("growth.balances_of_{rows}_p50_ms"), balances.p50, 50.0);
        lines.section.at_most(format!("growth.reconcile_of_{rows}_s"), seconds, 10.0);
        if Some(&rows) == sizes.payments.last() {
            // No relay has run.
            ground.run("DELETE FROM outbox_event").await?;
            audits::measure(&ground, Part::PAYMENTS, &mut lines.section).await?;
        }
    }
    provider.kill().await?;
    ground.remove().await
}

async fn start_provider(environment: &Environment, books: &TestBed) -> Result<Program> {
    let topics = environment.topics("growth-provider");
    let mut settings = environment.service_settings(books, &topics);
    settings.retain(|(name, _)| name == "IDEM_HTTP__PORT" || name.starts_with("IDEM_DATABASE__"));
    let mut provider = environment.start(Part::PROVIDER.instance(1), &settings)?;
    provider.ready().await?;
    Ok(provider)
}

/// Runs `payments reconcile`. Returns its seconds.
async fn reconcile(ground: &Ground<'_>, processor: &(&'static str, String)) -> Result<f64> {
    let start = Instant::now();
    let words = ["reconcile", "--since", "1h", "--json"];
    let output = ground.command(&words, &settings(processor.clone())).await?;
    let seconds = start.elapsed().as_secs_f64();
    output.expect_success("payments reconcile")?;
    Ok(seconds)
}

/// Charges cards without an order.
struct Charger(Client);

impl Worker for Charger {
    async fn once(&mut self) -> Result<()> {
        let request = charge(Money::new(900, Currency::Eur), "pm_card_visa");
        self.0.send(&request).await?.read::<Value>(201).map(drop)
    }
}

/// Reads the balances.
struct BalanceReader(Client);

impl Worker for BalanceReader {
    async fn once(&mut self) -> Result<()> {
        let request = Request::get(Part::PAYMENTS, "/v1/ledger/balances");
        self.0.send(&request).await?.read::<Value>(200).map(drop)
    }
}
