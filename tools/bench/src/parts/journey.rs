//! The whole saga: how long one order takes on an idle stack, how many a crowd gets through, what memory that needs.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::Value;
use uuid::Uuid;

use super::orders::Client;
use crate::effort::Effort;
use crate::ground::{Ground, Program, Session, TestBed, resident_mib, settings_of_service};
use crate::load::{Load, closed_loop};
use crate::parts::orders::Placer;
use crate::report::{Part, Ratio, Table, number};
use crate::trouble::{Doing, Trouble};
use contracts::Topics;

/// In the order of starting: payments needs the provider's address.
const PROGRAMS: [&str; 4] = ["provider", "inventory", "payments", "orders"];

/// Clients of a crowd.
const CONNECTIONS: usize = 16;

/// Between two looks at an order.
const LOOK: Duration = Duration::from_millis(2);

/// The longest that a journey, or a crowd's, may take.
const PATIENCE: Duration = Duration::from_mins(2);

/// All four programs.
struct Stack<'g> {
    ground: &'g Ground,
    topics: Topics,
    databases: BTreeMap<&'static str, TestBed>,
    programs: BTreeMap<&'static str, (Program, String)>,
    /// From the start of the process to ready; the tables were there, except the first time.
    ready: BTreeMap<&'static str, Duration>,
}

/// Measures one after the other.
pub(crate) async fn measure(ground: &Ground, effort: &Effort) -> Result<Part, Trouble> {
    eprintln!("journey: starting all services");
    let mut stack = Stack::start(ground).await?;
    let (mut client, inventory) = (stack.client("orders").await?, stack.client("inventory").await?);
    put_on_sale(&mut client, inventory, effort).await?;
    let mut took = Vec::new();
    for number in 0..effort.journeys + 10 {
        let confirmed = journey(&mut client).await?;
        if number >= 10 {
            took.push(confirmed);
        }
    }
    let elapsed = took.iter().sum();
    let alone = Load::of(took, elapsed);
    eprintln!("journey: confirmed after {:.1} ms (p50), {:.1} ms (p99)", alone.p50, alone.p99);
    let crowd = crowd(&stack, effort).await?;
    eprintln!("journey: {crowd:.0} orders/s from POST to the last confirmation");
    let memory = stack.memory();
    stack.start_again().await?;
    Ok(report(effort, alone, crowd, &memory, &stack.ready))
}

impl<'g> Stack<'g> {
    async fn start(ground: &'g Ground) -> Result<Self, Trouble> {
        let topics = ground.topics("journey");
        let mut databases = BTreeMap::new();
        for name in PROGRAMS {
            databases.insert(name, ground.postgres.database(&format!("journey_{name}")).await?);
        }
        let mut stack = Self { ground, topics, databases, programs: BTreeMap::new(), ready: BTreeMap::new() };
        for name in PROGRAMS {
            stack.launch(name).await?;
        }
        Ok(stack)
    }

    async fn launch(&mut self, name: &'static str) -> Result<(), Trouble> {
        let database =
            self.databases.get(name).ok_or_else(|| Trouble::Refused(format!("{name} has no database")))?;
        let mut settings = settings_of_service(self.ground, database, &self.topics);
        if name == "provider" {
            settings.retain(|(setting, _)| {
                *setting == "IDEM_HTTP__PORT" || setting.starts_with("IDEM_DATABASE__")
            });
        } else {
            settings.push(("IDEM_LIMITS__REQUESTS_PER_SECOND", "0".to_owned()));
        }
        if name == "payments" {
            settings.push(("IDEM_PROCESSOR__URL", format!("http://{}", self.address("provider")?)));
            settings.push(("IDEM_PROCESSOR__SECRET_KEY", "sk_test_bench".to_owned()));
        }
        let mut program = Program::start(self.ground, name, "serve", &settings)?;
        let (address, ready) = program.ready().await?;
        self.programs.insert(name, (program, address));
        self.ready.insert(name, ready);
        Ok(())
    }

    fn address(&self, name: &str) -> Result<&str, Trouble> {
        let program = self.programs.get(name).map(|(_, address)| address.as_str());
        program.ok_or_else(|| Trouble::Refused(format!("{name} was not started")))
    }

    async fn client(&self, name: &str) -> Result<Client, Trouble> {
        Client::open(self.ground, self.address(name)?).await
    }

    fn memory(&self) -> BTreeMap<&'static str, f64> {
        let resident = |(name, (program, _)): (&&'static str, &(Program, String))| {
            Some((*name, resident_mib(program.pid())?))
        };
        self.programs.iter().filter_map(resident).collect()
    }

    /// Stops everything and starts it once more, for the time that takes with the tables there.
    async fn start_again(&mut self) -> Result<(), Trouble> {
        for (_, (program, _)) in std::mem::take(&mut self.programs) {
            program.stop().await?;
        }
        for name in PROGRAMS {
            self.launch(name).await?;
        }
        Ok(())
    }

    async fn orders(&self) -> Result<Session, Trouble> {
        match self.databases.get("orders") {
            Some(database) => database.owner().await,
            None => Err(Trouble::Refused("orders has no database".to_owned())),
        }
    }
}

/// Puts tea on sale and into the store, and waits until orders has heard of it.
async fn put_on_sale(orders: &mut Client, mut inventory: Client, effort: &Effort) -> Result<(), Trouble> {
    let item = r#"{"name":"Green tea","unit_price":{"amount":450,"currency":"EUR"}}"#;
    let answer = inventory.command(Method::PUT, "/v1/items/TEA", None, item).await?;
    if answer.status != 201 {
        return Err(answer.unexpected("putting an item on sale"));
    }
    let delivery = format!(r#"{{"delta":{},"reason":"delivery"}}"#, 10 * (effort.journeys + effort.crowd));
    let key = Uuid::new_v4().to_string();
    let answer = inventory.command(Method::POST, "/v1/items/TEA/adjustments", Some(&key), &delivery).await?;
    if answer.status != 201 {
        return Err(answer.unexpected("a delivery"));
    }
    let begun = Instant::now();
    loop {
        let answer = orders.post(&Uuid::new_v4().to_string()).await?;
        if answer.status == 201 {
            return Ok(());
        }
        if answer.status != 422 || begun.elapsed() > PATIENCE {
            return Err(answer.unexpected("the first order"));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// From before the POST to the first GET that says confirmed.
async fn journey(client: &mut Client) -> Result<Duration, Trouble> {
    let begun = Instant::now();
    let answer = client.post(&Uuid::new_v4().to_string()).await?;
    if answer.status != 201 {
        return Err(answer.unexpected("an order"));
    }
    let path = answer.header("Location").to_owned();
    loop {
        let answer = client.get(&path).await?;
        let order: Value = serde_json::from_slice(&answer.body).doing("read an order")?;
        match order["status"].as_str() {
            Some("confirmed") => return Ok(begun.elapsed()),
            Some("pending" | "awaiting_payment") if begun.elapsed() < PATIENCE => {
                tokio::time::sleep(LOOK).await;
            }
            _ => return Err(answer.unexpected("an order on its way")),
        }
    }
}

/// Many orders at once; returns how many reach their end in a second, from the first POST to the last confirmation.
async fn crowd(stack: &Stack<'_>, effort: &Effort) -> Result<f64, Trouble> {
    let owner = stack.orders().await?;
    let open = "SELECT count(*) FROM orders WHERE state <> 'confirmed'";
    let begun = Instant::now();
    let (mut placed, mut placers) = (0.0, Vec::new());
    for _ in 0..CONNECTIONS {
        placers.push(Placer { client: stack.client("orders").await?, keys: Vec::new() });
    }
    while placed < f64::from(u32::try_from(effort.crowd).unwrap_or(u32::MAX)) {
        let (load, again) = closed_loop(placers, Duration::from_millis(100)).await?;
        placed += load.count;
        placers = again;
    }
    loop {
        let waiting: i64 = owner.one(open).await?.get(0);
        if waiting == 0 {
            return Ok(placed / begun.elapsed().as_secs_f64());
        }
        if begun.elapsed() > PATIENCE {
            return Err(Trouble::Refused(format!("{waiting} orders are not confirmed after {PATIENCE:?}")));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn report(
    effort: &Effort,
    alone: Load,
    crowd: f64,
    memory: &BTreeMap<&'static str, f64>,
    ready: &BTreeMap<&'static str, Duration>,
) -> Part {
    let mut part = Part::default();
    part.ratios.push(Ratio::at_most("POST to confirmed on an idle stack, p50 ms", alone.p50, 25.0));
    let mut table = Table::new(
        format!(
            "The whole saga: {} orders one after the other, looked at every 2 ms by GET",
            effort.journeys
        ),
        ["what", "measured"],
    );
    table.row(["POST to confirmed, p50 ms".to_owned(), number(alone.p50, 1)]);
    table.row(["POST to confirmed, p99 ms".to_owned(), number(alone.p99, 1)]);
    let name = format!(
        "orders/s to the last confirmation, {CONNECTIONS} connections, at least {} orders",
        effort.crowd
    );
    table.row([name, number(crowd, 0)]);
    part.tables.push(table);
    part.figure("journey.p50_ms", alone.p50);
    part.figure("journey.p99_ms", alone.p99);
    part.figure("journey.crowd_per_second", crowd);
    let mut table = Table::new(
        "Processes: memory after that load, start with the tables there",
        ["service", "resident MiB", "ready after ms"],
    );
    for (name, resident) in memory {
        let ready = ready.get(name).map_or(f64::NAN, |ready| ready.as_secs_f64() * 1e3);
        table.row([(*name).to_owned(), number(*resident, 0), number(ready, 0)]);
        part.figure(format!("process.{name}_resident_mib"), *resident);
        part.figure(format!("process.{name}_ready_ms"), ready);
    }
    part.tables.push(table);
    part
}
