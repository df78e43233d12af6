//! The running lab: the script, the client of this run's tenant, the addresses of the processes, and the state of the page.

use std::env;
use std::sync::Arc;

use envelope::Topics;
use futures_util::future::join4;
use harness::api::Api;
use harness::{Client, Endpoint, Error, Instance, Part, Result, Role};
use tokio::sync::watch;
use uuid::Uuid;

use crate::dev::Dev;
use crate::state::LabState;
use crate::{audit, customer, panels};

/// A day, in seconds: longer than a demonstration.
const TOKEN_LIFE: &str = "86400";

/// One run of the lab.
pub(crate) struct Lab {
    pub(crate) dev: Dev,
    pub(crate) api: Api<'static>,
    pub(crate) state: Arc<watch::Sender<LabState>>,
    pub(crate) tenant: String,
    port_base: u16,
    /// `host:port` of the first broker.
    pub(crate) broker: String,
    /// The names of the topics.
    pub(crate) topics: Topics,
}

impl Lab {
    /// Reads what `./dev lab` says about its stack, and signs a token for a new tenant.
    pub(crate) async fn from_environment() -> Result<Self> {
        let given = |name: &'static str| env::var(name).map_err(|_| Error::Environment(name));
        let dev = Dev::new(given("IDEM_DEV")?);
        let port_base = given("IDEM_PORT_BASE")?.parse().map_err(|_| Error::Environment("IDEM_PORT_BASE"))?;
        let brokers = given("IDEM_KAFKA_BROKERS")?;
        let broker = brokers.split(',').next().unwrap_or_default().to_owned();
        let run = Uuid::new_v4().simple().to_string();
        let tenant = format!("lab-{}", run.get(..6).unwrap_or(&run));
        let token = ["token", "--tenant", &tenant, "--client", "lab", "--ttl", TOKEN_LIFE];
        let token = dev.run(&token).await?.trim().to_owned();
        // A connection for each request: a connection that died with its process would make a request fail for a reason of no
        // interest.
        let endpoint = move |part: Part| {
            let instance = part.instance(1);
            vec![Endpoint { instance, address: address(port_base, instance) }]
        };
        let api = Api::new(Client::new(0, token)?, endpoint);
        let state = watch::Sender::new(LabState { tenant: tenant.clone(), ..LabState::default() });
        let topics = Topics::of(harness::deployment());
        Ok(Self { dev, api, state: Arc::new(state), tenant, port_base, broker, topics })
    }

    /// Reads every source until the program ends.
    pub(crate) async fn watch(&self) {
        let panels = Box::pin(panels::watch(self));
        join4(customer::prepare(self), panels, panels::watch_topics(self), audit::watch(self)).await;
    }

    /// `host:port` of a process.
    pub(crate) fn address(&self, instance: Instance) -> String {
        address(self.port_base, instance)
    }

    /// The admin listener of a process. A relay has no other one.
    pub(crate) fn admin(&self, instance: Instance) -> Endpoint {
        let port_base = if instance.role == Role::Relay { self.port_base } else { self.port_base + 1000 };
        Endpoint { instance, address: address(port_base, instance) }
    }
}

fn address(port_base: u16, instance: Instance) -> String {
    format!("127.0.0.1:{}", instance.port(port_base))
}

#[cfg(test)]
impl Lab {
    /// A lab whose orders answers at this address, and that has no other part.
    pub(crate) fn of_orders_at(orders: std::net::SocketAddr) -> Self {
        let endpoint =
            move |part: Part| vec![Endpoint { instance: part.instance(1), address: orders.to_string() }];
        Self {
            dev: Dev::new("false"),
            api: Api::new(Client::new(0, "token".to_owned()).unwrap(), endpoint),
            state: Arc::new(watch::Sender::new(LabState::default())),
            tenant: String::new(),
            port_base: 1024,
            broker: String::new(),
            topics: Topics::of("test"),
        }
    }
}
