//! A processor that only serves lists, in pages of two. The test writes the objects.

use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::task::JoinSet;

use crate::http::{Received, respond};
use crate::stage::{Order, Stage};

/// The name of our deployment.
pub(crate) const OURS: &str = "test";

/// The lists, and how often they were read.
#[derive(Default)]
struct ProcessorLists {
    intents: Vec<Value>,
    refunds: Vec<Value>,
    /// The requested refunds: key and form.
    asked: Vec<(String, String)>,
    /// The number of times that the last part of the charges was read from its first page.
    rounds: u64,
    /// Every page is the first one, with any cursor.
    deaf: bool,
    /// The number of pages that another one follows: the first one follows the last.
    circle: u32,
}

/// A processor that serves until it is dropped.
pub(crate) struct Listing {
    address: String,
    lists: Arc<Mutex<ProcessorLists>>,
    _serving: JoinSet<()>,
}

impl Listing {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let lists = Arc::<Mutex<ProcessorLists>>::default();
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, Arc::clone(&lists)));
        Self { address, lists, _serving: serving }
    }

    /// Replaces both lists: charges and refunds, each newest first. `lists` takes the time in seconds.
    pub(crate) fn holds(&self, lists: impl FnOnce(i64) -> [Vec<Value>; 2]) {
        let [intents, refunds] = lists(i64::try_from(an_hour_ago()).unwrap() + 3600);
        let mut held = self.lists.lock().unwrap();
        (held.intents, held.refunds) = (intents, refunds);
    }

    /// Adds a charge. `reference` names a payment of this or another deployment.
    pub(crate) fn took(&self, id: &str, reference: &str, deployment: &str, amount: i64) {
        self.lists.lock().unwrap().intents.insert(0, json!({
            "id": id, "object": "payment_intent", "amount": amount, "amount_received": amount, "currency": "eur",
            "status": "succeeded", "created": an_hour_ago(),
            "metadata": { "reference": reference, "deployment": deployment },
        }));
    }

    /// Adds a refund, with our reference or without one.
    pub(crate) fn gave_back(&self, id: &str, intent: &str, reference: Option<&str>, amount: i64) {
        let metadata = reference.map_or(json!({}), |r| json!({ "reference": r, "deployment": OURS }));
        self.lists.lock().unwrap().refunds.insert(
            0,
            json!({
                "id": id, "object": "refund", "amount": amount, "currency": "eur", "status": "succeeded",
                "created": an_hour_ago(), "payment_intent": intent, "metadata": metadata,
            }),
        );
    }

    /// From now on every page is the first one.
    pub(crate) fn lists_for_ever(&self) {
        self.lists.lock().unwrap().deaf = true;
    }

    /// The next 50 pages are in a circle.
    pub(crate) fn lists_in_a_circle(&self) {
        let mut lists = self.lists.lock().unwrap();
        (lists.deaf, lists.circle) = (false, 50);
    }

    pub(crate) fn asked(&self) -> Vec<(String, String)> {
        self.lists.lock().unwrap().asked.clone()
    }

    /// The number of reconciliations.
    pub(crate) fn rounds(&self) -> u64 {
        self.lists.lock().unwrap().rounds
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Runs `payments WORDS` as the operator `dana`. Returns exit code and output.
    pub(crate) async fn payments(&self, stage: &Stage, words: &[&str]) -> (i32, String) {
        self.payments_with(stage, words, &[]).await
    }

    pub(crate) async fn payments_with(
        &self,
        stage: &Stage,
        words: &[&str],
        settings: &[(&str, &str)],
    ) -> (i32, String) {
        let url = self.url();
        let mut settings = settings.to_vec();
        settings.extend([
            ("IDEM_PROCESSOR__URL", url.as_str()),
            ("IDEM_PROCESSOR__SECRET_KEY", "sk_test_canary"),
        ]);
        operate(stage, words, &settings).await
    }

    /// Runs `payments reconcile --since WHEN --json`. Returns report and exit code.
    pub(crate) async fn reconcile(&self, stage: &Stage) -> (i32, Value) {
        let (code, text) = self.payments(stage, &["reconcile", "--json"]).await;
        (code, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")))
    }
}

/// Runs `payments WORDS` as the operator `dana`. Returns exit code and output, or the log if there is no output.
pub(crate) async fn operate(stage: &Stage, words: &[&str], settings: &[(&str, &str)]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_payments"));
    command.args(words).env_clear();
    command.env("IDEM_DATABASE__URL", stage.database.service_url(None)).env("IDEM_DEPLOYMENT__NAME", OURS);
    let output = command.envs(settings.iter().copied()).output().await.unwrap();
    let [stdout, log] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(!stdout.contains("canary") && !log.contains("canary"), "{stdout}{log}");
    (output.status.code().unwrap(), if stdout.is_empty() { log } else { stdout })
}

impl Stage {
    /// Inserts a captured payment with the processor's id `object`.
    pub(crate) async fn captured(&self, object: &str) -> Order {
        let order = self.request(crate::stage::VISA).await;
        let id = order.payment;
        self.meddle(&format!(
            "UPDATE payment SET state = 'captured', processor_intent = '{object}', fee = 1, fee_currency = 'EUR',
             fee_transaction = 'txn_{object}' WHERE id = '{id}'"
        ))
        .await;
        self.meddle(&format!(
            "UPDATE processor_call SET sent_since = now(), due_at = NULL, attempt = 1, processor_object = '{object}'
             WHERE id = '{id}'"
        ))
        .await;
        order
    }

    /// Inserts a payment with an unknown capture.
    pub(crate) async fn unknown(&self) -> Order {
        let order = self.request(crate::stage::VISA).await;
        let id = order.payment;
        self.meddle(&format!("UPDATE payment SET state = 'unknown' WHERE id = '{id}'")).await;
        self.meddle(&format!(
            "UPDATE processor_call SET sent_since = now(), due_at = NULL, attempt = 1, mode = 'look_up' WHERE id = '{id}'"
        ))
        .await;
        order
    }
}

/// Older than the grace period, and within every compared period. By the clock of the processor.
#[expect(clippy::disallowed_methods, reason = "the processor has a clock of its own")]
fn an_hour_ago() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() - 3600
}

async fn serve(listener: TcpListener, lists: Arc<Mutex<ProcessorLists>>) {
    let mut connections = JoinSet::new();
    while let Ok((mut socket, _)) = listener.accept().await {
        let lists = Arc::clone(&lists);
        // A client may open one connection more than it uses.
        connections.spawn(async move {
            let Some(request) = Received::read(&mut socket).await else { return };
            let body = page(&mut lists.lock().unwrap(), &request);
            respond(&mut socket, 200, "", &body.to_string()).await;
        });
    }
}

fn page(lists: &mut ProcessorLists, request: &Received) -> Value {
    if request.header("idempotency-key").is_some() {
        let form = String::from_utf8(request.body.clone()).unwrap();
        lists.asked.push((request.key().to_owned(), form));
        let amount: i64 = request.parameter("amount").parse().unwrap();
        return json!({ "id": "re_1", "object": "refund", "amount": amount, "currency": "eur", "status": "succeeded" });
    }
    let after = request.asked("starting_after").filter(|_| !lists.deaf);
    if request.path == "/v1/payment_intents" && after.is_none() && request.asked("created[lte]").is_none() {
        lists.rounds += 1;
    }
    let is_in_circle = lists.circle > 0;
    lists.circle = lists.circle.saturating_sub(1);
    let all = match request.path.as_str() {
        "/v1/payment_intents" => &lists.intents,
        "/v1/refunds" => &lists.refunds,
        path => panic!("a request to {path}"),
    };
    let bound = |name: &str| request.asked(name).map(|text| text.parse::<i64>().unwrap());
    let created = bound("created[gte]").unwrap_or(0)..=bound("created[lte]").unwrap_or(i64::MAX);
    let all: Vec<&Value> =
        all.iter().filter(|object| created.contains(&object["created"].as_i64().unwrap())).collect();
    let start = after.map_or(0, |id| all.iter().position(|object| object["id"] == id).unwrap() + 1);
    let start = if is_in_circle { start % all.len() } else { start };
    let page: Vec<Value> = all.iter().skip(start).take(2).copied().cloned().collect();
    let has_more = is_in_circle || start + page.len() < all.len();
    json!({ "object": "list", "has_more": has_more, "data": page })
}
