//! The parts as `./dev` runs them: the demo breaks things with the same commands as a person at the terminal.

use std::env;
use std::fs;
use std::iter::once;
use std::path::PathBuf;

use futures_util::FutureExt;
use harness::{CommandOutput, Dev, Instance, Part, Result, host_of, variable};

use super::{Action, Pending, Platform, life_setting, owner_url};

/// The script, and what it says about its stack.
pub(crate) struct Local {
    dev: Dev,
    /// Where the script writes the process ids.
    run: PathBuf,
    instances: usize,
    /// A superuser's URL of PostgreSQL.
    postgres: String,
    brokers: String,
    /// `./dev demo --tls`.
    is_encrypted: bool,
}

/// Settings of a process on top of its usual ones.
type Settings<'a> = &'a [(&'static str, String)];

impl Local {
    pub(crate) fn from_environment(instances: usize) -> Result<Self> {
        Ok(Self {
            dev: Dev::from_environment()?,
            run: PathBuf::from(variable("IDEM_DEV_DIR")?).join("run"),
            instances,
            postgres: variable("IDEM_POSTGRES_URL")?,
            brokers: variable("IDEM_KAFKA_BROKERS")?,
            is_encrypted: env::var("IDEM_TLS").is_ok_and(|tls| !tls.is_empty()),
        })
    }

    async fn act_on(&self, action: Action<'_>, on: &[Instance]) -> Result<()> {
        let names: Vec<String> = on.iter().map(Instance::to_string).collect();
        let run = async |command, settings: Settings<'_>| {
            let words: Vec<&str> = once(command).chain(names.iter().map(String::as_str)).collect();
            self.dev.run_with(&words, settings).await.map(drop)
        };
        let signal = match action {
            Action::Start => return run("up", &[]).await,
            Action::StartArmed(point) => return run("up", &[("IDEM_CRASH", point.to_owned())]).await,
            Action::Restart { order_life } => {
                run("down", &[]).await?;
                return run("up", &life_setting("IDEM_SAGA__EXPIRY_SECONDS", order_life)).await;
            }
            Action::Stop => return run("down", &[]).await,
            Action::Kill => "kill",
            Action::Pause => "pause",
        };
        for name in &names {
            self.dev.run(&[signal, name]).await?;
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
        self.dev.address(instance)
    }

    fn admin(&self, instance: Instance) -> Option<String> {
        Some(self.dev.admin(instance))
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
        harness::deployment()
    }

    fn process(&self, instance: Instance) -> Pending<'_, Option<u32>> {
        let written = fs::read_to_string(self.run.join(format!("{instance}.pid"))).ok();
        let pid = written.and_then(|text| text.split_whitespace().next()?.parse().ok());
        async move { Ok(pid) }.boxed_local()
    }

    fn token<'a>(&'a self, tenant: &'a str) -> Pending<'a, String> {
        async move {
            let words = ["token", "--tenant", tenant, "--client", "demo"];
            Ok(self.dev.run(&words).await?.trim().to_owned())
        }
        .boxed_local()
    }

    fn command<'a>(&'a self, of: Part, command: &'a [&'a str]) -> Pending<'a, CommandOutput> {
        async move { self.dev.output(&[&["run", of.name()], command].concat()).await }.boxed_local()
    }

    /// Data of the brokers belong to one of the two ways to reach them.
    fn translate_hint(&self, text: &str) -> String {
        if self.is_encrypted { text.replace("./dev up", "./dev up --tls") } else { text.to_owned() }
    }

    fn act<'a>(&'a self, action: Action<'a>, on: &'a [Instance]) -> Pending<'a, ()> {
        self.act_on(action, on).boxed_local()
    }
}
