//! A provider with books of its own, in the test's process, and a client that speaks the protocol.

use std::net::SocketAddr;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use diesel::sql_types::BigInt;
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use reqwest::header::HeaderMap;
use reqwest::{Client, Method};
use serde_json::{Value, json};
use stripe_sim::{LogFormat, Pace, Provider, Settings};
use testkit::{TestDatabase, eventually};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::runtime::Handle;

pub(crate) const KEY: &str = "Idempotency-Key";
pub(crate) const VISA: &str = "pm_card_visa";

/// A provider that is ready. It stops, and its database goes, when the test ends.
pub(crate) struct Bench {
    pub(crate) database: TestDatabase,
    pub(crate) client: Client,
    pub(crate) address: SocketAddr,
    server: ServerHandle,
}

/// An answer, read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Vec<u8>,
}

impl Answer {
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

impl Bench {
    pub(crate) async fn start() -> Self {
        Self::with(Pace::default()).await
    }

    /// One that is as fast as this.
    pub(crate) async fn with(pace: Pace) -> Self {
        let database = TestDatabase::plain().await;
        let (address, server) = start(&Settings { pace, ..settings(&database, None) });
        let bench = Self { database, client: client(), address, server };
        bench.ready(200).await;
        bench
    }

    /// A provider that reaches its database through another address, and may not be ready yet.
    pub(crate) fn on(database: TestDatabase, through: Option<SocketAddr>) -> Self {
        let (address, server) = start(&settings(&database, through));
        Self { database, client: client(), address, server }
    }

    /// A second process's worth of provider on the same books.
    pub(crate) fn second(&self) -> SecondProvider {
        let (address, server) = start(&settings(&self.database, None));
        SecondProvider { address, server }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Waits until readiness has this status.
    pub(crate) async fn ready(&self, status: u16) {
        let url = self.url("/health/ready");
        eventually(&format!("readiness {status}"), async || {
            let answer = self.client.get(&url).send().await.ok()?;
            (answer.status().as_u16() == status).then_some(())
        })
        .await;
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        read(self.client.get(self.url(path)).bearer_auth("sk_test_1")).await.unwrap()
    }

    /// `Err` if the connection ended without a whole answer.
    pub(crate) async fn try_post(
        &self,
        path: &str,
        key: Option<&str>,
        form: &[(&str, &str)],
    ) -> reqwest::Result<Answer> {
        post_to(&self.client, &self.url(path), key, form).await
    }

    pub(crate) async fn post(&self, path: &str, key: Option<&str>, form: &[(&str, &str)]) -> Answer {
        self.try_post(path, key, form).await.unwrap()
    }

    /// Charges a card, as payments does it.
    pub(crate) async fn charge(&self, key: &str, card: &str, amount: i64) -> Answer {
        self.try_charge(key, card, amount).await.unwrap()
    }

    pub(crate) async fn try_charge(&self, key: &str, card: &str, amount: i64) -> reqwest::Result<Answer> {
        let amount = amount.to_string();
        self.try_post("/v1/payment_intents", Some(key), &charge_form(card, &amount)).await
    }

    /// Asks for a charge on a bare connection, and leaves the answer to the caller.
    pub(crate) async fn send_charge(&self, key: &str, card: &str) -> TcpStream {
        let body = serde_urlencoded::to_string(charge_form(card, "100")).unwrap();
        let request = format!(
            "POST /v1/payment_intents HTTP/1.1\r\nHost: provider\r\nAuthorization: Bearer sk_test_1\r\n{KEY}: {key}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        socket.write_all(request.as_bytes()).await.unwrap();
        socket
    }

    pub(crate) async fn refund(&self, key: &str, intent: &str, amount: i64) -> Answer {
        let amount = amount.to_string();
        self.post("/v1/refunds", Some(key), &[("payment_intent", intent), ("amount", &amount)]).await
    }

    pub(crate) async fn faults(&self, method: Method, json: &str) -> Answer {
        read(self.client.request(method, self.url("/_faults")).body(json.to_owned())).await.unwrap()
    }

    /// Sets these rules, with seed 7.
    pub(crate) async fn rules(&self, rules: Value) {
        let set = self.faults(Method::POST, &json!({ "seed": 7, "rules": rules }).to_string()).await;
        assert_eq!(set.status, 200, "{}", set.json());
    }

    /// A number out of the processor's own books.
    pub(crate) async fn books(&self, query: &'static str) -> i64 {
        #[derive(QueryableByName)]
        struct Number {
            #[diesel(sql_type = BigInt)]
            number: i64,
        }
        let mut owner = self.database.owner().await;
        sql_query(query).get_result::<Number>(&mut owner).await.unwrap().number
    }

    /// How many charges were paid.
    pub(crate) async fn paid(&self) -> i64 {
        self.books("SELECT count(*) AS number FROM charge WHERE status = 'succeeded'").await
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        drop(self.server.stop(false));
    }
}

/// Stops when dropped.
pub(crate) struct SecondProvider {
    pub(crate) address: SocketAddr,
    server: ServerHandle,
}

impl Drop for SecondProvider {
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
) -> reqwest::Result<Answer> {
    let body = serde_urlencoded::to_string(form).unwrap();
    let request = client.post(url).bearer_auth("sk_test_1").body(body);
    let request = request.header("Content-Type", "application/x-www-form-urlencoded");
    read(match key {
        Some(key) => request.header(KEY, key),
        None => request,
    })
    .await
}

pub(crate) async fn read(request: reqwest::RequestBuilder) -> reqwest::Result<Answer> {
    let response = request.send().await?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Ok(Answer { status, headers, bytes: response.bytes().await?.to_vec() })
}

pub(crate) fn client() -> Client {
    // The first test of the process installs it; for the others it is there.
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
        endpoints: Vec::new(),
        pace: Pace::default(),
        log_level: "info".to_owned(),
        log_format: LogFormat::Pretty,
    }
}

fn start(settings: &Settings) -> (SocketAddr, ServerHandle) {
    let provider = Provider::start(settings).unwrap();
    let (address, server) = (provider.address(), provider.handle());
    Handle::current().spawn(provider.run());
    (address, server)
}
