//! The whole saga under unequal orders: a hot item, a hot tenant, poison, a slow processor.

mod placer;
mod scenario;
mod tally;

use std::time::{Duration, Instant};

use contracts::{Currency, Money};
use harness::inventory::{adjust_stock, put_item};
use harness::{Part, Request, Result, until};
use serde_json::json;
use strum::VariantArray;

use self::placer::Source;
use self::scenario::{HOT_ITEM, ITEMS, Scenario, item};
use self::tally::{Tally, Times};
use super::stack::{LIMIT, Stack};
use crate::environment::Environment;
use crate::load::{Connection, as_f64, closed_loop, median, open_loop};
use crate::report::Section;
use crate::workload::Workload;

/// Connections that place a crowd.
const CONNECTIONS: usize = 16;

/// Orders that arrive in a second, where they do not come in a crowd: fewer than the slowest scenario can do.
const PER_SECOND: u32 = 50;

/// Connections that place them.
const OPEN_CONNECTIONS: usize = 64;

/// Pieces of each item: never too few.
const PIECES: i64 = 1_000_000_000;

/// By default the eleventh poisonous event in ten minutes stops its partition, because so many are not to blame themselves.
const SETTINGS: [(&str, &str); 1] = [("IDEM_INBOX__PARKING_LIMIT", "1000000")];

/// One scenario in one round.
struct Run {
    /// Orders that ended in a second, while many are placed at once.
    per_second: f64,
    crowd: Times,
    /// At a fixed rate of arrival.
    fixed_rate: Times,
}

/// Selects one of the two loads of a run.
type Load = fn(&Run) -> Times;

/// Measures all scenarios in turn.
pub(crate) async fn measure(environment: &Environment, workload: &Workload) -> Result<Section> {
    eprintln!("scenarios: starting all services");
    let stack = Stack::start(environment, "scenarios", &SETTINGS).await?;
    put_on_sale(&stack).await?;
    run(&stack, Scenario::Plain, workload).await?; // warms up
    let mut rounds = Vec::new();
    for _ in 0..workload.scenario_rounds {
        let mut runs = Vec::new();
        for scenario in Scenario::VARIANTS.iter().copied() {
            let run = run(&stack, scenario, workload).await?;
            let name: &str = scenario.into();
            eprintln!(
                "scenarios: {name}: {:.0} orders/s, p99 {:.0} ms in the crowd; at {PER_SECOND}/s p50 {:.0} ms, p99 {:.0} ms",
                run.per_second, run.crowd.p99, run.fixed_rate.p50, run.fixed_rate.p99
            );
            runs.push(run);
        }
        rounds.push(runs);
    }
    Ok(report(&rounds))
}

/// Each scenario beside the plain one. `rounds` have one run of each scenario, the plain one first.
fn report(rounds: &[Vec<Run>]) -> Section {
    let mut section = Section::default();
    for (number, scenario) in Scenario::VARIANTS.iter().enumerate() {
        let pairs = rounds.iter().filter_map(|runs| runs.first().zip(runs.get(number)));
        let pairs: Vec<(&Run, &Run)> = pairs.collect();
        let name = format!("scenarios.{}", <&str>::from(scenario));
        let rate = median(pairs.iter().map(|(_, run)| run.per_second));
        section.figure(format!("{name}.per_second"), rate);
        let ratio = median(pairs.iter().map(|(plain, run)| run.per_second / plain.per_second));
        section.figure(format!("{name}.rate_to_plain"), ratio);
        let loads: [(&str, Load); 2] = [("crowd", |run| run.crowd), ("fixed_rate", |run| run.fixed_rate)];
        for (load, of) in loads {
            let over = |time: fn(Times) -> f64| median(pairs.iter().map(|(_, run)| time(of(run))));
            let beside = |time: fn(Times) -> f64| {
                median(pairs.iter().map(|(plain, run)| time(of(run)) / time(of(plain))))
            };
            section.figure(format!("{name}.{load}.p50_ms"), over(|times| times.p50));
            section.figure(format!("{name}.{load}.p50_to_plain"), beside(|times| times.p50));
            section.figure(format!("{name}.{load}.p99_ms"), over(|times| times.p99));
            section.figure(format!("{name}.{load}.p99_to_plain"), beside(|times| times.p99));
            let groups = over(|times| times.slowest_to_fastest);
            if groups.is_finite() {
                section.at_most(format!("{name}.{load}.slowest_to_fastest_group"), groups, 2.0);
            }
        }
    }
    section
}

/// Puts all items of all tenants on sale, and waits until orders knows them.
async fn put_on_sale(stack: &Stack<'_>) -> Result<()> {
    let token = stack.environment.token();
    let mut inventory = Connection::open(stack.endpoint(Part::INVENTORY)?, token).await?;
    let mut orders = Connection::open(stack.endpoint(Part::ORDERS)?, token).await?;
    let mut known = Vec::new();
    for (_, authorization) in placer::tenants(stack.environment)? {
        for sku in (0..ITEMS).map(item).chain([HOT_ITEM.to_owned()]) {
            let price = Money::new(450, Currency::Eur);
            for request in [put_item(&sku, "An item", price), adjust_stock(&sku, PIECES)] {
                let request = request.with_header("authorization", &authorization);
                inventory.send(&request).await?.read::<serde_json::Value>(201)?;
            }
            let request = Request::get(Part::ORDERS, format!("/v1/catalogue/{sku}"));
            known.push(request.with_header("authorization", &authorization));
        }
    }
    for request in known {
        until("orders knows the item", LIMIT, "the log of orders", async || {
            let status = orders.send(&request).await?.status;
            Ok(if status == 200 { Ok(()) } else { Err(format!("status {status}")) })
        })
        .await?;
    }
    Ok(())
}

/// Measures one scenario, and checks how its orders ended.
async fn run(stack: &Stack<'_>, scenario: Scenario, workload: &Workload) -> Result<Run> {
    stack.at_rest().await?;
    set_faults(stack, scenario).await?;
    let before = Tally::read(stack).await?;
    let source = Source::of(scenario, stack)?;
    let owner = stack.database(Part::ORDERS)?.owner().await?;

    let since = owner.now().await?;
    let start = Instant::now();
    let mut placers = Vec::new();
    for _ in 0..CONNECTIONS {
        placers.push(source.placer(stack).await?);
    }
    while source.produced().orders < workload.crowd {
        placers = closed_loop(placers, Duration::from_millis(100)).await?.1;
    }
    stack.orders_ended().await?;
    let orders = as_f64(source.produced().orders);
    let per_second = orders / start.elapsed().as_secs_f64();
    let crowd = tally::times(stack, since).await?;
    stack.at_rest().await?;

    let since = owner.now().await?;
    let mut placers = Vec::new();
    for _ in 0..OPEN_CONNECTIONS {
        placers.push(source.placer(stack).await?);
    }
    open_loop(placers, PER_SECOND, 2 * workload.length).await?;
    stack.orders_ended().await?;
    let fixed_rate = tally::times(stack, since).await?;

    stack.at_rest().await?;
    before.check(stack, source.produced()).await?;
    Ok(Run { per_second, crowd, fixed_rate })
}

/// Replaces the faults of the processor.
async fn set_faults(stack: &Stack<'_>, scenario: Scenario) -> Result<()> {
    let mut provider = Connection::open(stack.endpoint(Part::PROVIDER)?, "none").await?;
    let request =
        Request::post(Part::PROVIDER, "/_faults", &json!({"rules": scenario.faults()})).without_key();
    provider.send(&request).await?.read::<serde_json::Value>(200).map(drop)
}
