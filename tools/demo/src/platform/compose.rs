//! The parts as docker compose runs them, from the folder of the demo. Its programs are the deployed ones, without crash
//! points.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::try_join_all;
use harness::{Client, CommandOutput, Context, Endpoint, Error, Instance, Part, Request, Result, until};
use messaging::Brokers;
use tokio::process::Command;

use super::{Action, Pending, Platform, life_setting, owner_url};

/// How long a container may take until its program is ready.
const LIMIT: Duration = Duration::from_mins(1);

/// `./dev demo --compose` sets it to the published ports: `orders=127.0.0.1:8081 postgres=…`.
const ADDRESSES: &str = "IDEM_COMPOSE_ADDRESSES";

/// Commands of `./dev` in hints, and their equivalents; a longer command comes before its own prefix.
const EQUIVALENTS: [(&str, &str); 7] = [
    ("./dev run payments ", "docker compose exec payments payments "),
    ("./dev psql ", "docker compose exec postgres psql -U postgres "),
    ("./dev topics", "docker compose exec identity devtool topics kafka:9092"),
    ("./dev status", "docker compose ps"),
    ("./dev logs", "docker compose logs"),
    ("./dev up", "docker compose up --wait"),
    ("; only programs that ./dev has built have crash points", ""),
];

/// The project of the current folder, or the one that `COMPOSE_PROJECT_NAME` names.
pub(crate) struct Compose {
    addresses: HashMap<String, String>,
}

impl Compose {
    pub(crate) fn from_environment() -> Result<Self> {
        let text = env::var(ADDRESSES).unwrap_or_default();
        Self::read(&text).ok_or(Error::Environment(ADDRESSES))
    }

    /// `None` unless every part has an address.
    fn read(text: &str) -> Option<Self> {
        let addresses: HashMap<String, String> = text
            .split_whitespace()
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, address)| (name.to_owned(), address.to_owned()))
            .collect();
        let mut names = Part::PROGRAMS.map(Part::name).into_iter().chain(["postgres", "kafka"]);
        names.all(|name| addresses.contains_key(name)).then_some(Self { addresses })
    }

    /// `host:port` as this machine knows it.
    fn published(&self, name: &str) -> String {
        self.addresses.get(name).cloned().unwrap_or_default()
    }

    async fn act_on(&self, action: Action<'_>, on: &[Instance]) -> Result<()> {
        let names: Vec<String> = on.iter().map(Instance::to_string).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        match action {
            Action::Start if on.is_empty() => {
                compose(&["up", "--detach", "--no-build", "--no-recreate", "--wait"], &[]).await
            }
            Action::Start => return self.start(&names, on).await,
            Action::StartArmed(_) => {
                Err(Error::Refused("programs in containers have no crash points".to_owned()))
            }
            Action::Restart { order_life } => return self.recreate(&names, on, order_life).await,
            Action::Stop => compose(&["stop"], &names).await,
            // This counts as stopped by hand, so that no restart policy starts the container again.
            Action::Kill => compose(&["kill", "--signal", "SIGKILL"], &names).await,
            Action::Pause => compose(&["pause"], &names).await,
        }
        .map(drop)
    }

    /// Asks the programs whether they are ready, because `up --wait` would wait seconds for the next health check.
    async fn start(&self, names: &[&str], instances: &[Instance]) -> Result<()> {
        let paused = compose(&["ps", "--services", "--status", "paused"], &[]).await?;
        let paused: Vec<&str> = paused.lines().filter(|name| names.contains(name)).collect();
        if !paused.is_empty() {
            compose(&["unpause"], &paused).await?;
        }
        compose(&["start"], names).await?;
        try_join_all(instances.iter().map(|instance| self.ready(*instance))).await.map(drop)
    }

    /// A container keeps its settings for life. Other settings need another container.
    async fn recreate(&self, names: &[&str], instances: &[Instance], order_life: Option<u32>) -> Result<()> {
        let variables = life_setting("ORDER_LIFE_SECONDS", order_life);
        let up = ["compose", "up", "--detach", "--no-build", "--no-deps", "--force-recreate"];
        docker(&[&up, names].concat(), &variables).await?;
        try_join_all(instances.iter().map(|instance| self.ready(*instance))).await.map(drop)
    }

    async fn ready(&self, instance: Instance) -> Result<()> {
        let condition = format!("{instance} is ready");
        if instance.part == Part::KAFKA {
            let brokers: Brokers = self.brokers().parse()?;
            return until(condition, LIMIT, "docker compose logs kafka", async || {
                Ok(Ok(messaging::health(&brokers, Duration::from_secs(2)).await?))
            })
            .await;
        }
        let client = Client::new(0, String::new())?;
        let endpoint = Endpoint { instance, address: self.address(instance) };
        let request = Request::get(instance.part, "/health/ready");
        until(condition, LIMIT, "docker compose ps, docker compose logs", async || {
            let response = client.send(&endpoint, &request).await;
            let response =
                response.map_err(|source| Error::NoResponse { request: request.name(), source })?;
            Ok(if response.status == 200 { Ok(()) } else { Err(format!("status {}", response.status)) })
        })
        .await
    }

    /// The program is the child of the container's init. Where Docker runs in a virtual machine, the process is not
    /// visible here, or another process has its number: the name is compared.
    async fn program(&self, instance: Instance) -> Result<Option<u32>> {
        let name = instance.to_string();
        let container = compose(&["ps", "--quiet"], &[&name]).await?;
        let Some(container) = container.lines().next() else { return Ok(None) };
        let init = docker(&["inspect", "--format", "{{.State.Pid}}", container], &[]).await?;
        let init = init.trim();
        let children = fs::read_to_string(format!("/proc/{init}/task/{init}/children")).unwrap_or_default();
        let program = instance.part.program();
        let is_it = |pid: &u32| {
            fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == program)
        };
        Ok(children.split_whitespace().filter_map(|pid| pid.parse().ok()).find(is_it))
    }
}

impl Platform for Compose {
    fn instances(&self) -> usize {
        1
    }

    fn has_crash_points(&self) -> bool {
        false
    }

    fn address(&self, instance: Instance) -> String {
        self.published(&instance.to_string())
    }

    fn database(&self, part: Part) -> String {
        owner_url(&self.published("postgres"), part)
    }

    fn brokers(&self) -> String {
        self.published("kafka")
    }

    fn deployment(&self) -> String {
        harness::DEPLOYMENT.to_owned()
    }

    fn process(&self, instance: Instance) -> Pending<'_, Option<u32>> {
        self.program(instance).boxed_local()
    }

    fn token<'a>(&'a self, tenant: &'a str) -> Pending<'a, String> {
        async move {
            let issue = ["exec", "-T", "identity", "devtool", "token", "--client", "demo", "--tenant"];
            Ok(compose(&issue, &[tenant]).await?.trim().to_owned())
        }
        .boxed_local()
    }

    fn command<'a>(&'a self, of: Part, command: &'a [&'a str]) -> Pending<'a, CommandOutput> {
        async move {
            let exec = ["compose", "exec", "-T", of.name(), of.name()];
            run(&[&exec, command].concat(), &[]).await
        }
        .boxed_local()
    }

    fn act<'a>(&'a self, action: Action<'a>, on: &'a [Instance]) -> Pending<'a, ()> {
        self.act_on(action, on).boxed_local()
    }

    fn translate_hint(&self, text: &str) -> String {
        EQUIVALENTS.iter().fold(text.to_owned(), |text, (dev, compose)| text.replace(dev, compose))
    }
}

/// Runs `docker compose`; returns what it prints.
async fn compose(arguments: &[&str], names: &[&str]) -> Result<String> {
    docker(&[&["compose"], arguments, names].concat(), &[]).await
}

/// Runs `docker` with these variables for docker-compose.yml; returns what it prints.
async fn docker(arguments: &[&str], variables: &[(&str, String)]) -> Result<String> {
    run(arguments, variables).await?.expect_success(format!("docker {}", arguments.join(" ")))
}

async fn run(arguments: &[&str], variables: &[(&str, String)]) -> Result<CommandOutput> {
    let mut command = Command::new("docker");
    command.args(arguments).envs(variables.iter().map(|(name, value)| (name, value)));
    let output = command.output().await.context(format!("run docker {}", arguments.join(" ")))?;
    Ok(CommandOutput::from(output))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The addresses of all parts, as `./dev demo --compose` gives them.
    fn addresses() -> String {
        let programs =
            Part::PROGRAMS.map(|part| format!("{}=127.0.0.1:{}", part.name(), part.instance(1).port(8080)));
        format!("{} postgres=127.0.0.1:8111 kafka=127.0.0.1:8121", programs.join(" "))
    }

    #[test]
    fn every_part_is_where_its_port_is_published() {
        let compose = Compose::read(&addresses()).unwrap();
        assert_eq!(compose.address(Part::ORDERS.instance(1)), "127.0.0.1:8081");
        assert_eq!(compose.brokers(), "127.0.0.1:8121");
        let database = "postgres://orders_owner:orders_owner@127.0.0.1:8111/orders";
        assert_eq!(compose.database(Part::ORDERS), database);
    }

    #[test]
    fn a_part_without_an_address_is_refused() {
        for missing in ["orders", "inventory", "postgres", "kafka"] {
            assert!(Compose::read(&addresses().replace(missing, "other")).is_none(), "{missing}");
        }
        assert!(Compose::read("").is_none());
    }

    #[test]
    fn hints_name_commands_that_serve_here() {
        let compose = Compose::read(&addresses()).unwrap();
        let hint = compose
            .translate_hint("look at ./dev logs orders, ./dev psql orders; ./dev run payments reconcile");
        let expected = "look at docker compose logs orders, docker compose exec postgres psql -U postgres orders; \
                        docker compose exec payments payments reconcile";
        assert_eq!(hint, expected);
    }
}
