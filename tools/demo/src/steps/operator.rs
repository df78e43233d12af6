//! The view of an operator: `/metrics` alone, compared with Kafka and the databases.

use std::time::Instant;

use harness::orders::place_order;
use harness::{Endpoint, Error, Metrics, Part, Result, until};

use crate::demo::{Demo, LIMIT, TEA};
use crate::report::Step;

/// How often one order is sent again.
const REPEATS: u32 = 5;

const HINT: &str = "docs/metrics.md; curl -s http://127.0.0.1:9081/metrics";

pub(crate) async fn run(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    if demo.stack.platform.admin(Part::ORDERS.instance(1)).is_none() {
        step.figure("not shown: /metrics is reachable inside of the containers only");
        return Ok(());
    }
    replays(demo, step).await?;
    demo.settled().await?;
    messages(demo, step).await?;
    violations(demo, step).await
}

/// One order, sent several times: one execution, and a replay for each repetition.
async fn replays(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    let counted = async || {
        let orders = read(demo, Part::ORDERS).await?;
        let [executed, replayed] = ["executed", "replayed"]
            .map(|outcome| orders.sum(&format!("idempotency_requests_total{{outcome=\"{outcome}\"}}")));
        Ok::<_, Error>((executed?, replayed?))
    };
    let before = counted().await?;
    let request = place_order(&[(TEA, 1)], "seen-by-an-operator");
    for _ in 0..=REPEATS {
        demo.api.send(&request).await?;
    }
    let after = counted().await?;
    let seen = (after.0 - before.0, after.1 - before.1);
    step.equal("executions and replays of one order", (1.0, f64::from(REPEATS)), seen, HINT);
    let stored = demo.orders_with_reference("seen-by-an-operator").await?.len();
    step.equal("orders in the database", 1, stored, "./dev psql orders");
    step.figure(format!("replays {}, one order", seen.1));
    Ok(())
}

/// The rows that a consumer has entered since its oldest process began.
const ENTERED: &str = "SELECT count(*) FROM inbox_message WHERE processed_at > clock_timestamp() - make_interval(secs => $1::float8)";

/// The services had just started when all messages were delivered again. So the messages that they count as applied are the rows
/// that they have entered since, and with the duplicates they are as many as the offsets of the consumers. With two instances
/// there can be more duplicates: a partition that changes its instance is read again from its committed offset.
async fn messages(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    let offsets: i64 = demo.kafka.positions().await?.values().map(|(next, _)| next).sum();
    let (mut applied, mut duplicates, mut entered) = (0, 0, 0);
    for service in Part::SERVICES {
        let metrics = read(demo, service).await?;
        applied += metrics.count("inbox_messages_total{outcome=\"applied\"}")?;
        duplicates += metrics.count("inbox_messages_total{outcome=\"duplicate\"}")?;
        let uptime = metrics.gauge("idem_uptime_seconds")?;
        entered += demo.books.count_of(service, ENTERED, uptime).await?;
    }
    step.equal("messages applied, and rows in the inboxes", entered, applied, HINT);
    let (name, total) = ("messages applied or absorbed, and read from Kafka", applied + duplicates);
    if demo.stack.is_doubled() {
        step.check(name, &format!("{offsets} at least"), total, total >= offsets, HINT);
    } else {
        step.equal(name, offsets, total, HINT);
    }
    step.figure(format!(
        "duplicates absorbed {duplicates} of {total} messages read since they were delivered again"
    ));
    Ok(())
}

/// Each service audits its own database again and again. Waits for an audit that began after all work had ended.
async fn violations(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    step.progress("waiting until each service has audited itself");
    let started = Instant::now();
    let (mut invariants, mut violations) = (0, 0.0);
    for service in Part::SERVICES {
        let waited = until(format!("an audit by {}", service.name()), LIMIT, HINT, async || {
            let since = read(demo, service).await?.gauge("job_since_success_seconds{name=\"audit\"}")?;
            Ok(if since < started.elapsed().as_secs_f64() { Ok(()) } else { Err(format!("{since} s ago")) })
        });
        waited.await?;
        let metrics = read(demo, service).await?;
        invariants += metrics.number_of("invariant_violations_total");
        violations += metrics.sum("invariant_violations_total")?;
    }
    step.equal("violations that the services found", 0.0, violations, "./dev run orders audit");
    step.figure(format!(
        "{invariants} invariants, audited by the services themselves: {violations} violations"
    ));
    Ok(())
}

/// The metrics of all instances of a service. Fails where they cannot be reached from here.
pub(crate) async fn read(demo: &Demo<'_>, part: Part) -> Result<Metrics> {
    let mut admins = Vec::new();
    for instance in demo.stack.instances(part) {
        let Some(address) = demo.stack.platform.admin(instance) else {
            return Err(Error::Refused(format!("/metrics of {} is not reachable", part.name())));
        };
        admins.push(Endpoint { instance, address });
    }
    Metrics::read(demo.api.client(), &admins).await
}
