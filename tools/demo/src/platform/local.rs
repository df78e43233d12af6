//! The parts as `./dev` runs them: the demo breaks things with the same commands as a person at the terminal.

use std::env;
use std::fs;
use std::path::PathBuf;

use futures_util::FutureExt;
use harness::{CommandOutput, Context, Error, Instance, Part, Result, host_of};
use tokio::process::Command;

use super::{Action, Pending, Platform, life_setting, owner_url};

/// The script, and what it says about its stack.
pub(crate) struct Local {
    dev: PathBuf,
    /// Where the script writes the process ids.
    run: PathBuf,
    port_base: u16,
    instances: usize,
    /// A superuser's URL of PostgreSQL.
    postgres: String,
    brokers: String,
    /// `./dev demo --tls`.
    is_encrypted: bool,
    deployment: String,
    webhook_secret: String,
}

/// Settings of a process on top of its usual ones.
type Settings<'a> = &'a [(&'static str, String)];

impl Local {
    pub(crate) fn from_environment(instances: usize) -> Result<Self> {
        let given = |name: &'static str| env::var(name).map_err(|_| Error::Environment(name));
        let port_base = given("IDEM_PORT_BASE")?;
        Ok(Self {
            dev: given("IDEM_DEV")?.into(),
            run: PathBuf::from(given("IDEM_DEV_DIR")?).join("run"),
            port_base: port_base.parse().map_err(|_| Error::Environment("IDEM_PORT_BASE"))?,
            instances,
            postgres: given("IDEM_POSTGRES_URL")?,
            brokers: given("IDEM_KAFKA_BROKERS")?,
            is_encrypted: env::var("IDEM_TLS").is_ok_and(|tls| !tls.is_empty()),
            deployment: harness::deployment(),
            // During a rotation there are two secrets; the newest comes first.
            webhook_secret: given("IDEM_WEBHOOK__SECRET")?.split(',').next().unwrap_or_default().to_owned(),
        })
    }

    async fn run(&self, arguments: &[&str], settings: Settings<'_>) -> Result<CommandOutput> {
        let mut command = Command::new(&self.dev);
        command.args(arguments).env_remove("IDEM_CRASH");
        command.envs(settings.iter().map(|(name, value)| (name, value)));
        let output = command.output().await.context(format!("run ./dev {}", arguments.join(" ")))?;
        Ok(CommandOutput::from(output))
    }

    async fn dev(&self, command: &str, names: &[String], settings: Settings<'_>) -> Result<String> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let words = [&[command], names.as_slice()].concat();
        self.run(&words, settings).await?.expect_success(format!("./dev {}", words.join(" ")))
    }

    async fn act_on(&self, action: Action<'_>, on: &[Instance]) -> Result<()> {
        let names: Vec<String> = on.iter().map(Instance::to_string).collect();
        let signal = match action {
            Action::Start => return self.dev("up", &names, &[]).await.map(drop),
            Action::StartArmed(point) => {
                return self.dev("up", &names, &[("IDEM_CRASH", point.to_owned())]).await.map(drop);
            }
            Action::Restart { order_life } => {
                self.dev("down", &names, &[]).await?;
                let settings = life_setting("IDEM_SAGA__EXPIRY_SECONDS", order_life);
                return self.dev("up", &names, &settings).await.map(drop);
            }
            Action::Stop => return self.dev("down", &names, &[]).await.map(drop),
            Action::Kill => "kill",
            Action::Pause => "pause",
            Action::Resume => "resume",
        };
        for name in names {
            self.dev(signal, &[name], &[]).await?;
        }
        Ok(())
    }
}

impl Platform for Local {
    fn instances(&self) -> usize {
        self.instances
    }

    fn has_crash_points(&self) -> bool {
        true
    }

    fn address(&self, instance: Instance) -> String {
        format!("127.0.0.1:{}", instance.port(self.port_base))
    }

    fn admin(&self, instance: Instance) -> Option<String> {
        Some(format!("127.0.0.1:{}", instance.port(self.port_base) + 1000))
    }

    fn database(&self, part: Part) -> String {
        let url = owner_url(host_of(&self.postgres), part);
        match self.postgres.split_once('?') {
            Some((_, parameters)) => format!("{url}?{parameters}"),
            None => url,
        }
    }

    fn brokers(&self) -> String {
        self.brokers.clone()
    }

    fn deployment(&self) -> String {
        self.deployment.clone()
    }

    fn process(&self, instance: Instance) -> Pending<'_, Option<u32>> {
        let written = fs::read_to_string(self.run.join(format!("{instance}.pid"))).ok();
        let pid = written.and_then(|text| text.split_whitespace().next()?.parse().ok());
        async move { Ok(pid) }.boxed_local()
    }

    fn token<'a>(&'a self, tenant: &'a str) -> Pending<'a, String> {
        async move {
            let words = ["--tenant", tenant, "--client", "demo"].map(str::to_owned);
            Ok(self.dev("token", &words, &[]).await?.trim().to_owned())
        }
        .boxed_local()
    }

    fn webhook_secret(&self) -> String {
        self.webhook_secret.clone()
    }

    fn command<'a>(&'a self, of: Part, command: &'a [&'a str]) -> Pending<'a, CommandOutput> {
        async move { self.run(&[&["run", of.name()], command].concat(), &[]).await }.boxed_local()
    }

    /// Data of the brokers belong to one of the two ways to reach them.
    fn translate_hint(&self, text: &str) -> String {
        if self.is_encrypted { text.replace("./dev up", "./dev up --tls") } else { text.to_owned() }
    }

    fn act<'a>(&'a self, action: Action<'a>, on: &'a [Instance]) -> Pending<'a, ()> {
        self.act_on(action, on).boxed_local()
    }
}
