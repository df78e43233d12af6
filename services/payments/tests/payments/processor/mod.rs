//! A scripted processor with its own objects. It treats each request as the test has scripted, in order of arrival.

mod objects;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use payments::processor::{BreakerSettings, ClientSettings};
use reqwest::Url;
use serde_json::Value;
use testkit::eventually;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::http::{Received, respond};
use objects::ProcessorState;

pub(crate) const SECRET: &str = "sk_test_canary";

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is carried out and answered.
    Answered,
    /// It is carried out; the answer is lost.
    Lost,
    /// Nothing happens until [`Processor::release`] or [`Processor::release_one`] comes to it; then this.
    Held(Box<Fate>),
    /// It is not carried out; this is the answer.
    Refused(u16, Value),
    /// It is carried out; this is the answer.
    Misreported(Value),
    /// It fails, and the key answers so for ever; whether it is carried out.
    FailedForEver { acted: bool },
    /// A list that does not show yet what is there; anything else is answered.
    ListLags,
}

/// Held, then carried out and answered.
pub(crate) fn held() -> Fate {
    Fate::Held(Box::new(Fate::Answered))
}

/// Answers until it is dropped.
pub(crate) struct Processor {
    address: String,
    state: Arc<Mutex<ProcessorState>>,
    released: watch::Sender<usize>,
    _serving: JoinSet<()>,
}

impl Processor {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::<Mutex<ProcessorState>>::default();
        let released = watch::Sender::new(0);
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, Arc::clone(&state), released.subscribe()));
        Self { address, state, released, _serving: serving }
    }

    /// The service's client of it.
    pub(crate) fn client(&self) -> payments::processor::Processor {
        client_of(&self.address)
    }

    /// One with these settings.
    pub(crate) fn client_with(&self, client_settings: &ClientSettings) -> payments::processor::Processor {
        client_with(&self.address, client_settings)
    }

    /// What becomes of the next requests; those after them are answered.
    pub(crate) fn order(&self, fates: impl IntoIterator<Item = Fate>) {
        self.state().fates.extend(fates);
    }

    /// Goes on with everything that was held, and holds nothing any more.
    pub(crate) fn release(&self) {
        self.released.send_replace(usize::MAX);
    }

    /// Goes on with the one that was held first.
    pub(crate) fn release_one(&self) {
        self.released.send_modify(|released| *released += 1);
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.state().received.clone()
    }

    /// Waits until so many requests have arrived.
    pub(crate) async fn has_received(&self, number: usize) -> Vec<Received> {
        eventually("requests to the processor", async || {
            let received = self.received();
            (received.len() >= number).then_some(received)
        })
        .await
    }

    /// Those that ask for something to be done.
    pub(crate) fn posted(&self) -> Vec<Received> {
        self.received().into_iter().filter(|request| request.method == "POST").collect()
    }

    /// Those that only look.
    pub(crate) fn looked_up(&self) -> Vec<Received> {
        self.received().into_iter().filter(|request| request.method == "GET").collect()
    }

    /// Waits until so many requests have looked.
    pub(crate) async fn has_been_looked_at(&self, number: usize) {
        eventually("look-ups at the processor", async || (self.looked_up().len() >= number).then_some(()))
            .await;
    }

    /// Changes its books: all objects of this kind (`payment_intent`, `refund`) get this member.
    pub(crate) fn amend(&self, kind: &str, member: &str, value: &Value) {
        self.state().amend(kind, member, value);
    }

    /// From now on refunds have this status as they are made, and payment intents tell their fee at once or not.
    pub(crate) fn behaves(&self, refunds_are: &'static str, tells_fee: bool) {
        let mut state = self.state();
        (state.refunds_are, state.tells_fee) = (refunds_are, tells_fee);
    }

    /// Puts somebody else's object in its books, before all others.
    pub(crate) fn insert(&self, object: Value) {
        self.state().insert(object);
    }

    /// Gives so many objects in one page of a list at most.
    pub(crate) fn pages_of(&self, size: usize) {
        self.state().page = size;
    }

    /// What was taken, charge by charge.
    pub(crate) fn charges(&self) -> Vec<i64> {
        self.state().charges.clone()
    }

    /// What was given back, refund by refund.
    pub(crate) fn refunds(&self) -> Vec<i64> {
        self.state().refunds.clone()
    }

    fn state(&self) -> MutexGuard<'_, ProcessorState> {
        self.state.lock().unwrap()
    }
}

/// Settings under which nothing is given up early.
pub(crate) fn client_settings() -> ClientSettings {
    ClientSettings {
        version: "2025-03-31.basil".to_owned(),
        connect: Duration::from_secs(2),
        request: Duration::from_secs(20),
        total: Duration::from_secs(40),
        concurrency: 64,
        breaker: BreakerSettings { failures: 1000, pause: Duration::from_millis(1) },
    }
}

/// A client of whoever listens there.
pub(crate) fn client_of(address: &str) -> payments::processor::Processor {
    client_with(address, &client_settings())
}

fn client_with(address: &str, client_settings: &ClientSettings) -> payments::processor::Processor {
    let base: Url = format!("http://{address}").parse().unwrap();
    payments::processor::Processor::new(base, &SECRET.into(), client_settings).unwrap()
}

async fn serve(listener: TcpListener, state: Arc<Mutex<ProcessorState>>, released: watch::Receiver<usize>) {
    let mut connections = JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        connections.spawn(meet(socket, Arc::clone(&state), released.clone()));
    }
}

async fn meet(
    mut socket: TcpStream,
    state: Arc<Mutex<ProcessorState>>,
    mut released: watch::Receiver<usize>,
) {
    let Some(request) = Received::read(&mut socket).await else { return };
    let (mut fate, place) = arrive(&mut state.lock().unwrap(), &request);
    if let Fate::Held(then) = fate {
        released.wait_for(|released| *released >= place).await.unwrap();
        fate = *then;
    }
    let (status, body, replayed) = match fate {
        Fate::Refused(status, body) => (status, body, false),
        Fate::Answered => state.lock().unwrap().carry_out(&request),
        Fate::Misreported(body) => {
            state.lock().unwrap().carry_out(&request);
            (200, body, false)
        }
        Fate::FailedForEver { acted } => state.lock().unwrap().fail_for_ever(&request, acted),
        Fate::ListLags => state.lock().unwrap().lag(&request),
        Fate::Lost | Fate::Held(_) => {
            state.lock().unwrap().carry_out(&request);
            return;
        }
    };
    let headers = if replayed { "Idempotent-Replayed: true\r\n" } else { "" };
    respond(&mut socket, status, headers, &body.to_string()).await;
}

/// What becomes of the request, and its place among those that are held, from 1.
fn arrive(state: &mut ProcessorState, request: &Received) -> (Fate, usize) {
    state.received.push(request.clone());
    let fate = state.fates.pop_front().unwrap_or(Fate::Answered);
    state.held += usize::from(matches!(fate, Fate::Held(_)));
    (fate, state.held)
}
