//! The parts that run, and what the demo has done to them: requests go where somebody answers, as a load balancer
//! would see to.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpStream;

use crate::part::{Instance, Part};
use crate::surroundings::{Act, Surroundings};
use crate::trouble::Trouble;
use crate::wait::until;

/// All parts.
pub(crate) struct Stack {
    pub(crate) around: Box<dyn Surroundings>,
    /// Whom the demo has stopped or paused.
    away: Mutex<BTreeSet<Instance>>,
    turn: AtomicUsize,
}

impl Stack {
    pub(crate) fn new(around: Box<dyn Surroundings>) -> Self {
        Self { around, away: Mutex::default(), turn: AtomicUsize::new(0) }
    }

    /// Whether there are two of each service, with relays apart.
    pub(crate) fn is_doubled(&self) -> bool {
        self.around.instances() > 1
    }

    /// Every process that serves or relays, service by service.
    pub(crate) fn processes(&self) -> Vec<Instance> {
        let of = |part| [self.instances(part), self.relays(part)].concat();
        Part::PROGRAMS.into_iter().flat_map(of).collect()
    }

    /// Those that serve for a part, the first one first.
    pub(crate) fn instances(&self, part: Part) -> Vec<Instance> {
        let number = if Part::SERVICES.contains(&part) { self.around.instances() } else { 1 };
        (1..=number).map(|number| part.instance(number)).collect()
    }

    /// The relays of a service that run apart.
    pub(crate) fn relays(&self, part: Part) -> Vec<Instance> {
        let apart = self.is_doubled() && Part::SERVICES.contains(&part);
        let number = if apart { self.around.instances() } else { 0 };
        (1..=number).map(|number| part.relay(number)).collect()
    }

    /// Those of a part that should answer, beginning with another one each time.
    pub(crate) fn in_turn(&self, part: Part) -> Vec<Instance> {
        let mut instances = self.instances(part);
        let away = self.away();
        // If nobody is left, the request shall fail as it would for any client.
        if instances.iter().any(|instance| !away.contains(instance)) {
            instances.retain(|instance| !away.contains(instance));
        }
        let first = self.turn.fetch_add(1, Ordering::Relaxed) % instances.len().max(1);
        instances.rotate_left(first);
        instances
    }

    /// Where a part answers, for people: this machine is not named.
    pub(crate) fn addresses(&self, part: Part) -> String {
        let addresses = self.instances(part).into_iter().map(|instance| self.around.address(instance));
        let short = addresses.map(|address| address.trim_start_matches("127.0.0.1").to_owned());
        short.collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn url(&self, instance: Instance, path: &str) -> String {
        format!("http://{}{path}", self.around.address(instance))
    }

    /// Starts what does not run of these parts, and returns once it is ready.
    pub(crate) async fn up(&self, parts: &[Part]) -> Result<(), Trouble> {
        self.start(&self.all_of(parts)).await
    }

    /// Stops all instances of these parts in good order; relays that run apart go on.
    pub(crate) async fn down(&self, parts: &[Part]) -> Result<(), Trouble> {
        self.stop(&self.all_of(parts)).await
    }

    /// Starts whatever does not run: so that a failed step does not fail the next.
    pub(crate) async fn up_all(&self) -> Result<(), Trouble> {
        self.around.operate(Act::Start, &[]).await?;
        self.away().clear();
        Ok(())
    }

    pub(crate) async fn start(&self, instances: &[Instance]) -> Result<(), Trouble> {
        self.around.operate(Act::Start, instances).await?;
        self.away().retain(|instance| !instances.contains(instance));
        Ok(())
    }

    pub(crate) async fn stop(&self, instances: &[Instance]) -> Result<(), Trouble> {
        self.away().extend(instances);
        self.around.operate(Act::Stop, instances).await
    }

    /// SIGKILL. Nobody is told: requests go on trying there, and find nobody.
    pub(crate) async fn kill(&self, instance: Instance) -> Result<(), Trouble> {
        self.around.operate(Act::Kill, &[instance]).await
    }

    /// SIGSTOP.
    pub(crate) async fn pause(&self, instances: &[Instance]) -> Result<(), Trouble> {
        self.away().extend(instances);
        self.around.operate(Act::Pause, instances).await
    }

    /// SIGCONT.
    pub(crate) async fn resume(&self, instances: &[Instance]) -> Result<(), Trouble> {
        self.around.operate(Act::Resume, instances).await?;
        self.away().retain(|instance| !instances.contains(instance));
        Ok(())
    }

    /// Restarts an instance that will end itself with SIGKILL when it reaches the crash point for the first time.
    pub(crate) async fn arm(&self, instance: Instance, point: &str) -> Result<(), Trouble> {
        self.stop(&[instance]).await?;
        self.around.operate(Act::StartArmed(point), &[instance]).await?;
        self.away().remove(&instance);
        Ok(())
    }

    /// Restarts an instance; the orders that it takes from then on live so many seconds, without a number as usual.
    pub(crate) async fn renew(&self, instance: Instance, order_life: Option<u32>) -> Result<(), Trouble> {
        self.away().insert(instance);
        self.around.operate(Act::Renew { order_life }, &[instance]).await?;
        self.away().remove(&instance);
        Ok(())
    }

    /// Waits until an instance that was armed has ended.
    pub(crate) async fn dead(&self, instance: Instance) -> Result<(), Trouble> {
        let look = "./dev status; only programs that ./dev has built have crash points";
        until(format!("{instance} is dead"), Duration::from_secs(15), look, async || {
            let listens = TcpStream::connect(self.around.address(instance)).await.is_ok();
            Ok(if listens { Err("it still listens".to_owned()) } else { Ok(()) })
        })
        .await
    }

    fn all_of(&self, parts: &[Part]) -> Vec<Instance> {
        parts.iter().flat_map(|part| self.instances(*part)).collect()
    }

    fn away(&self) -> MutexGuard<'_, BTreeSet<Instance>> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
