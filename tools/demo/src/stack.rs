//! The parts that run, and ./dev to stop, start and kill them: the demo breaks things as anybody at the terminal would.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::process::Command;

use crate::trouble::Trouble;
use crate::wait::until;

/// A part, by the name that ./dev has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Kafka,
    Provider,
    Inventory,
    Payments,
    Orders,
}

impl Part {
    /// Those with an outbox and an inbox.
    pub(crate) const SERVICES: [Self; 3] = [Self::Orders, Self::Inventory, Self::Payments];
    /// Those that answer over HTTP, each with a database of its name.
    pub(crate) const PROGRAMS: [Self; 4] = [Self::Orders, Self::Payments, Self::Inventory, Self::Provider];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Kafka => "kafka",
            Self::Provider => "provider",
            Self::Inventory => "inventory",
            Self::Payments => "payments",
            Self::Orders => "orders",
        }
    }

    /// Its port, counted from `IDEM_PORT_BASE`.
    const fn offset(self) -> u16 {
        match self {
            Self::Orders => 1,
            Self::Payments => 2,
            Self::Inventory => 3,
            Self::Provider => 4,
            Self::Kafka => 41,
        }
    }
}

/// The script, and where the parts listen.
pub(crate) struct Stack {
    dev: PathBuf,
    port_base: u16,
}

impl Stack {
    pub(crate) fn from_environment() -> Result<Self, Trouble> {
        let dev = env::var_os("IDEM_DEV").ok_or(Trouble::Environment("IDEM_DEV"))?.into();
        let port_base = env::var("IDEM_PORT_BASE").ok().and_then(|text| text.parse().ok());
        Ok(Self { dev, port_base: port_base.ok_or(Trouble::Environment("IDEM_PORT_BASE"))? })
    }

    pub(crate) fn port(&self, part: Part) -> u16 {
        self.port_base + part.offset()
    }

    pub(crate) fn url(&self, part: Part, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port(part))
    }

    /// Starts what does not run, and returns once it is ready.
    pub(crate) async fn up(&self, parts: &[Part]) -> Result<(), Trouble> {
        self.dev("up", parts, None).await
    }

    /// Starts whatever does not run: so that a failed step does not fail the next.
    pub(crate) async fn up_all(&self) -> Result<(), Trouble> {
        self.dev("up", &[], None).await
    }

    /// Stops in good order.
    pub(crate) async fn down(&self, parts: &[Part]) -> Result<(), Trouble> {
        self.dev("down", parts, None).await
    }

    /// Restarts a service that will end itself with SIGKILL when it reaches the crash point for the first time.
    pub(crate) async fn arm(&self, part: Part, point: &str) -> Result<(), Trouble> {
        self.down(&[part]).await?;
        self.dev("up", &[part], Some(point)).await
    }

    /// Whether anybody listens on its port.
    pub(crate) async fn listens(&self, part: Part) -> bool {
        TcpStream::connect(("127.0.0.1", self.port(part))).await.is_ok()
    }

    /// Waits until a part that was armed has ended.
    pub(crate) async fn dead(&self, part: Part) -> Result<(), Trouble> {
        let what = format!("{} is dead", part.name());
        let look = "./dev status; only programs that ./dev has built have crash points";
        until(what, Duration::from_secs(15), look, async || {
            Ok(if self.listens(part).await { Err("it still listens".to_owned()) } else { Ok(()) })
        })
        .await
    }

    /// A bearer token for everything of this tenant.
    pub(crate) async fn token(&self, tenant: &str) -> Result<String, Trouble> {
        let token = self.run(&["token", "--tenant", tenant, "--client", "demo"], None).await?;
        Ok(token.trim().to_owned())
    }

    async fn dev(&self, command: &str, parts: &[Part], crash: Option<&str>) -> Result<(), Trouble> {
        let names = parts.iter().map(|part| part.name());
        let arguments: Vec<&str> = std::iter::once(command).chain(names).collect();
        self.run(&arguments, crash).await.map(drop)
    }

    async fn run(&self, arguments: &[&str], crash: Option<&str>) -> Result<String, Trouble> {
        let failed = |output: String| Trouble::Dev { command: arguments.join(" "), output };
        let mut command = Command::new(&self.dev);
        command.args(arguments).env_remove("IDEM_CRASH").envs(crash.map(|point| ("IDEM_CRASH", point)));
        let output = command.output().await.map_err(|error| failed(error.to_string()))?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()))
        }
    }
}
