//! `Stack`: all four programs, with databases and topics of their own.

use std::collections::BTreeMap;
use std::time::Duration;

use envelope::Topics;
use harness::process::resident_mib;
use harness::{Books, Endpoint, Error, Kafka, Part, Program, Result, until};

use super::orders::{Client, Placer};
use crate::environment::{Environment, TestBed};

/// The longest that all orders together may take.
pub(crate) const LIMIT: Duration = Duration::from_mins(2);

/// All four programs.
pub(crate) struct Stack<'g> {
    pub(crate) environment: &'g Environment,
    topics: Topics,
    databases: BTreeMap<Part, TestBed>,
    programs: BTreeMap<Part, (Program, String)>,
    /// Settings of every service that are not the default.
    settings: Vec<(String, String)>,
    /// From the start of each process until it was ready, at the last start.
    pub(crate) ready: BTreeMap<Part, Duration>,
}

impl<'g> Stack<'g> {
    /// Makes databases and topics of this name, and starts the programs. `settings` change the defaults of the services.
    pub(crate) async fn start(
        environment: &'g Environment,
        name: &str,
        settings: &[(&str, &str)],
    ) -> Result<Self> {
        let topics = environment.topics(name);
        let mut databases = BTreeMap::new();
        for part in Part::PROGRAMS {
            databases.insert(part, environment.postgres.database(&format!("{name}_{}", part.name())).await?);
        }
        let settings =
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (programs, ready) = (BTreeMap::new(), BTreeMap::new());
        let mut stack = Self { environment, topics, databases, programs, settings, ready };
        stack.start_programs().await?;
        Ok(stack)
    }

    /// Starts all programs, each after the programs that it needs.
    pub(crate) async fn start_programs(&mut self) -> Result<()> {
        for part in Part::PROGRAMS {
            self.start_program(part).await?;
        }
        Ok(())
    }

    async fn start_program(&mut self, part: Part) -> Result<()> {
        let mut settings = self.environment.service_settings(self.database(part)?, &self.topics);
        let mut set = |name: &str, value: String| settings.push((name.to_owned(), value));
        if part == Part::PAYMENTS {
            set("IDEM_PROCESSOR__URL", format!("http://{}", self.address(Part::PROVIDER)?));
            set("IDEM_PROCESSOR__SECRET_KEY", "sk_test_bench".to_owned());
        }
        settings.extend(self.settings.iter().cloned());
        if part == Part::PROVIDER {
            settings.retain(|(name, _)| name == "IDEM_HTTP__PORT" || name.starts_with("IDEM_DATABASE__"));
        }
        let mut program = self.environment.start(part.instance(1), &settings)?;
        let (ready, address) = (program.ready().await?, program.address().await?);
        self.programs.insert(part, (program, address));
        self.ready.insert(part, ready);
        Ok(())
    }

    /// Stops all programs.
    pub(crate) async fn stop_programs(&mut self) -> Result<()> {
        for (_, (mut program, _)) in std::mem::take(&mut self.programs) {
            program.stop().await?;
        }
        Ok(())
    }

    pub(crate) fn database(&self, part: Part) -> Result<&TestBed> {
        let database = self.databases.get(&part);
        database.ok_or_else(|| Error::Refused(format!("{} has no database", part.name())))
    }

    fn address(&self, part: Part) -> Result<&str> {
        let program = self.programs.get(&part).map(|(_, address)| address.as_str());
        program.ok_or_else(|| Error::Refused(format!("{} was not started", part.name())))
    }

    /// The running programs.
    pub(crate) fn programs(&self) -> impl Iterator<Item = (Part, &Program)> {
        self.programs.iter().map(|(part, (program, _))| (*part, program))
    }

    /// The address of a running program.
    pub(crate) fn endpoint(&self, part: Part) -> Result<Endpoint> {
        Ok(Endpoint { instance: part.instance(1), address: self.address(part)?.to_owned() })
    }

    /// A client with a connection of its own.
    pub(crate) async fn client(&self, part: Part) -> Result<Client> {
        Client::open(self.environment, part, self.address(part)?).await
    }

    /// So many connections that place orders.
    pub(crate) async fn placers(&self, connections: usize) -> Result<Vec<Placer>> {
        Placer::open(self.environment, self.address(Part::ORDERS)?, connections).await
    }

    /// Resident memory of each program, in MiB.
    pub(crate) fn memory(&self) -> BTreeMap<Part, f64> {
        self.programs().filter_map(|(part, program)| Some((part, resident_mib(program.pid()?)?))).collect()
    }

    /// The topics of the services.
    pub(crate) fn kafka(&self) -> Kafka {
        Kafka { brokers: self.environment.brokers.clone(), topics: self.topics.clone() }
    }

    /// The databases, for checks.
    pub(crate) fn books(&self) -> Books {
        Books::new(|part| Some(self.databases.get(&part)?.owner_url.clone()))
    }

    /// Waits until every order is confirmed.
    pub(crate) async fn orders_confirmed(&self) -> Result<()> {
        let query = "SELECT count(*) FROM orders WHERE state <> 'confirmed'";
        self.no_order_left("every order is confirmed", query).await
    }

    /// Waits until every order is confirmed or cancelled.
    pub(crate) async fn orders_ended(&self) -> Result<()> {
        let query = "SELECT count(*) FROM orders WHERE state NOT IN ('confirmed', 'cancelled')";
        self.no_order_left("every order has ended", query).await
    }

    async fn no_order_left(&self, condition: &str, query: &str) -> Result<()> {
        let owner = self.database(Part::ORDERS)?.owner().await?;
        until(condition, LIMIT, "the logs of the services", async || {
            let left: i64 = owner.one(query).await?.get(0);
            Ok(if left == 0 { Ok(()) } else { Err(format!("{left} orders are left")) })
        })
        .await
    }

    /// Waits until every event is published and consumed, and no call to the processor is due.
    pub(crate) async fn at_rest(&self) -> Result<()> {
        self.books().at_rest(&self.kafka(), LIMIT).await
    }
}
