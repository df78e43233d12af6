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

/// The treatment of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The request is executed and answered.
    Answered,
    /// The request is executed, and its response is lost.
    Lost,
    /// The request is held until [`Processor::release`] or [`Processor::release_one`]. Then it is treated like this.
    Held(Box<Fate>),
    /// The request is not executed. This is the response.
    Refused(u16, Value),
    /// The request is executed. This is the response.
    Misreported(Value),
    /// The request fails, and its key repeats the failure. `acted`: the request is executed.
    FailedForEver { acted: bool },
    /// A list without the newest objects. Other requests are answered.
    ListLags,
}

/// A request that is held, then executed and answered.
pub(crate) fn held() -> Fate {
    Fate::Held(Box::new(Fate::Answered))
}

/// A processor that serves until it is dropped.
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

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the service's client of this processor.
    pub(crate) fn client(&self) -> payments::processor::Processor {
        client_of(&self.address)
    }

    /// Returns a client with these settings.
    pub(crate) fn client_with(&self, client_settings: &ClientSettings) -> payments::processor::Processor {
        client_with(&self.address, client_settings)
    }

    /// Sets the treatment of the next requests. Later ones are answered.
    pub(crate) fn order(&self, fates: impl IntoIterator<Item = Fate>) {
        self.state().fates.extend(fates);
    }

    /// Releases all held requests, and holds none from now on.
    pub(crate) fn release(&self) {
        self.released.send_replace(usize::MAX);
    }

    /// Releases the request that was held first.
    pub(crate) fn release_one(&self) {
        self.released.send_modify(|released| *released += 1);
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.state().received.clone()
    }

    /// Waits until this number of requests have arrived.
    pub(crate) async fn has_received(&self, number: usize) -> Vec<Received> {
        eventually("requests to the processor", async || {
            let received = self.received();
            (received.len() >= number).then_some(received)
        })
        .await
    }

    /// Returns the requests that change something.
    pub(crate) fn posted(&self) -> Vec<Received> {
        self.received().into_iter().filter(|request| request.method == "POST").collect()
    }

    /// Returns the requests that only read.
    pub(crate) fn looked_up(&self) -> Vec<Received> {
        self.received().into_iter().filter(|request| request.method == "GET").collect()
    }

    /// Waits for this number of reads.
    pub(crate) async fn has_been_looked_at(&self, number: usize) {
        eventually("lookups at the processor", async || (self.looked_up().len() >= number).then_some(()))
            .await;
    }

    /// Sets this member of all objects of this kind (`payment_intent`, `refund`).
    pub(crate) fn amend(&self, kind: &str, member: &str, value: &Value) {
        self.state().amend(kind, member, value);
    }

    /// From now on new refunds have this status, and `PaymentIntents` have their fee at once or later.
    pub(crate) fn behaves(&self, refunds_are: &'static str, tells_fee: bool) {
        let mut state = self.state();
        (state.refunds_are, state.tells_fee) = (refunds_are, tells_fee);
    }

    /// Inserts a foreign object before all others.
    pub(crate) fn insert(&self, object: Value) {
        self.state().insert(object);
    }

    /// Sets the maximum number of objects in a page of a list.
    pub(crate) fn pages_of(&self, size: usize) {
        self.state().page = size;
    }

    /// Returns the charged amounts.
    pub(crate) fn charges(&self) -> Vec<i64> {
        self.state().charges.clone()
    }

    /// Returns the refunded amounts.
    pub(crate) fn refunds(&self) -> Vec<i64> {
        self.state().refunds.clone()
    }

    fn state(&self) -> MutexGuard<'_, ProcessorState> {
        self.state.lock().unwrap()
    }
}

/// Client settings with long time limits.
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

/// A client of the server at this address.
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

/// Returns the treatment of the request, and its number among the held requests, from 1.
fn arrive(state: &mut ProcessorState, request: &Received) -> (Fate, usize) {
    state.received.push(request.clone());
    let fate = state.fates.pop_front().unwrap_or(Fate::Answered);
    state.held += usize::from(matches!(fate, Fate::Held(_)));
    (fate, state.held)
}
