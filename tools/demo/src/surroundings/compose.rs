//! The parts as docker compose runs them. Its programs are those that people deploy, without crash points.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::time::Duration;

use super::docker::{docker, tell};
use super::{Act, Answer, Surroundings, Told};
use crate::part::{Instance, Part};
use crate::trouble::Trouble;
use crate::wait::until;
use futures_util::FutureExt;
use futures_util::future::try_join_all;
use messaging::Brokers;

/// How long a container may take until its program is ready.
const PATIENCE: Duration = Duration::from_mins(1);

/// Where `./dev demo --compose` says that the published ports are: `orders=127.0.0.1:8081 postgres=…`.
const ADDRESSES: &str = "IDEM_COMPOSE_ADDRESSES";

/// As docker-compose.yml has it.
const WEBHOOK_SECRET: &str = "whsec_idem";

/// The hints for `./dev`, and what serves here; a longer one before its own beginning.
const WORDS: [(&str, &str); 7] = [
    ("./dev run payments ", "docker compose exec payments payments "),
    ("./dev psql ", "docker compose exec postgres psql -U postgres "),
    ("./dev topics", "docker compose exec identity devtool topics kafka:9092"),
    ("./dev status", "docker compose ps"),
    ("./dev logs", "docker compose logs"),
    ("./dev up", "docker compose up --wait"),
    ("; only programs that ./dev has built have crash points", ""),
];

/// The project of the folder that the demo runs in, or the one that `COMPOSE_PROJECT_NAME` names.
pub(crate) struct Compose {
    addresses: HashMap<String, String>,
}

impl Compose {
    pub(crate) fn from_environment() -> Result<Self, Trouble> {
        let text = env::var(ADDRESSES).unwrap_or_default();
        Self::read(&text).ok_or(Trouble::Environment(ADDRESSES))
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

    async fn act(&self, act: Act<'_>, on: &[Instance]) -> Result<(), Trouble> {
        let names: Vec<String> = on.iter().map(Instance::to_string).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        match act {
            Act::Start if on.is_empty() => {
                compose(&["up", "--detach", "--no-build", "--no-recreate", "--wait"], &[]).await
            }
            Act::Start => return self.start(&names, on).await,
            Act::StartArmed(point) => Err(Trouble::Outside {
                command: format!("IDEM_CRASH={point}"),
                output: "programs in containers have no crash points".to_owned(),
            }),
            Act::Renew { order_life } => return self.renew(&names, on, order_life).await,
            Act::Stop => compose(&["stop"], &names).await,
            // Counts as stopped by hand: no restart policy undoes it.
            Act::Kill => compose(&["kill", "--signal", "SIGKILL"], &names).await,
            Act::Pause => compose(&["pause"], &names).await,
            Act::Resume => compose(&["unpause"], &names).await,
        }
        .map(drop)
    }

    /// `up --wait` would wait for the next health check, which comes seconds later: we ask the program itself.
    async fn start(&self, names: &[&str], instances: &[Instance]) -> Result<(), Trouble> {
        let paused = compose(&["ps", "--services", "--status", "paused"], &[]).await?;
        let paused: Vec<&str> = paused.lines().filter(|name| names.contains(name)).collect();
        if !paused.is_empty() {
            compose(&["unpause"], &paused).await?;
        }
        compose(&["start"], names).await?;
        try_join_all(instances.iter().map(|instance| self.ready(*instance))).await.map(drop)
    }

    /// A container keeps its settings for life: with others it is another one.
    async fn renew(
        &self,
        names: &[&str],
        instances: &[Instance],
        order_life: Option<u32>,
    ) -> Result<(), Trouble> {
        let life = order_life.map(|seconds| seconds.to_string());
        let variables: Vec<_> = life.iter().map(|life| ("ORDER_LIFE_SECONDS", life.as_str())).collect();
        let up = ["compose", "up", "--detach", "--no-build", "--no-deps", "--force-recreate"];
        docker(&[&up, names].concat(), &variables).await?;
        try_join_all(instances.iter().map(|instance| self.ready(*instance))).await.map(drop)
    }

    async fn ready(&self, instance: Instance) -> Result<(), Trouble> {
        let what = format!("{instance} is ready");
        if instance.part == Part::Kafka {
            let brokers: Brokers = self.brokers().parse()?;
            return until(what, PATIENCE, "docker compose logs kafka", async || {
                Ok(Ok(messaging::health(&brokers, Duration::from_secs(2)).await?))
            })
            .await;
        }
        let url = format!("http://{}/health/ready", self.address(instance));
        until(what, PATIENCE, "docker compose ps, docker compose logs", async || {
            let answer = reqwest::get(&url).await;
            let answer =
                answer.map_err(|source| Trouble::NoAnswer { request: format!("GET {url}"), source })?;
            let status = answer.status().as_u16();
            Ok(if status == 200 { Ok(()) } else { Err(format!("status {status}")) })
        })
        .await
    }

    /// The program in the container, which is the child of its init. Where Docker runs in a machine of its own, there
    /// is no such process here, or another one has its number.
    async fn program(&self, instance: Instance) -> Result<Option<u32>, Trouble> {
        let name = instance.to_string();
        let container = compose(&["ps", "--quiet"], &[&name]).await?;
        let Some(container) = container.lines().next() else { return Ok(None) };
        let init = docker(&["inspect", "--format", "{{.State.Pid}}", container], &[]).await?;
        let init = init.trim();
        let children = fs::read_to_string(format!("/proc/{init}/task/{init}/children")).unwrap_or_default();
        let is_it =
            |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name);
        Ok(children.split_whitespace().filter_map(|pid| pid.parse().ok()).find(is_it))
    }
}

impl Surroundings for Compose {
    fn instances(&self) -> usize {
        1
    }

    fn has_crash_points(&self) -> bool {
        false
    }

    fn address(&self, instance: Instance) -> String {
        self.published(&instance.to_string())
    }

    /// In development a role's password is its name.
    fn database(&self, part: Part) -> String {
        let (server, name) = (self.published("postgres"), part.name());
        format!("postgres://{name}_owner:{name}_owner@{server}/{name}")
    }

    fn brokers(&self) -> String {
        self.published("kafka")
    }

    fn topic_prefix(&self) -> String {
        String::new()
    }

    fn process(&self, instance: Instance) -> Answer<'_, Option<u32>> {
        self.program(instance).boxed_local()
    }

    fn token<'a>(&'a self, tenant: &'a str) -> Answer<'a, String> {
        async move {
            let issue = ["exec", "-T", "identity", "devtool", "token", "--client", "demo", "--tenant"];
            Ok(compose(&issue, &[tenant]).await?.trim().to_owned())
        }
        .boxed_local()
    }

    fn webhook_secret(&self) -> String {
        WEBHOOK_SECRET.to_owned()
    }

    fn command<'a>(&'a self, of: Part, command: &'a [&'a str]) -> Answer<'a, Told> {
        async move {
            let exec = ["compose", "exec", "-T", of.name(), of.name()];
            tell(&[&exec, command].concat(), &[]).await
        }
        .boxed_local()
    }

    fn operate<'a>(&'a self, act: Act<'a>, on: &'a [Instance]) -> Answer<'a, ()> {
        self.act(act, on).boxed_local()
    }

    fn in_its_words(&self, text: &str) -> String {
        WORDS.iter().fold(text.to_owned(), |text, (ours, theirs)| text.replace(ours, theirs))
    }
}

/// `docker compose` in the folder that the demo runs in; what it prints.
async fn compose(arguments: &[&str], names: &[&str]) -> Result<String, Trouble> {
    docker(&[&["compose"], arguments, names].concat(), &[]).await
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = "orders=127.0.0.1:8081 payments=127.0.0.1:8082 inventory=127.0.0.1:8083 \
                       provider=127.0.0.1:8084 postgres=127.0.0.1:8111 kafka=127.0.0.1:8121";

    #[test]
    fn every_part_is_where_its_port_is_published() {
        let compose = Compose::read(ALL).unwrap();
        assert_eq!(compose.address(Part::Payments.instance(1)), "127.0.0.1:8082");
        assert_eq!(compose.brokers(), "127.0.0.1:8121");
        let database = "postgres://provider_owner:provider_owner@127.0.0.1:8111/provider";
        assert_eq!(compose.database(Part::Provider), database);
    }

    #[test]
    fn a_part_without_an_address_is_refused() {
        for missing in ["orders", "provider", "postgres", "kafka"] {
            assert!(Compose::read(&ALL.replace(missing, "other")).is_none(), "{missing}");
        }
        assert!(Compose::read("").is_none());
    }

    #[test]
    fn the_demo_signs_with_the_secret_that_the_containers_have() {
        let file = include_str!("../../../../docker-compose.yml");
        for variable in ["IDEM_WEBHOOK__SECRET", "IDEM_PROCESSOR__WEBHOOK_SECRETS"] {
            assert!(file.contains(&format!("{variable}: {WEBHOOK_SECRET}\n")), "{variable}");
        }
    }

    #[test]
    fn hints_name_commands_that_serve_here() {
        let compose = Compose::read(ALL).unwrap();
        let told = compose
            .in_its_words("look at ./dev logs orders, ./dev psql orders; ./dev run payments reconcile");
        let expected = "look at docker compose logs orders, docker compose exec postgres psql -U postgres orders; \
                        docker compose exec payments payments reconcile";
        assert_eq!(told, expected);
    }
}
