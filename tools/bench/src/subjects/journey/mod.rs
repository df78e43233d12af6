//! The whole saga: the time of one order on an idle stack, the rate of many orders, and the memory for them.

mod cost;
mod rates;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use contracts::{Currency, Money, Topics};
use harness::api::{Order, adjust_stock, put_item};
use harness::process::resident_mib;
use harness::{Error, Part, Program, Request, Result, until};
use serde_json::Value;
use uuid::Uuid;

use self::cost::Usage;
use super::orders::{Client, Placer};
use crate::environment::{Environment, TestBed};
use crate::load::{Load, closed_loop};
use crate::report::{Ratio, Section, Table, number};
use crate::workload::Workload;

/// Connections that place orders at the same time.
const CONNECTIONS: usize = 16;

/// The pause between two reads of an order.
const PAUSE: Duration = Duration::from_millis(2);

/// The longest that one order, or all orders together, may take.
const LIMIT: Duration = Duration::from_mins(2);

/// Orders that are not confirmed yet.
const OPEN_ORDERS: &str = "SELECT count(*) FROM orders WHERE state <> 'confirmed'";

/// All four programs.
struct Stack<'g> {
    environment: &'g Environment,
    topics: Topics,
    databases: BTreeMap<Part, TestBed>,
    programs: BTreeMap<Part, (Program, String)>,
    /// From the start of the process until it was ready. Except the first time, the tables existed.
    ready: BTreeMap<Part, Duration>,
}

/// Measures one order after the other, then many at once, then the restart.
pub(crate) async fn measure(environment: &Environment, workload: &Workload) -> Result<Section> {
    eprintln!("journey: starting all services");
    let mut stack = Stack::start(environment).await?;
    let (mut client, inventory) = (stack.client(Part::Orders).await?, stack.client(Part::Inventory).await?);
    put_on_sale(&mut client, inventory, workload).await?;
    let mut took = Vec::new();
    for number in 0..workload.journeys + 10 {
        let confirmed = journey(&mut client).await?;
        if number >= 10 {
            took.push(confirmed);
        }
    }
    let elapsed = took.iter().sum();
    let alone = Load::of(took, elapsed);
    eprintln!("journey: confirmed after {:.1} ms (p50), {:.1} ms (p99)", alone.p50, alone.p99);
    let before = Usage::of(&stack).await?;
    let crowd = crowd(&stack, workload).await?;
    let after = Usage::of(&stack).await?;
    eprintln!("journey: {:.0} orders/s from POST to the last confirmation", crowd.per_second);
    let rates = rates::measure(&stack, workload).await?;
    let memory = stack.memory();
    stack.restart().await?;
    let mut section = report(workload, alone, crowd.per_second, &memory, &stack.ready);
    after.report(&before, crowd.orders, &mut section);
    rates::report(&rates, workload, &mut section);
    Ok(section)
}

impl<'g> Stack<'g> {
    async fn start(environment: &'g Environment) -> Result<Self> {
        let topics = environment.topics("journey");
        let mut databases = BTreeMap::new();
        for part in Part::PROGRAMS {
            databases.insert(part, environment.postgres.database(&format!("journey_{}", part.name())).await?);
        }
        let (programs, ready) = (BTreeMap::new(), BTreeMap::new());
        let mut stack = Self { environment, topics, databases, programs, ready };
        for part in Part::PROGRAMS {
            stack.launch(part).await?;
        }
        Ok(stack)
    }

    async fn launch(&mut self, part: Part) -> Result<()> {
        let mut settings = self.environment.service_settings(self.database(part)?, &self.topics);
        let mut set = |name: &str, value: String| settings.push((name.to_owned(), value));
        if part == Part::Payments {
            set("IDEM_PROCESSOR__URL", format!("http://{}", self.address(Part::Provider)?));
            set("IDEM_PROCESSOR__SECRET_KEY", "sk_test_bench".to_owned());
        }
        set("IDEM_LIMITS__REQUESTS_PER_SECOND", "0".to_owned());
        if part == Part::Provider {
            settings.retain(|(name, _)| name == "IDEM_HTTP__PORT" || name.starts_with("IDEM_DATABASE__"));
        }
        let mut program = self.environment.start(part.instance(1), &settings)?;
        let (ready, address) = (program.ready().await?, program.address().await?);
        self.programs.insert(part, (program, address));
        self.ready.insert(part, ready);
        Ok(())
    }

    fn database(&self, part: Part) -> Result<&TestBed> {
        let database = self.databases.get(&part);
        database.ok_or_else(|| Error::Refused(format!("{} has no database", part.name())))
    }

    fn address(&self, part: Part) -> Result<&str> {
        let program = self.programs.get(&part).map(|(_, address)| address.as_str());
        program.ok_or_else(|| Error::Refused(format!("{} was not started", part.name())))
    }

    async fn client(&self, part: Part) -> Result<Client> {
        Client::open(self.environment, part.instance(1), self.address(part)?).await
    }

    fn memory(&self) -> BTreeMap<Part, f64> {
        let resident = |(part, (program, _)): (&Part, &(Program, String))| {
            Some((*part, program.pid().and_then(resident_mib)?))
        };
        self.programs.iter().filter_map(resident).collect()
    }

    /// Stops and starts all programs, to measure a start with existing tables.
    async fn restart(&mut self) -> Result<()> {
        for (_, (mut program, _)) in std::mem::take(&mut self.programs) {
            program.stop().await?;
        }
        for part in Part::PROGRAMS {
            self.launch(part).await?;
        }
        Ok(())
    }
}

/// Puts tea on sale, delivers it, and waits until orders knows it.
async fn put_on_sale(orders: &mut Client, mut inventory: Client, workload: &Workload) -> Result<()> {
    let price = Money::new(450, Currency::Eur);
    inventory.send(&put_item("TEA", "Green tea", price)).await?.read::<Value>(201)?;
    let pieces = i64::try_from(10 * (workload.journeys + workload.crowd)).unwrap_or(i64::MAX);
    inventory.send(&adjust_stock("TEA", pieces)).await?.read::<Value>(201)?;
    until("orders knows the item", LIMIT, "the log of orders", async || {
        let response = orders.place(Uuid::new_v4()).await?;
        match response.status {
            201 => Ok(Ok(())),
            422 => Ok(Err(response.code())),
            // An unreadable response ends the wait at once.
            status => Err(Error::unreadable("the first order", format!("status {status}"))),
        }
    })
    .await
}

/// From before the POST until the first GET that shows confirmed.
async fn journey(client: &mut Client) -> Result<Duration> {
    let start = Instant::now();
    let response = client.place(Uuid::new_v4()).await?;
    let order: Order = response.read(201)?;
    let read = Request::get(Part::Orders, response.header("Location").unwrap_or_default());
    loop {
        let order: Order = client.send(&read).await?.read(200)?;
        if order.status == "confirmed" {
            return Ok(start.elapsed());
        }
        if !order.is_open() || start.elapsed() > LIMIT {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(Error::Refused(format!("order {} was not confirmed", order.id)))
}

/// Many orders at once.
struct Crowd {
    orders: f64,
    /// From the first POST to the last confirmation.
    per_second: f64,
}

/// Places many orders at once, and waits until they are confirmed.
async fn crowd(stack: &Stack<'_>, workload: &Workload) -> Result<Crowd> {
    let owner = stack.database(Part::Orders)?.owner().await?;
    let start = Instant::now();
    let (mut placed, mut placers) = (0.0, Vec::new());
    for _ in 0..CONNECTIONS {
        placers.push(Placer { client: stack.client(Part::Orders).await?, keys: Vec::new() });
    }
    while placed < f64::from(u32::try_from(workload.crowd).unwrap_or(u32::MAX)) {
        let (load, again) = closed_loop(placers, Duration::from_millis(100)).await?;
        placed += load.count;
        placers = again;
    }
    until("every order is confirmed", LIMIT, "the logs of the services", async || {
        let waiting: i64 = owner.one(OPEN_ORDERS).await?.get(0);
        Ok(if waiting == 0 { Ok(()) } else { Err(format!("{waiting} orders are open")) })
    })
    .await?;
    Ok(Crowd { orders: placed, per_second: placed / start.elapsed().as_secs_f64() })
}

fn report(
    workload: &Workload,
    alone: Load,
    crowd: f64,
    memory: &BTreeMap<Part, f64>,
    ready: &BTreeMap<Part, Duration>,
) -> Section {
    let mut section = Section::default();
    section.ratios.push(Ratio::at_most("POST to confirmed on an idle stack, p50 ms", alone.p50, 25.0));
    let mut table = Table::new(
        format!("The whole saga: {} orders one after the other, read every 2 ms", workload.journeys),
        ["what", "measured"],
    );
    table.row(["POST to confirmed, p50 ms".to_owned(), number(alone.p50, 1)]);
    table.row(["POST to confirmed, p99 ms".to_owned(), number(alone.p99, 1)]);
    let name = format!(
        "orders/s to the last confirmation, {CONNECTIONS} connections, at least {} orders",
        workload.crowd
    );
    table.row([name, number(crowd, 0)]);
    section.tables.push(table);
    section.figure("journey.p50_ms", alone.p50);
    section.figure("journey.p99_ms", alone.p99);
    section.figure("journey.crowd_per_second", crowd);
    let mut table = Table::new(
        "Processes: memory after that load, start with existing tables",
        ["service", "resident MiB", "ready after ms"],
    );
    for (part, resident) in memory {
        let name = part.name();
        let ready = ready.get(part).map_or(f64::NAN, |ready| ready.as_secs_f64() * 1e3);
        table.row([name.to_owned(), number(*resident, 0), number(ready, 0)]);
        section.figure(format!("process.{name}_resident_mib"), *resident);
        section.figure(format!("process.{name}_ready_ms"), ready);
    }
    section.tables.push(table);
    section
}
