//! Who waits for a group, and how many groups are under way.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use database::{Database, Error};
use futures_util::FutureExt;
use tokio::time::Instant;

use super::GroupSettings;
use super::member::Member;
use super::unit::Unit;
use crate::Retention;

pub(super) struct Queue {
    database: Database,
    retention: Retention,
    settings: GroupSettings,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(Instant, Member)>,
    under_way: usize,
}

impl Queue {
    pub(super) fn new(database: Database, retention: Retention, settings: GroupSettings) -> Self {
        Self { database, retention, settings, state: Mutex::default() }
    }

    /// The last in the queue; it begins a group if there is room for one more.
    pub(super) fn join(self: &Arc<Self>, member: Member) -> Result<(), Error> {
        let mut state = self.state();
        if state.waiting.len() >= self.settings.waiting {
            return Err(Error::Unavailable(format!(
                "{} commands wait for a commit already",
                state.waiting.len()
            )));
        }
        state.waiting.push_back((Instant::now(), member));
        if state.under_way < self.settings.at_once {
            state.under_way += 1;
            drop(state);
            let place = Place { queue: Arc::clone(self), given_back: false };
            // A task of its own: a vanished client stops nothing.
            self.database.spawn(place.serve());
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to carry out one group after the other.
struct Place {
    queue: Arc<Queue>,
    given_back: bool,
}

impl Place {
    async fn serve(mut self) {
        while let Some(group) = self.next() {
            let Queue { database, retention, settings, .. } = &*self.queue;
            let unit = Unit { database, retention: *retention, wait: settings.wait };
            // Whoever is in it hears of a panic because nobody answers any more; the others must still be served.
            if AssertUnwindSafe(unit.carry_out(group)).catch_unwind().await.is_err() {
                tracing::error!("a group of commands ended in a panic; what it had not committed was undone");
            }
        }
    }

    /// Those who have waited longest; `None`, and the place is given back, if nobody waits.
    fn next(&mut self) -> Option<Vec<Member>> {
        let GroupSettings { size, wait, .. } = self.queue.settings;
        let mut state = self.queue.state();
        while let Some((_, late)) = state.waiting.pop_front_if(|(since, _)| since.elapsed() > wait) {
            late.tell(Err(Error::Unavailable("no commit came in time".to_owned())));
        }
        let number = state.waiting.len().min(size);
        let group: Vec<Member> = state.waiting.drain(..number).map(|(_, member)| member).collect();
        if group.is_empty() {
            // Under the lock that found nobody: whoever comes next sees the place free.
            state.under_way -= 1;
            drop(state);
            self.given_back = true;
            return None;
        }
        Some(group)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.given_back {
            self.queue.state().under_way -= 1;
        }
    }
}
