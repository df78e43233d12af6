//! The platform that runs the parts: `./dev` or docker compose. The rest of the demo does not know which.

mod compose;
mod local;

use futures_util::future::LocalBoxFuture;
use harness::{CommandOutput, Instance, Part, Result};

pub(crate) use compose::Compose;
pub(crate) use local::Local;

/// The future of a platform's method.
pub(crate) type Pending<'a, T> = LocalBoxFuture<'a, Result<T>>;

/// The actions on processes. Starting a running process and stopping a stopped one is no error.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Action<'a> {
    /// Starts the process, or resumes a paused one; done when it is ready.
    Start,
    /// Starts the process with a crash point, given as `name:hit`, at which it kills itself.
    StartArmed(&'a str),
    /// Stops and starts the process. Orders that it accepts live so many seconds, or the usual time.
    Restart { order_life: Option<u32> },
    /// SIGTERM; done when the process has ended.
    Stop,
    /// SIGKILL.
    Kill,
    /// SIGSTOP: connections stay open, and nothing answers.
    Pause,
}

/// Runs the parts.
pub(crate) trait Platform {
    /// Returns how many instances of each service there are. With two, relays are processes of their own.
    fn instances(&self) -> usize;
    /// Returns whether the programs have crash points, so that `Action::StartArmed` works.
    fn has_crash_points(&self) -> bool;
    /// `host:port` of a process.
    fn address(&self, instance: Instance) -> String;
    /// `host:port` of the admin listener of a process; `None` where it cannot be reached from here.
    fn admin(&self, instance: Instance) -> Option<String> {
        let _ = instance;
        None
    }
    /// URL of a part's database, as its owner, who may read all of it.
    fn database(&self, part: Part) -> String;
    /// Bootstrap servers.
    fn brokers(&self) -> String;
    /// The name of the deployment, with which topics and groups begin.
    fn deployment(&self) -> String;
    /// The process id in this machine's `/proc`; `None` where the process is not visible.
    fn process(&self, instance: Instance) -> Pending<'_, Option<u32>>;
    /// A bearer token with all scopes of this tenant.
    fn token<'a>(&'a self, tenant: &'a str) -> Pending<'a, String>;
    /// Runs an operator's command of a service, such as `audit`. A failed command is no error.
    #[allow(dead_code, reason = "for the steps of the services: a project without one of them may use less")]
    fn command<'a>(&'a self, of: Part, command: &'a [&'a str]) -> Pending<'a, CommandOutput>;
    /// Does it to all of these processes. To start an empty list is to start every process that does not run.
    fn act<'a>(&'a self, action: Action<'a>, on: &'a [Instance]) -> Pending<'a, ()>;
    /// Replaces commands of `./dev` in a hint by the commands of this platform.
    fn translate_hint(&self, text: &str) -> String {
        text.to_owned()
    }
}

/// In development the password of a role is its name.
fn owner_url(server: &str, part: Part) -> String {
    let name = part.name();
    format!("postgres://{name}_owner:{name}_owner@{server}/{name}")
}

/// The setting for the life of orders, under the name that the platform uses.
fn life_setting(name: &'static str, order_life: Option<u32>) -> Vec<(&'static str, String)> {
    order_life.map(|seconds| (name, seconds.to_string())).into_iter().collect()
}
