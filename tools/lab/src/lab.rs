//! The running lab: the script, the client of this run's tenant, the addresses of the processes, and the state of the page.

use std::sync::Arc;

use envelope::Topics;
use futures_util::future::join4;
use harness::Api;
use harness::{Client, Dev, Endpoint, Instance, Part, Result, variable};
use tokio::sync::watch;
use uuid::Uuid;

use crate::state::LabState;
use crate::{audit, customer, panels};

/// A day, in seconds: longer than a demonstration.
const TOKEN_LIFE: &str = "86400";

/// One run of the lab.
pub(crate) struct Lab {
    pub(crate) dev: Arc<Dev>,
    pub(crate) api: Api<'static>,
    pub(crate) state: Arc<watch::Sender<LabState>>,
    pub(crate) tenant: String,
    /// `host:port` of the first broker.
    pub(crate) broker: String,
    /// The names of the topics.
    pub(crate) topics: Topics,
}

impl Lab {
    /// Reads what `./dev lab` says about its stack, and signs a token for a new tenant.
    pub(crate) async fn from_environment() -> Result<Self> {
        let dev = Arc::new(Dev::from_environment()?);
        let broker = variable("IDEM_KAFKA_BROKERS")?.split(',').next().unwrap_or_default().to_owned();
        let tenant = format!("lab-{}", Uuid::new_v4().simple().to_string().split_off(26));
        let token = ["token", "--tenant", &tenant, "--client", "lab", "--ttl", TOKEN_LIFE];
        let token = dev.run(&token).await?.trim().to_owned();
        // A connection for each request: a connection that died with its process would make a request fail for a reason of no
        // interest.
        let ports = Arc::clone(&dev);
        let endpoint = move |part: Part| {
            let instance = part.instance(1);
            vec![Endpoint { instance, address: ports.address(instance) }]
        };
        let api = Api::new(Client::new(0, token)?, endpoint);
        let state = watch::Sender::new(LabState { tenant: tenant.clone(), ..LabState::default() });
        let topics = Topics::of(harness::deployment());
        Ok(Self { dev, api, state: Arc::new(state), tenant, broker, topics })
    }

    /// Reads every source until the program ends.
    pub(crate) async fn watch(&self) {
        let panels = Box::pin(panels::watch(self));
        join4(customer::prepare(self), panels, panels::watch_topics(self), audit::watch(self)).await;
    }

    /// The admin listener of a process.
    pub(crate) fn admin(&self, instance: Instance) -> Endpoint {
        Endpoint { instance, address: self.dev.admin(instance) }
    }
}

#[cfg(test)]
impl Lab {
    /// A lab whose orders answers at this address, and that has no other part.
    pub(crate) fn of_orders_at(orders: std::net::SocketAddr) -> Self {
        let endpoint =
            move |part: Part| vec![Endpoint { instance: part.instance(1), address: orders.to_string() }];
        Self {
            dev: Arc::new(Dev::new("false", 1024)),
            api: Api::new(Client::new(0, "token".to_owned()).unwrap(), endpoint),
            state: Arc::new(watch::Sender::new(LabState::default())),
            tenant: String::new(),
            broker: String::new(),
            topics: Topics::of("test"),
        }
    }
}
