//! What the demo needs of whoever runs the parts: where they are, and to have them started, stopped, killed and frozen.
//! Nothing else in the demo knows whether that is `./dev` or somebody else.

mod compose;
mod docker;
mod local;

use std::process::Output;

use futures_util::future::LocalBoxFuture;

use crate::part::{Instance, Part};
use crate::trouble::Trouble;

pub(crate) use compose::Compose;
pub(crate) use local::Local;

/// What comes of asking the surroundings.
pub(crate) type Answer<'a, T> = LocalBoxFuture<'a, Result<T, Trouble>>;

/// What can be done to a process. To start what runs and to stop what does not is no error.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Act<'a> {
    /// Starts it, or resumes what is paused; done when it is ready.
    Start,
    /// As `Start`, but it ends itself with SIGKILL at a crash point, given as `name:hit`.
    StartArmed(&'a str),
    /// SIGTERM, and `Start` after it. The orders that it takes from then on live so many seconds; as long as usual
    /// without a number.
    Renew { order_life: Option<u32> },
    /// SIGTERM; done when it has ended in good order.
    Stop,
    /// SIGKILL.
    Kill,
    /// SIGSTOP: its connections stay open, and nobody answers.
    Pause,
    /// SIGCONT.
    Resume,
}

/// What a command has said.
#[derive(Debug)]
pub(crate) struct Told {
    /// Whether its exit code was 0.
    pub(crate) done: bool,
    /// What it has printed; of one that failed, its complaints too.
    pub(crate) text: String,
}

impl Told {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (done, said) = (output.status.success(), text(&output.stdout));
        Self { done, text: if done { said } else { said + &text(&output.stderr) } }
    }
}

/// Whoever runs the parts.
pub(crate) trait Surroundings {
    /// How many instances of each service there are. With more than one, relays are processes of their own.
    fn instances(&self) -> usize;
    /// Whether programs have crash points, so that `Act::StartArmed` works.
    fn has_crash_points(&self) -> bool;
    /// `host:port` where a process answers HTTP.
    fn address(&self, instance: Instance) -> String;
    /// URL of a part's database, as its owner, who may read all of it.
    fn database(&self, part: Part) -> String;
    /// Bootstrap servers.
    fn brokers(&self) -> String;
    /// What the names of topics and groups begin with.
    fn topic_prefix(&self) -> String;
    /// The process by its number in this machine's `/proc`; `None` where that cannot be told.
    fn process(&self, instance: Instance) -> Answer<'_, Option<u32>>;
    /// A bearer token for everything of this tenant.
    fn token<'a>(&'a self, tenant: &'a str) -> Answer<'a, String>;
    /// What the processor signs its events with.
    fn webhook_secret(&self) -> String;
    /// An operators' command of a service, such as `ledger verify`. One that fails is no trouble.
    fn command<'a>(&'a self, of: Part, command: &'a [&'a str]) -> Answer<'a, Told>;
    /// Does it to all of these. To start an empty list is to start whatever does not run.
    fn operate<'a>(&'a self, act: Act<'a>, on: &'a [Instance]) -> Answer<'a, ()>;
    /// A text for people whose hints name commands of `./dev`, with the commands that serve here.
    fn in_its_words(&self, text: &str) -> String {
        text.to_owned()
    }
}
