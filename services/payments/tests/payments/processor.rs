//! A processor with books of its own that does to each request what the test has ordered, in order of arrival.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use reqwest::Url;
use serde_json::{Value, json};
use testkit::eventually;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::http::{Received, answer};

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
}

#[derive(Default)]
struct Books {
    fates: VecDeque<Fate>,
    received: Vec<Received>,
    /// How many were ever held.
    held: usize,
    /// The first answer to each key.
    answers: HashMap<String, (u16, Value)>,
    /// Amounts.
    charges: Vec<i64>,
    refunds: Vec<i64>,
}

/// Held, then carried out and answered.
pub(crate) fn held() -> Fate {
    Fate::Held(Box::new(Fate::Answered))
}

/// Answers until it is dropped.
pub(crate) struct Processor {
    address: String,
    books: Arc<Mutex<Books>>,
    released: watch::Sender<usize>,
    _serving: JoinSet<()>,
}

impl Processor {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let books = Arc::<Mutex<Books>>::default();
        let released = watch::Sender::new(0);
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, Arc::clone(&books), released.subscribe()));
        Self { address, books, released, _serving: serving }
    }

    /// The service's client of it.
    pub(crate) fn client(&self) -> payments::processor::Processor {
        client_of(&self.address)
    }

    /// What becomes of the next requests; those after them are answered.
    pub(crate) fn order(&self, fates: impl IntoIterator<Item = Fate>) {
        self.books().fates.extend(fates);
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
        self.books().received.clone()
    }

    /// Waits until so many requests have arrived.
    pub(crate) async fn has_received(&self, number: usize) -> Vec<Received> {
        eventually("requests to the processor", async || {
            let received = self.received();
            (received.len() >= number).then_some(received)
        })
        .await
    }

    /// What was taken, charge by charge.
    pub(crate) fn charges(&self) -> Vec<i64> {
        self.books().charges.clone()
    }

    /// What was given back, refund by refund.
    pub(crate) fn refunds(&self) -> Vec<i64> {
        self.books().refunds.clone()
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap()
    }
}

/// A client of whoever listens there.
pub(crate) fn client_of(address: &str) -> payments::processor::Processor {
    let base: Url = format!("http://{address}").parse().unwrap();
    payments::processor::Processor::new(base, &SECRET.into(), Duration::from_secs(20)).unwrap()
}

async fn serve(listener: TcpListener, books: Arc<Mutex<Books>>, released: watch::Receiver<usize>) {
    let mut connections = JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        connections.spawn(meet(socket, Arc::clone(&books), released.clone()));
    }
}

async fn meet(mut socket: TcpStream, books: Arc<Mutex<Books>>, mut released: watch::Receiver<usize>) {
    let Some(request) = Received::read(&mut socket).await else { return };
    let (mut fate, place) = arrive(&mut books.lock().unwrap(), &request);
    if let Fate::Held(then) = fate {
        released.wait_for(|released| *released >= place).await.unwrap();
        fate = *then;
    }
    let (status, body, replayed) = match fate {
        Fate::Refused(status, body) => (status, body, false),
        Fate::Answered => carry_out(&mut books.lock().unwrap(), &request),
        Fate::Misreported(body) => {
            carry_out(&mut books.lock().unwrap(), &request);
            (200, body, false)
        }
        Fate::Lost | Fate::Held(_) => {
            carry_out(&mut books.lock().unwrap(), &request);
            return;
        }
    };
    let headers = if replayed { "Idempotent-Replayed: true\r\n" } else { "" };
    answer(&mut socket, status, headers, &body.to_string()).await;
}

/// What becomes of the request, and its place among those that are held, from 1.
fn arrive(books: &mut Books, request: &Received) -> (Fate, usize) {
    books.received.push(request.clone());
    let fate = books.fates.pop_front().unwrap_or(Fate::Answered);
    books.held += usize::from(matches!(fate, Fate::Held(_)));
    (fate, books.held)
}

/// Status, body, and whether it is the key's stored answer.
fn carry_out(books: &mut Books, request: &Received) -> (u16, Value, bool) {
    if let Some((status, body)) = books.answers.get(request.key()) {
        return (*status, body.clone(), true);
    }
    let (status, body) = match request.path.as_str() {
        "/v1/payment_intents" => charge(books, request),
        "/v1/refunds" => refund(books, request),
        path if path.ends_with("/cancel") => (200, cancelled(path)),
        path => panic!("a request to {path}"),
    };
    books.answers.insert(request.key().to_owned(), (status, body.clone()));
    (status, body, false)
}

fn charge(books: &mut Books, request: &Received) -> (u16, Value) {
    let amount: i64 = request.parameter("amount").parse().unwrap();
    let number = books.answers.len() + 1;
    let mut intent = json!({
        "id": format!("pi_{number}"), "object": "payment_intent", "amount": amount, "amount_received": amount,
        "currency": request.parameter("currency"), "status": "succeeded", "latest_charge": format!("ch_{number}"),
    });
    match request.parameter("payment_method").as_str() {
        "pm_card_visa" => {
            books.charges.push(amount);
            (200, intent)
        }
        "pm_card_chargeDeclined" => {
            let error =
                json!({ "type": "card_error", "code": "card_declined", "decline_code": "generic_decline" });
            (402, json!({ "error": error }))
        }
        "pm_card_authenticationRequired" => {
            intent["status"] = "requires_action".into();
            intent["amount_received"] = 0.into();
            (200, intent)
        }
        card => panic!("no such card: {card}"),
    }
}

fn refund(books: &mut Books, request: &Received) -> (u16, Value) {
    let amount: i64 = request.parameter("amount").parse().unwrap();
    books.refunds.push(amount);
    let id = format!("re_{}", books.answers.len() + 1);
    (200, json!({ "id": id, "object": "refund", "amount": amount, "currency": "eur", "status": "succeeded" }))
}

fn cancelled(path: &str) -> Value {
    let id = path.split('/').nth(3).unwrap();
    json!({
        "id": id, "object": "payment_intent", "amount": 1999, "amount_received": 0, "currency": "eur",
        "status": "canceled",
    })
}
