//! POST /v1/orders beside clients that hold connections.

use std::time::Duration;

use super::orders::{Placer, stock_catalogue};
use crate::environment::Environment;
use crate::load::{Load, closed_loop, hostile_clients, median};
use crate::report::Section;
use crate::workload::Workload;
use harness::process::peak_mib;
use harness::{Part, Result};

/// Connections of the other clients.
const CONNECTIONS: usize = 8;

/// The memory limit of a service in deploy/compose/bases.yml.
const LIMIT_MIB: f64 = 160.0;

/// Measures the same load alone and beside the hostile clients, in turn.
pub(crate) async fn measure(environment: &Environment, workload: &Workload) -> Result<Section> {
    let database = environment.postgres.database("hostile").await?;
    let mut settings = environment.service_settings(&database, &environment.topics("hostile"));
    settings.push(("IDEM_HTTP__DOCS".to_owned(), "true".to_owned()));
    let mut service = environment.start(Part::ORDERS.instance(1), &settings)?;
    service.ready().await?;
    stock_catalogue(&database.owner().await?).await?;
    let address = service.address().await?;
    place(environment, &address, workload.warm_up).await?;
    let mut rounds = Vec::new();
    for _ in 0..workload.rounds {
        let alone = place(environment, &address, workload.length).await?;
        let clients = hostile_clients(&address);
        // Until each has sent its request, and the slowest of them meet their deadlines.
        tokio::time::sleep(workload.warm_up).await;
        let beside = place(environment, &address, workload.length).await?;
        drop(clients);
        eprintln!("hostile: p99 {:.1} ms alone, {:.1} ms beside", alone.p99, beside.p99);
        rounds.push((alone, beside));
    }
    let peak = service.pid().and_then(peak_mib);
    service.stop().await?;
    Ok(report(&rounds, peak))
}

async fn place(environment: &Environment, address: &str, length: Duration) -> Result<Load> {
    let placers = Placer::open(environment, address, CONNECTIONS).await?;
    Ok(closed_loop(placers, length).await?.0)
}

fn report(rounds: &[(Load, Load)], peak: Option<f64>) -> Section {
    let mut section = Section::default();
    let ratio = median(rounds.iter().map(|(alone, beside)| beside.p99 / alone.p99));
    section.at_most("hostile.p99_ratio", ratio, 2.0);
    if let Some(peak) = peak {
        section.at_most("hostile.orders_peak_mib", peak, LIMIT_MIB);
    }
    let (alone, beside): (Vec<Load>, Vec<Load>) = rounds.iter().copied().unzip();
    section.loads("hostile.alone", &alone);
    section.loads("hostile.beside", &beside);
    section
}
