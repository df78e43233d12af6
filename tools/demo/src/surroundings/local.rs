//! The parts as `./dev` runs them: the demo breaks things as anybody at the terminal would.

use std::env;
use std::fs;
use std::path::PathBuf;

use futures_util::FutureExt;
use tokio::process::Command;

use super::{Act, Answer, Surroundings, Told};
use crate::part::{Instance, Part};
use crate::trouble::Trouble;

/// The script, and what it says about its stack.
pub(crate) struct Local {
    dev: PathBuf,
    /// Where the script notes the number of each process.
    run: PathBuf,
    port_base: u16,
    instances: usize,
    /// `host:port` of PostgreSQL.
    postgres: String,
    brokers: String,
    topic_prefix: String,
    webhook_secret: String,
}

/// What a process is told beside its usual settings.
type Settings<'a> = &'a [(&'a str, &'a str)];

impl Local {
    pub(crate) fn from_environment(instances: usize) -> Result<Self, Trouble> {
        let given = |name: &'static str| env::var(name).map_err(|_| Trouble::Environment(name));
        let port_base = given("IDEM_PORT_BASE")?;
        Ok(Self {
            dev: given("IDEM_DEV")?.into(),
            run: PathBuf::from(given("IDEM_DEV_DIR")?).join("run"),
            port_base: port_base.parse().map_err(|_| Trouble::Environment("IDEM_PORT_BASE"))?,
            instances,
            postgres: host_of(&given("IDEM_POSTGRES_URL")?).to_owned(),
            brokers: given("IDEM_KAFKA_BROKERS")?,
            topic_prefix: env::var("IDEM_KAFKA__TOPIC_PREFIX").unwrap_or_default(),
            // While it changes there are two; the newest comes first.
            webhook_secret: given("IDEM_WEBHOOK__SECRET")?.split(',').next().unwrap_or_default().to_owned(),
        })
    }

    async fn run(&self, arguments: &[&str], settings: Settings<'_>) -> Result<String, Trouble> {
        let told = self.tell(arguments, settings).await?;
        if told.done { Ok(told.text) } else { Err(failed(arguments, told.text)) }
    }

    async fn tell(&self, arguments: &[&str], settings: Settings<'_>) -> Result<Told, Trouble> {
        let mut command = Command::new(&self.dev);
        command.args(arguments).env_remove("IDEM_CRASH").envs(settings.iter().copied());
        let output = command.output().await.map_err(|error| failed(arguments, error.to_string()))?;
        Ok(Told::of(&output))
    }

    async fn act(&self, act: Act<'_>, on: &[Instance]) -> Result<(), Trouble> {
        let names: Vec<String> = on.iter().map(Instance::to_string).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        match act {
            Act::Start => self.script("up", &names, &[]).await,
            Act::StartArmed(point) => self.script("up", &names, &[("IDEM_CRASH", point)]).await,
            Act::Renew { order_life } => {
                let life = order_life.map(|seconds| seconds.to_string());
                let settings: Vec<_> =
                    life.iter().map(|life| ("IDEM_SAGA__EXPIRY_SECONDS", life.as_str())).collect();
                self.script("down", &names, &[]).await?;
                self.script("up", &names, &settings).await
            }
            Act::Stop => self.script("down", &names, &[]).await,
            Act::Kill => self.each("kill", &names).await,
            Act::Pause => self.each("pause", &names).await,
            Act::Resume => self.each("resume", &names).await,
        }
    }

    async fn script(&self, command: &str, names: &[&str], settings: Settings<'_>) -> Result<(), Trouble> {
        self.run(&[&[command], names].concat(), settings).await.map(drop)
    }

    async fn each(&self, command: &str, names: &[&str]) -> Result<(), Trouble> {
        for name in names {
            self.run(&[command, name], &[]).await?;
        }
        Ok(())
    }
}

impl Surroundings for Local {
    fn instances(&self) -> usize {
        self.instances
    }

    fn has_crash_points(&self) -> bool {
        true
    }

    /// Ports are counted from the base; those of second instances ten higher.
    fn address(&self, instance: Instance) -> String {
        let offset = match instance.part {
            Part::Orders => 1,
            Part::Payments => 2,
            Part::Inventory => 3,
            Part::Provider => 4,
            Part::Kafka => 41,
        };
        let second = if instance.number > 1 { 10 } else { 0 };
        format!("127.0.0.1:{}", self.port_base + offset + second)
    }

    /// In development a role's password is its name.
    fn database(&self, part: Part) -> String {
        let (server, name) = (&self.postgres, part.name());
        format!("postgres://{name}_owner:{name}_owner@{server}/{name}")
    }

    fn brokers(&self) -> String {
        self.brokers.clone()
    }

    fn topic_prefix(&self) -> String {
        self.topic_prefix.clone()
    }

    fn process(&self, instance: Instance) -> Answer<'_, Option<u32>> {
        let noted = fs::read_to_string(self.run.join(format!("{instance}.pid"))).ok();
        let number = noted.and_then(|text| text.split_whitespace().next()?.parse().ok());
        async move { Ok(number) }.boxed_local()
    }

    fn token<'a>(&'a self, tenant: &'a str) -> Answer<'a, String> {
        async move {
            let token = self.run(&["token", "--tenant", tenant, "--client", "demo"], &[]).await?;
            Ok(token.trim().to_owned())
        }
        .boxed_local()
    }

    fn webhook_secret(&self) -> String {
        self.webhook_secret.clone()
    }

    fn command<'a>(&'a self, of: Part, command: &'a [&'a str]) -> Answer<'a, Told> {
        async move { self.tell(&[&["run", of.name()], command].concat(), &[]).await }.boxed_local()
    }

    fn operate<'a>(&'a self, act: Act<'a>, on: &'a [Instance]) -> Answer<'a, ()> {
        self.act(act, on).boxed_local()
    }
}

fn failed(arguments: &[&str], output: String) -> Trouble {
    Trouble::Outside { command: format!("./dev {}", arguments.join(" ")), output }
}

/// `host:port` of a URL.
fn host_of(url: &str) -> &str {
    let address = url.split_once("://").map_or(url, |(_, rest)| rest);
    let address = address.rsplit_once('@').map_or(address, |(_, host)| host);
    address.split(['/', '?']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_instance_has_a_port_of_its_own_ten_higher() {
        let (empty, run) = (String::new, PathBuf::new);
        let local = Local {
            dev: run(),
            run: run(),
            port_base: 8080,
            instances: 2,
            postgres: empty(),
            brokers: empty(),
            topic_prefix: empty(),
            webhook_secret: empty(),
        };
        let addresses = [1, 2].map(|number| local.address(Part::Payments.instance(number)));
        assert_eq!(addresses, ["127.0.0.1:8082", "127.0.0.1:8092"]);
    }

    #[test]
    fn the_host_of_a_url_is_without_role_and_database() {
        for url in ["postgres://a:b@c:1/d?e=f", "postgres://c:1/d", "c:1"] {
            assert_eq!(host_of(url), "c:1", "{url}");
        }
    }
}
