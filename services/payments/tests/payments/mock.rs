//! Stripe's own stand-in takes every request that our client can write. It checks shapes against Stripe's specification
//! and keeps no state, so it proves nothing more; `./dev clients` starts it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::DateTime;
use contracts::{Currency, Money, PaymentId, RefundId};
use payments::domain::CallKind;
use payments::processor::{Lookup, LookupScope, Movement, Request, RequestBodies};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use testkit::{Background, given, http};
use tokio::net::{TcpListener, TcpStream};

use crate::http::{Received, respond};
use crate::processor::client_of;

/// A request, and the status and text of its response.
type Seen = (String, u16, String);

/// A proxy between the client and stripe-mock that records the requests.
struct Between {
    address: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    _task: Background,
}

impl Between {
    async fn start() -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap().to_string();
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let noted = Arc::clone(&seen);
        let task = Background::run(move |_| async move {
            let (client, mock) = (http::client(), given("IDEM_STRIPE_MOCK"));
            loop {
                let (stream, _) = socket.accept().await.unwrap();
                carry(stream, &client, &mock, &noted).await;
            }
        });
        Self { address, seen, _task: task }
    }
}

async fn carry(mut stream: TcpStream, client: &reqwest::Client, mock: &str, seen: &Mutex<Vec<Seen>>) {
    let Some(request) = Received::read(&mut stream).await else { return };
    let query = serde_urlencoded::to_string(&request.query).unwrap();
    let headers: HeaderMap = request
        .headers
        .iter()
        .filter(|(name, _)| !["host", "content-length"].contains(&name.as_str()))
        .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap()))
        .collect();
    let method = request.method.parse().unwrap();
    let asked = client.request(method, format!("{mock}{}?{query}", request.path)).headers(headers);
    let response = asked.body(request.body.clone()).send().await.unwrap();
    let (status, text) = (response.status().as_u16(), response.text().await.unwrap());
    seen.lock().unwrap().push((format!("{} {}", request.method, request.path), status, text.clone()));
    // stripe-mock's PaymentIntents always wait for a card. The client cancels an intent that waits for its customer.
    let text = text.replace("\"requires_payment_method\"", "\"requires_action\"");
    respond(&mut stream, status, "Content-Type: application/json\r\n", &text).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs stripe-mock: ./dev clients builds and starts it"]
async fn stripe_mock_takes_every_request_that_the_client_can_write() {
    let between = Between::start().await;
    let (client, bodies) = (client_of(&between.address), RequestBodies::of("here"));
    let amount = Money::new(1999, Currency::Eur);
    let (payment, refund) = (PaymentId::generate(), RefundId::generate());

    let charge = Movement::Charge(amount);
    let body = bodies.charge(payment, amount, "pm_card_visa");
    client.send(&Request { movement: charge, key: "charge".to_owned(), body }).await;
    let back = Movement::Refund(amount);
    let body = bodies.refund(refund, "pi_123", 1999);
    client.send(&Request { movement: back, key: "refund".to_owned(), body }).await;

    let since = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    let window = || LookupScope::of_attempts(since, since, Duration::from_hours(1));
    for (movement, object, scope) in [
        (charge, Some("pi_123"), window()),
        (charge, None, window()),
        (back, Some("re_123"), window()),
        (back, None, LookupScope::RefundsOf("pi_123".to_owned())),
        (back, None, window()),
    ] {
        let (object, tag) = (object.map(str::to_owned), bodies.tag(payment.uuid()));
        client.look_up(&Lookup { movement, object, scope, tag, key: "lookup".to_owned() }).await;
    }
    let (charges, refunds) = (CallKind::Charge, CallKind::Refund);
    for (kind, cursor) in
        [(charges, None), (charges, Some("pi_123")), (refunds, None), (refunds, Some("re_123"))]
    {
        let _ = client.list(kind, since, cursor).await;
    }

    let seen = between.seen.lock().unwrap().clone();
    for (asked, status, text) in &seen {
        println!("{status} {asked}");
        assert_eq!(*status, 200, "{asked}: {text}");
    }
    // A route without a request would not have been refused, so all routes are counted.
    let routes: BTreeSet<String> = seen.iter().map(|(asked, ..)| route(asked)).collect();
    let all = [
        "GET /v1/payment_intents",
        "GET /v1/payment_intents/{id}",
        "GET /v1/refunds",
        "GET /v1/refunds/{id}",
        "POST /v1/payment_intents",
        "POST /v1/payment_intents/{id}/cancel",
        "POST /v1/refunds",
    ];
    assert_eq!(routes, all.map(str::to_owned).into());
}

/// The route, with `{id}` for any id.
fn route(asked: &str) -> String {
    let parts = asked.split('/').enumerate().map(|(at, part)| if at == 3 { "{id}" } else { part });
    parts.collect::<Vec<_>>().join("/")
}
