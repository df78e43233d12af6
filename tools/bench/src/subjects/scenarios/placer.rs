//! Places the orders of a scenario: all connections take their numbers from one counter.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use envelope::TenantId;
use harness::{Error, Part, Result};
use rdkafka::producer::BaseProducer;

use super::scenario::Scenario;
use crate::environment::Environment;
use crate::load::{Connection, Worker};
use crate::subjects::bare_producer::{Reports, producer};
use crate::subjects::stack::Stack;

/// The state that the connections of a scenario share.
pub(super) struct Source {
    scenario: Scenario,
    /// Each with its header `Authorization`.
    tenants: Vec<(TenantId, String)>,
    next: AtomicUsize,
    poison: BaseProducer<Reports>,
    topic: String,
    parked: AtomicUsize,
}

/// The orders and poisonous events that a scenario has produced.
#[derive(Clone, Copy)]
pub(super) struct Produced {
    pub(super) orders: usize,
    pub(super) poison: usize,
}

impl Source {
    pub(super) fn of(scenario: Scenario, stack: &Stack<'_>) -> Result<Arc<Self>> {
        let environment = stack.environment;
        Ok(Arc::new(Self {
            scenario,
            tenants: tenants(environment)?,
            next: AtomicUsize::new(0),
            poison: producer(environment)?,
            topic: stack.kafka().topics.events(contracts::streams::ORDERS),
            parked: AtomicUsize::new(0),
        }))
    }

    /// The orders and events of all connections so far. None of them may be in use.
    pub(super) fn produced(&self) -> Produced {
        let orders = self.next.load(Ordering::Relaxed);
        Produced { orders, poison: self.parked.load(Ordering::Relaxed) }
    }

    /// A connection that places orders.
    pub(super) async fn placer(self: &Arc<Self>, stack: &Stack<'_>) -> Result<ScenarioPlacer> {
        let connection = Connection::open(stack.endpoint(Part::ORDERS)?, stack.environment.token()).await?;
        Ok(ScenarioPlacer { connection, source: Arc::clone(self) })
    }

    fn send_poison(&self, order: usize, tenant: &TenantId) -> Result<()> {
        let Some(record) = self.scenario.poison(order, tenant)? else { return Ok(()) };
        let sent = self.poison.send(record.to(&self.topic)).map_err(|(error, _)| error);
        sent.map_err(|error| Error::Refused(format!("an event was not published: {error}")))?;
        self.poison.poll(Duration::ZERO);
        self.parked.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// The tenants of the run, each with its header `Authorization`.
pub(super) fn tenants(environment: &Environment) -> Result<Vec<(TenantId, String)>> {
    let tenants = environment.tenants().iter().map(|(name, token)| {
        let name = name.parse().map_err(|error| Error::unreadable("a tenant's name", error))?;
        Ok((name, format!("Bearer {token}")))
    });
    tenants.collect()
}

/// One connection.
pub(super) struct ScenarioPlacer {
    connection: Connection,
    source: Arc<Source>,
}

impl Worker for ScenarioPlacer {
    async fn once(&mut self) -> Result<()> {
        let source = &self.source;
        let order = source.next.fetch_add(1, Ordering::Relaxed);
        let tenant = source.scenario.tenant(order, source.tenants.len());
        let Some((tenant, authorization)) = source.tenants.get(tenant) else {
            return Err(Error::Refused("the environment names no tenants: use ./dev bench".to_owned()));
        };
        let request = source.scenario.request(order).with_header("authorization", authorization);
        let response = self.connection.send(&request).await?;
        if response.status != 201 {
            return Err(Error::unexpected(&response, 201));
        }
        source.send_poison(order, tenant)
    }
}
