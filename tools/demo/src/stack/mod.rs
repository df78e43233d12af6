//! The running processes, and what the demo has done to them: requests go to processes that can answer, as a load balancer
//! would send them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use harness::{Instance, Part, Result, until};
use tokio::net::TcpStream;

use crate::platform::{Action, Platform};

/// All processes.
pub(crate) struct Stack {
    pub(crate) platform: Box<dyn Platform>,
    /// Processes that the demo has stopped or paused.
    unavailable: Mutex<BTreeSet<Instance>>,
    turn: AtomicUsize,
}

impl Stack {
    pub(crate) fn new(platform: Box<dyn Platform>) -> Self {
        Self { platform, unavailable: Mutex::default(), turn: AtomicUsize::new(0) }
    }

    /// Returns whether there are two of each service, with relays apart.
    pub(crate) fn is_doubled(&self) -> bool {
        self.platform.instances() > 1
    }

    /// Every process that serves or relays, part by part.
    pub(crate) fn processes(&self) -> Vec<Instance> {
        let of = |part| [self.instances(part), self.relays(part)].concat();
        Part::PROGRAMS.into_iter().flat_map(of).collect()
    }

    /// The processes of a part that serve.
    pub(crate) fn instances(&self, part: Part) -> Vec<Instance> {
        let number = if Part::SERVICES.contains(&part) { self.platform.instances() } else { 1 };
        (1..=number).map(|number| part.instance(number)).collect()
    }

    /// The relays of a service that are processes of their own.
    pub(crate) fn relays(&self, part: Part) -> Vec<Instance> {
        let separate = self.is_doubled() && Part::SERVICES.contains(&part);
        let number = if separate { self.platform.instances() } else { 0 };
        (1..=number).map(|number| part.relay(number)).collect()
    }

    /// The processes of a part that should answer; each call begins with the next one.
    pub(crate) fn in_turn(&self, part: Part) -> Vec<Instance> {
        let mut instances = self.instances(part);
        let unavailable = self.unavailable();
        // With none left, the request fails as it would for any client.
        if instances.iter().any(|instance| !unavailable.contains(instance)) {
            instances.retain(|instance| !unavailable.contains(instance));
        }
        let first = self.turn.fetch_add(1, Ordering::Relaxed) % instances.len().max(1);
        instances.rotate_left(first);
        instances
    }

    /// The addresses of a part, without the name of this machine.
    pub(crate) fn addresses(&self, part: Part) -> String {
        let addresses = self.instances(part).into_iter().map(|instance| self.platform.address(instance));
        let short = addresses.map(|address| address.trim_start_matches("127.0.0.1").to_owned());
        short.collect::<Vec<_>>().join(" ")
    }

    /// Starts the processes of these parts that do not run; returns when they are ready.
    pub(crate) async fn up(&self, parts: &[Part]) -> Result<()> {
        self.start(&self.all_of(parts)).await
    }

    /// Stops the processes of these parts that serve. Separate relays continue.
    pub(crate) async fn down(&self, parts: &[Part]) -> Result<()> {
        self.stop(&self.all_of(parts)).await
    }

    /// Starts every process that does not run, so that a failed step does not fail the next one.
    pub(crate) async fn up_all(&self) -> Result<()> {
        self.platform.act(Action::Start, &[]).await?;
        self.unavailable().clear();
        Ok(())
    }

    /// Starts processes, or resumes paused ones; returns when they are ready.
    pub(crate) async fn start(&self, instances: &[Instance]) -> Result<()> {
        self.platform.act(Action::Start, instances).await?;
        self.unavailable().retain(|instance| !instances.contains(instance));
        Ok(())
    }

    pub(crate) async fn stop(&self, instances: &[Instance]) -> Result<()> {
        self.unavailable().extend(instances);
        self.platform.act(Action::Stop, instances).await
    }

    /// SIGKILL. Requests still try the process, because clients do not know of the kill.
    pub(crate) async fn kill(&self, instance: Instance) -> Result<()> {
        self.platform.act(Action::Kill, &[instance]).await
    }

    /// SIGSTOP.
    pub(crate) async fn pause(&self, instances: &[Instance]) -> Result<()> {
        self.unavailable().extend(instances);
        self.platform.act(Action::Pause, instances).await
    }

    /// Restarts a process with a crash point.
    pub(crate) async fn arm(&self, instance: Instance, point: &str) -> Result<()> {
        self.stop(&[instance]).await?;
        self.platform.act(Action::StartArmed(point), &[instance]).await?;
        self.unavailable().remove(&instance);
        Ok(())
    }

    /// Restarts a process. Orders that it accepts live so many seconds, or the usual time.
    #[allow(dead_code, reason = "for the steps of the services: a project without one of them may use less")]
    pub(crate) async fn restart(&self, instance: Instance, order_life: Option<u32>) -> Result<()> {
        self.unavailable().insert(instance);
        self.platform.act(Action::Restart { order_life }, &[instance]).await?;
        self.unavailable().remove(&instance);
        Ok(())
    }

    /// Waits until a process with a crash point has ended.
    pub(crate) async fn dead(&self, instance: Instance) -> Result<()> {
        let hint = "./dev status; only programs that ./dev has built have crash points";
        until(format!("{instance} is dead"), Duration::from_secs(15), hint, async || {
            let listens = TcpStream::connect(self.platform.address(instance)).await.is_ok();
            Ok(if listens { Err("it still listens".to_owned()) } else { Ok(()) })
        })
        .await
    }

    fn all_of(&self, parts: &[Part]) -> Vec<Instance> {
        parts.iter().flat_map(|part| self.instances(*part)).collect()
    }

    fn unavailable(&self) -> MutexGuard<'_, BTreeSet<Instance>> {
        self.unavailable.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
