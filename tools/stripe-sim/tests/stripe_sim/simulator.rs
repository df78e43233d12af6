//! A stand-in in the test's process with a database of its own, and a client for its API.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use diesel::sql_types::BigInt;
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use reqwest::header::HeaderMap;
use reqwest::{Client, Method};
use serde_json::{Value, json};
use stripe_sim::{LogFormat, Server, Settings, Timing};
use testkit::{TestDatabase, eventually};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::runtime::Handle;

pub(crate) const KEY: &str = "Idempotency-Key";
pub(crate) const VISA: &str = "pm_card_visa";

/// A stand-in that is ready. It stops when dropped; its database is removed with the last one that uses it.
pub(crate) struct Simulator {
    pub(crate) database: Arc<TestDatabase>,
    pub(crate) client: Client,
    pub(crate) address: SocketAddr,
    server: ServerHandle,
}

/// A complete response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Vec<u8>,
}

impl TestResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap()
    }

    pub(crate) fn is_replay(&self) -> bool {
        self.headers.get("idempotent-replayed").is_some_and(|value| value == "true")
    }

    /// A member of `error`.
    pub(crate) fn error(&self, member: &str) -> Value {
        self.json()["error"][member].clone()
    }

    pub(crate) fn id(&self) -> String {
        self.json()["id"].as_str().unwrap().to_owned()
    }
}

impl Simulator {
    pub(crate) async fn start() -> Self {
        Self::with(Timing::default()).await
    }

    /// A stand-in with this timing.
    pub(crate) async fn with(timing: Timing) -> Self {
        let database = Arc::new(TestDatabase::plain().await);
        let settings = Settings { timing, ..settings(&database, None) };
        let sim = Self::launch(database, settings);
        sim.ready(200).await;
        sim
    }

    /// A stand-in that reaches its database through another address, and may not be ready yet.
    pub(crate) fn on(database: TestDatabase, through: SocketAddr) -> Self {
        let settings = settings(&database, Some(through));
        Self::launch(Arc::new(database), settings)
    }

    /// A second one on the same database, as another process would be.
    pub(crate) fn second(&self) -> Self {
        Self::launch(Arc::clone(&self.database), settings(&self.database, None))
    }

    fn launch(database: Arc<TestDatabase>, settings: Settings) -> Self {
        let server = Server::start(settings).unwrap();
        let (address, handle) = (server.address(), server.handle());
        Handle::current().spawn(server.run());
        Self { database, client: client(), address, server: handle }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Waits until readiness has this status.
    pub(crate) async fn ready(&self, status: u16) {
        let url = self.url("/health/ready");
        eventually(&format!("readiness {status}"), async || {
            let response = self.client.get(&url).send().await.ok()?;
            (response.status().as_u16() == status).then_some(())
        })
        .await;
    }

    pub(crate) async fn get(&self, path: &str) -> TestResponse {
        read(self.client.get(self.url(path)).bearer_auth("sk_test_1")).await.unwrap()
    }

    /// `Err` if the connection ended without a complete response.
    pub(crate) async fn try_post(
        &self,
        path: &str,
        key: Option<&str>,
        form: &[(&str, &str)],
    ) -> reqwest::Result<TestResponse> {
        post_to(&self.client, &self.url(path), key, form).await
    }

    pub(crate) async fn post(&self, path: &str, key: Option<&str>, form: &[(&str, &str)]) -> TestResponse {
        self.try_post(path, key, form).await.unwrap()
    }

    /// Charges a card, as the payments service does.
    pub(crate) async fn charge(&self, key: &str, card: &str, amount: i64) -> TestResponse {
        self.try_charge(key, card, amount).await.unwrap()
    }

    pub(crate) async fn try_charge(
        &self,
        key: &str,
        card: &str,
        amount: i64,
    ) -> reqwest::Result<TestResponse> {
        let amount = amount.to_string();
        self.try_post("/v1/payment_intents", Some(key), &charge_form(card, &amount)).await
    }

    /// Sends a charge on a TCP connection, and leaves the response to the caller.
    pub(crate) async fn send_charge(&self, key: &str, card: &str) -> TcpStream {
        let body = serde_urlencoded::to_string(charge_form(card, "100")).unwrap();
        let request = format!(
            "POST /v1/payment_intents HTTP/1.1\r\nHost: stripe-sim\r\nAuthorization: Bearer sk_test_1\r\n{KEY}: {key}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        socket.write_all(request.as_bytes()).await.unwrap();
        socket
    }

    pub(crate) async fn refund(&self, key: &str, intent: &str, amount: i64) -> TestResponse {
        let amount = amount.to_string();
        self.post("/v1/refunds", Some(key), &[("payment_intent", intent), ("amount", &amount)]).await
    }

    pub(crate) async fn faults(&self, method: Method, json: &str) -> TestResponse {
        read(self.client.request(method, self.url("/_faults")).body(json.to_owned())).await.unwrap()
    }

    /// Sets these rules, with seed 7.
    pub(crate) async fn rules(&self, rules: Value) {
        let set = self.faults(Method::POST, &json!({ "seed": 7, "rules": rules }).to_string()).await;
        assert_eq!(set.status, 200, "{}", set.json());
    }

    /// A number from the stand-in's database.
    pub(crate) async fn number(&self, query: &'static str) -> i64 {
        #[derive(QueryableByName)]
        struct Number {
            #[diesel(sql_type = BigInt)]
            number: i64,
        }
        let mut owner = self.database.owner().await;
        sql_query(query).get_result::<Number>(&mut owner).await.unwrap().number
    }

    /// Returns how many charges were paid.
    pub(crate) async fn paid(&self) -> i64 {
        self.number("SELECT count(*) AS number FROM charge WHERE status = 'succeeded'").await
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        drop(self.server.stop(false));
    }
}

/// The parameters of a charge.
pub(crate) fn charge_form<'a>(card: &'a str, amount: &'a str) -> [(&'a str, &'a str); 8] {
    [
        ("amount", amount),
        ("currency", "eur"),
        ("payment_method", card),
        ("confirm", "true"),
        ("off_session", "true"),
        ("error_on_requires_action", "true"),
        ("payment_method_types[]", "card"),
        ("metadata[reference]", "order 7"),
    ]
}

pub(crate) async fn post_to(
    client: &Client,
    url: &str,
    key: Option<&str>,
    form: &[(&str, &str)],
) -> reqwest::Result<TestResponse> {
    let body = serde_urlencoded::to_string(form).unwrap();
    let request = client.post(url).bearer_auth("sk_test_1").body(body);
    let request = request.header("Content-Type", "application/x-www-form-urlencoded");
    read(match key {
        Some(key) => request.header(KEY, key),
        None => request,
    })
    .await
}

pub(crate) async fn read(request: reqwest::RequestBuilder) -> reqwest::Result<TestResponse> {
    let response = request.send().await?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Ok(TestResponse { status, headers, bytes: response.bytes().await?.to_vec() })
}

pub(crate) fn client() -> Client {
    // An error says that another test has installed it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().timeout(Duration::from_secs(30)).build().unwrap()
}

fn settings(database: &TestDatabase, through: Option<SocketAddr>) -> Settings {
    let mut service = database::Settings::new(database.service_url(through));
    // Many tests share one server.
    service.pool_size = 8;
    service.pool_wait = Duration::from_secs(10);
    Settings {
        host: [127, 0, 0, 1].into(),
        port: 0,
        database: service,
        migration_url: Some(database.owner_url().into()),
        endpoint: None,
        timing: Timing::default(),
        log_level: "info".to_owned(),
        log_format: LogFormat::Pretty,
    }
}
