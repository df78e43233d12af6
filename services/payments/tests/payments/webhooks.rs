//! Webhook events: accepted if signed, stored once, and used only to trigger a lookup.

use std::fmt::Write;
use std::time::Duration;

use actix_web::App;
use actix_web::body::to_bytes;
use actix_web::dev::Service as _;
use actix_web::test::{TestRequest, init_service};
use database::Database;
use edge::{Authenticator, Edge, EdgeSettings, TokenPolicy};
use envelope::Topics;
use hmac::{Hmac, KeyInit, Mac};
use payments::{Payments, Settings, WebhookSettings};
use runtime::Context;
use serde_json::{Value, json};
use sha2::Sha256;
use testkit::identity;

use crate::look_ups::object;
use crate::stage::{AMOUNT, Order, Stage, VISA, brisk};

const SECRET: &str = "whsec_canary";

/// The processor's side: what it sends, and how it signs.
pub(crate) struct Sender {
    body: Vec<u8>,
    secret: &'static str,
    /// Seconds between now and the time of the signature.
    signed_at: i64,
}

impl Sender {
    pub(crate) fn of(event: &Value) -> Self {
        Self { body: event.to_string().into_bytes(), secret: SECRET, signed_at: 0 }
    }

    fn header(&self) -> String {
        #[expect(clippy::disallowed_methods, reason = "the sender's clock is a wall clock")]
        let time = chrono::Utc::now().timestamp() + self.signed_at;
        let mut seal = <Hmac<Sha256> as KeyInit>::new_from_slice(self.secret.as_bytes()).unwrap();
        seal.update(format!("{time}.").as_bytes());
        seal.update(&self.body);
        let mut header = format!("t={time},v1=");
        for byte in seal.finalize().into_bytes() {
            write!(header, "{byte:02x}").unwrap();
        }
        header
    }

    pub(crate) async fn send(&self, stage: &Stage) -> (u16, Value) {
        send(stage, self.body.clone(), Some(self.header())).await
    }
}

async fn send(stage: &Stage, body: Vec<u8>, header: Option<String>) -> (u16, Value) {
    let authenticator =
        Authenticator::from_jwks(&identity::jwks(), TokenPolicy::of(identity::ISSUER, identity::AUDIENCE))
            .unwrap();
    let database = Database::clone(&stage.database);
    let edge = Edge::new(database.clone(), authenticator, EdgeSettings::default());
    let secrets = vec![SECRET.into(), "whsec_older".into()];
    let webhooks =
        WebhookSettings { secrets, tolerance: Duration::from_mins(5), ..stage.settings().webhooks };
    let settings = Settings { webhooks, ..stage.settings() };
    let context = Context::<Payments> { database, topics: Topics::of("test"), settings };
    let app = init_service(App::new().configure(runtime::routes(edge, context))).await;
    let mut request = TestRequest::post().uri("/v1/webhooks/provider").set_payload(body);
    if let Some(header) = header {
        request = request.insert_header(("Stripe-Signature", header));
    }
    let response = app.call(request.to_request()).await.unwrap();
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body()).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

/// An event about the `PaymentIntent` of the payment.
pub(crate) fn event(id: &str, kind: &str, order: Order) -> Value {
    json!({
        "id": id, "object": "event", "type": kind, "created": 1_700_000_000,
        "data": { "object": {
            "id": "pi_of_event", "object": "payment_intent", "status": "succeeded", "amount": 1,
            "metadata": { "reference": order.payment, "deployment": "test" },
        } },
        "request": { "id": "req_1", "idempotency_key": "idem-canary-key" },
    })
}

impl Stage {
    pub(crate) async fn events(&self) -> i64 {
        self.count("SELECT count(*) FROM webhook_event").await
    }
}

#[actix_web::test]
async fn ten_concurrent_copies_of_an_event_are_stored_once_and_all_get_200() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    let sender = Sender::of(&event("evt_1", "payment_intent.succeeded", order));
    let copies = (0..10).map(|_| sender.send(&stage));
    for (status, body) in futures_util::future::join_all(copies).await {
        assert_eq!((status, body), (200, Value::Null));
    }
    assert_eq!(sender.send(&stage).await.0, 200, "and again, later");
    assert_eq!(stage.events().await, 1);
    let of = "SELECT kind || ' ' || object_id || ' ' || tenant_id || ' ' || call_id FROM webhook_event";
    let row = format!("payment_intent.succeeded pi_of_event acme {}", order.payment);
    assert_eq!(stage.text(of).await, row);
}

#[actix_web::test]
async fn the_content_of_an_event_changes_nothing() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    for (id, kind) in [("evt_2", "charge.refunded"), ("evt_1", "payment_intent.succeeded")] {
        assert_eq!(Sender::of(&event(id, kind, order)).send(&stage).await.0, 200);
    }
    assert_eq!(stage.state(order).await, "requested", "nothing has been sent, so there can be no news");
    let due = "SELECT count(*) FROM processor_call WHERE look_up_requested";
    assert_eq!(stage.count(due).await, 0);
    assert_eq!(stage.announced(order).await, []);
}

#[actix_web::test]
async fn an_event_makes_the_worker_look_up_the_call() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    stage.meddle("UPDATE payment SET state = 'unknown'").await;
    stage.meddle("UPDATE processor_call SET sent_since = now(), due_at = NULL, attempt = 1").await;
    assert_eq!(Sender::of(&event("evt_1", "payment_intent.succeeded", order)).send(&stage).await.0, 200);
    assert_eq!(
        stage.count("SELECT count(*) FROM processor_call WHERE look_up_requested AND due_at <= now()").await,
        1
    );
}

/// Sends an event about a charge with an unknown outcome, and waits for its capture. Returns the paths of the lookups.
async fn look_up_after_event(stage: &Stage, order: Order) -> Vec<String> {
    stage.meddle("UPDATE payment SET state = 'unknown'").await;
    stage.meddle("UPDATE processor_call SET sent_since = now(), due_at = NULL, attempt = 1").await;
    assert_eq!(Sender::of(&event("evt_1", "payment_intent.succeeded", order)).send(stage).await.0, 200);
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    worker.stop().await;
    stage.processor.looked_up().into_iter().map(|request| request.path).collect()
}

#[actix_web::test]
async fn a_lookup_reads_only_the_object_that_an_event_named() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    stage.processor.insert(object("pi_of_event", &order.payment.to_string(), "test", AMOUNT));
    for path in look_up_after_event(&stage, order).await {
        assert_eq!(path, "/v1/payment_intents/pi_of_event");
    }
}

#[actix_web::test]
async fn an_object_without_our_tag_is_not_believed_although_an_event_named_it() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    let (ours, another) = (order.payment.to_string(), Order::new().payment.to_string());
    stage.processor.insert(object("pi_ours", &ours, "test", AMOUNT));
    stage.processor.insert(object("pi_of_event", &another, "test", AMOUNT));
    let paths = look_up_after_event(&stage, order).await;
    assert_eq!(paths[..2], ["/v1/payment_intents/pi_of_event", "/v1/payment_intents"]);
    let found = "SELECT processor_object FROM processor_call";
    assert_eq!(stage.text(found).await, "pi_ours");
}

#[actix_web::test]
async fn an_event_before_the_response_of_our_own_request_is_not_lost() {
    let stage = Stage::new().await;
    stage.processor.order([crate::processor::held()]);
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.processor.has_received(1).await;
    assert_eq!(Sender::of(&event("evt_1", "payment_intent.succeeded", order)).send(&stage).await.0, 200);
    assert_eq!(
        stage.count("SELECT count(*) FROM processor_call WHERE look_up_requested AND in_flight").await,
        1
    );
    stage.processor.release();
    stage.becomes(order, "captured").await;
    worker.stop().await;
    assert_eq!(stage.processor.charges().len(), 1);
}

#[actix_web::test]
async fn an_event_about_a_known_outcome_asks_nothing_unless_it_can_change_it() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    stage.is_at_rest().await;
    worker.stop().await;
    for (kind, asks) in [
        ("payment_intent.succeeded", 0),
        ("charge.succeeded", 0),
        ("charge.updated", 0),
        ("charge.refunded", 0),
        ("payment_intent.processing", 0),
        ("payment_intent.canceled", 1),
    ] {
        assert_eq!(Sender::of(&event(kind, kind, order)).send(&stage).await.0, 200);
        let asked = stage.count("SELECT count(*) FROM processor_call WHERE look_up_requested").await;
        assert_eq!(asked, asks, "{kind}");
    }
    assert_eq!(stage.events().await, 6);
}

#[actix_web::test]
async fn an_event_about_another_object_is_stored_and_ignored() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    stage.meddle("UPDATE processor_call SET sent_since = now(), attempt = 1").await;
    let unknown = event("evt_1", "payment_intent.invented", order);
    let mut foreign = event("evt_2", "payment_intent.succeeded", order);
    foreign["data"]["object"]["metadata"]["deployment"] = "another".into();
    let mut unmarked = event("evt_3", "payment_intent.succeeded", order);
    unmarked["data"]["object"]["metadata"] = json!({ "reference": order.payment });
    let strange = json!({
        "id": "evt_4", "type": "account.updated", "created": 1, "data": { "object": [1, "two", null] },
    });
    for event in [unknown, foreign, unmarked, strange] {
        assert_eq!(Sender::of(&event).send(&stage).await.0, 200, "{event}");
    }
    assert_eq!(stage.events().await, 4);
    assert_eq!(stage.count("SELECT count(*) FROM webhook_event WHERE call_id IS NOT NULL").await, 0);
    assert_eq!(stage.count("SELECT count(*) FROM processor_call WHERE look_up_requested").await, 0);
}

#[actix_web::test]
async fn an_object_is_found_by_the_processors_id() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    stage
        .meddle("UPDATE processor_call SET sent_since = now(), attempt = 1, processor_object = 'pi_7'")
        .await;
    let charge = json!({ "id": "ch_7", "object": "charge", "payment_intent": "pi_7", "metadata": {} });
    let event =
        json!({ "id": "evt_1", "type": "charge.updated", "created": 1, "data": { "object": charge } });
    assert_eq!(Sender::of(&event).send(&stage).await.0, 200);
    let call = stage.text("SELECT call_id::text FROM webhook_event").await;
    assert_eq!(call, order.payment.to_string());
}

#[actix_web::test]
async fn a_forged_stale_or_altered_event_is_refused_and_leaves_nothing() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    let event = event("evt_1", "payment_intent.succeeded", order);
    let honest = Sender::of(&event);
    let mut altered = honest.body.clone();
    altered[20] ^= 1;
    let header = honest.header();
    let flipped = if header.ends_with('0') { "1" } else { "0" };
    let flipped = format!("{}{flipped}", &header[..header.len() - 1]);
    let body = || honest.body.clone();
    let attacks = [
        ("unsigned", body(), None),
        (
            "signed with another secret",
            body(),
            Some(Sender { secret: "whsec_other", ..Sender::of(&event) }.header()),
        ),
        ("too old", body(), Some(Sender { signed_at: -310, ..Sender::of(&event) }.header())),
        ("too early", body(), Some(Sender { signed_at: 310, ..Sender::of(&event) }.header())),
        ("with another body", altered, Some(header.clone())),
        ("with another signature", body(), Some(flipped)),
        ("with a header of another form", body(), Some("t=1".to_owned())),
        ("of nothing", Vec::new(), Some(header)),
    ];
    for (what, body, header) in attacks {
        let (status, problem) = send(&stage, body, header).await;
        assert_eq!((status, &problem["code"]), (400, &json!("webhook-refused")), "{what}");
        assert!(!problem.to_string().contains("canary"), "{what}: {problem}");
    }
    assert_eq!(stage.events().await, 0);
}

#[actix_web::test]
async fn during_a_rotation_the_older_secret_is_accepted() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    let event = event("evt_1", "payment_intent.succeeded", order);
    assert_eq!(Sender { secret: "whsec_older", ..Sender::of(&event) }.send(&stage).await.0, 200);
    assert_eq!(stage.events().await, 1);
}

#[actix_web::test]
async fn a_signed_body_that_is_no_event_is_refused() {
    let stage = Stage::new().await;
    let long = "e".repeat(256);
    for body in [
        json!([]),
        json!({ "id": "evt_1" }),
        json!({ "id": long, "type": "x", "created": 1, "data": { "object": {} } }),
        json!({ "id": "evt_1", "type": "x", "created": i64::MAX, "data": { "object": {} } }),
    ] {
        let (status, problem) = Sender::of(&body).send(&stage).await;
        assert_eq!((status, &problem["code"]), (400, &json!("webhook-refused")), "{body}");
    }
    assert_eq!(stage.events().await, 0);
}

/// The processor switches an endpoint off that refuses its events for days.
#[actix_web::test]
async fn an_event_that_is_too_large_to_be_ours_is_acknowledged_unread() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    let mut large = event("evt_1", "payment_intent.succeeded", order);
    large["data"]["object"]["description"] = "x".repeat(64 * 1024).into();
    assert_eq!(Sender::of(&large).send(&stage).await, (200, Value::Null));
    assert_eq!(stage.events().await, 0);
}

#[actix_web::test]
async fn the_processors_key_in_an_event_is_not_kept() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    assert_eq!(Sender::of(&event("evt_1", "payment_intent.succeeded", order)).send(&stage).await.0, 200);
    let kept = stage.text("SELECT row_to_json(webhook_event)::text FROM webhook_event").await;
    assert!(!kept.contains("canary"), "{kept}");
    assert_eq!(stage.count("SELECT count(*) FROM webhook_event WHERE octet_length(body_hash) = 32").await, 1);
}
