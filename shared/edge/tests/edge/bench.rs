//! The shop behind a real socket, and its clients.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::middleware::from_fn;
use actix_web::{App, HttpServer, web};
use database::{Database, Settings};
use diesel::sql_types::BigInt;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use edge::{Authenticator, Edge, EdgeSettings, TokenPolicy};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use testkit::{TestDatabase, eventually, identity};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use utoipa_actix_web::service_config::ServiceConfig;
use uuid::Uuid;

use crate::response::TestResponse;
use crate::shop;

pub(crate) const KEY: &str = "8e03978e-40d5-43e8-bc93-6894a57f9324";
pub(crate) const SCOPES: &str = "orders:read orders:write inventory:write";

/// The time limit for a response. Without it, a test could wait for ever.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A running shop. When the test ends, it stops and its database is dropped.
pub(crate) struct Bench {
    pub(crate) database: Arc<TestDatabase>,
    pub(crate) address: SocketAddr,
    client: Client,
    server: ServerHandle,
}

impl Bench {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(adjust: impl FnOnce(&mut EdgeSettings)) -> Self {
        let database = shop_database().await;
        // A test may hold a command in its transaction for longer than a service allows.
        let long = Duration::from_mins(1);
        let mut settings = Settings::new(database.service_url(None));
        (settings.lock_timeout, settings.statement_timeout) = (long, long);
        let instance = Database::new(&settings, Handle::current()).unwrap();
        Self::on(database, instance, adjust)
    }

    /// A shop that trusts these keys.
    pub(crate) async fn trusting(authenticator: Arc<Authenticator>) -> Self {
        let database = shop_database().await;
        let edge = Edge::new(Database::clone(&database), authenticator, EdgeSettings::default());
        Self::of(Arc::new(database), edge)
    }

    /// Starts another instance on the same database.
    pub(crate) fn twin(&self) -> Self {
        let edge = Edge::new(self.database.second_instance(), trusted(), EdgeSettings::default());
        Self::of(Arc::clone(&self.database), edge)
    }

    /// A shop with its own connection to the database.
    pub(crate) fn on(
        database: TestDatabase,
        instance: Database,
        adjust: impl FnOnce(&mut EdgeSettings),
    ) -> Self {
        let mut settings = EdgeSettings::default();
        adjust(&mut settings);
        Self::of(Arc::new(database), Edge::new(instance, trusted(), settings))
    }

    fn of(database: Arc<TestDatabase>, edge: Edge) -> Self {
        let (address, server) = serve(edge);
        Self { database, address, client: testkit::http::client(), server }
    }

    /// Builds a request of the default client.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.request_as(&identity::token("acme", "web-shop", SCOPES), method, path)
    }

    pub(crate) fn request_as(&self, token: &str, method: Method, path: &str) -> RequestBuilder {
        self.plain(method, path).bearer_auth(token)
    }

    /// Builds a request without a token.
    pub(crate) fn plain(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("http://{}{path}", self.address)).timeout(TIMEOUT)
    }

    /// Builds a command of the default client. The body is sent unchanged.
    pub(crate) fn command(&self, path: &str, key: &str, body: impl Into<String>) -> RequestBuilder {
        json_body(self.request(Method::POST, path), body).header("Idempotency-Key", key)
    }

    pub(crate) async fn place(&self, key: &str, body: impl Into<String>) -> TestResponse {
        send(self.command("/v1/orders", key, body)).await
    }

    pub(crate) async fn get(&self, path: &str) -> TestResponse {
        send(self.request(Method::GET, path)).await
    }

    /// Sends these bytes on a new connection, and reads until the server closes it.
    pub(crate) async fn raw(&self, request: impl AsRef<[u8]>) -> TestResponse {
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        socket.write_all(request.as_ref()).await.unwrap();
        read(&mut socket).await
    }

    /// The head of a command, without the empty line.
    pub(crate) fn head(&self, path: &str, headers: &[&str]) -> String {
        let token = identity::token("acme", "web-shop", SCOPES);
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n",
            self.address
        );
        headers.iter().fold(head, |head, line| head + line + "\r\n")
    }

    pub(crate) async fn count(&self, table: Table) -> i64 {
        self.number(match table {
            Table::Orders => "SELECT count(*) AS number FROM placed",
            Table::Records => "SELECT count(*) AS number FROM idempotency_record",
            Table::Facts => "SELECT count(*) AS number FROM audit_fact",
        })
        .await
    }

    /// Returns the number that a query selects.
    pub(crate) async fn number(&self, query: &'static str) -> i64 {
        #[derive(diesel::QueryableByName)]
        struct Number {
            #[diesel(sql_type = BigInt)]
            number: i64,
        }
        let mut owner = self.database.owner().await;
        diesel::sql_query(query).get_result::<Number>(&mut owner).await.unwrap().number
    }

    /// Waits until a lock of the test holds a command in its transaction.
    pub(crate) async fn in_flight(&self) {
        let waiting = "SELECT count(*) AS number FROM pg_locks WHERE locktype = 'advisory' AND NOT granted \
                       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        eventually("a command is held", async || (self.number(waiting).await == 1).then_some(())).await;
    }

    /// Panics if a command has left an order or a record.
    pub(crate) async fn assert_untouched(&self) {
        let counts = [
            self.count(Table::Orders).await,
            self.count(Table::Records).await,
            self.count(Table::Facts).await,
        ];
        assert_eq!(counts, [0, 0, 0], "orders, records, facts");
    }

    /// Panics unless there are this many orders, each with its record and fact.
    pub(crate) async fn assert_orders(&self, number: i64) {
        let counts = [self.count(Table::Orders).await, self.count(Table::Facts).await];
        assert_eq!(counts, [number, number], "orders, facts");
    }
}

pub(crate) enum Table {
    Orders,
    Records,
    Facts,
}

impl Drop for Bench {
    fn drop(&mut self) {
        drop(self.server.stop(false));
    }
}

pub(crate) async fn shop_database() -> TestDatabase {
    let database = TestDatabase::plain().await;
    database.owner().await.batch_execute(shop::TABLES).await.unwrap();
    database
}

fn trusted() -> Authenticator {
    Authenticator::from_jwks(&identity::jwks(), TokenPolicy::of(identity::ISSUER, identity::AUDIENCE))
        .unwrap()
}

/// Mounts the routes as a service does.
fn serve(edge: Edge) -> (SocketAddr, ServerHandle) {
    let server = HttpServer::new(move || {
        App::new()
            .configure(|app| shop::routes(&mut ServiceConfig::new(app)))
            .app_data(web::Data::new(edge.clone()))
            .default_service(edge::unmatched(&shop::document()))
            .configure(edge::docs(&edge, edge::with_problems(&shop::document(), &[]).to_string()))
            .wrap(edge.cors())
            .wrap(from_fn(edge::head_as_get))
            .wrap(from_fn(edge::response_headers))
            .wrap(edge::request_span())
    })
    .workers(1)
    .h1_allow_half_closed(true)
    .bind("127.0.0.1:0")
    .unwrap();
    let address = server.addrs()[0];
    let server = server.disable_signals().run();
    let handle = server.handle();
    #[expect(clippy::disallowed_methods, reason = "stopped when the bench is dropped")]
    tokio::spawn(server);
    (address, handle)
}

pub(crate) async fn send(request: RequestBuilder) -> TestResponse {
    TestResponse::read(request.send().await.unwrap()).await
}

/// Reads a response until the server closes the connection.
pub(crate) async fn read(socket: &mut (impl AsyncRead + Unpin)) -> TestResponse {
    let mut bytes = Vec::new();
    let ended = tokio::time::timeout(TIMEOUT, socket.read_to_end(&mut bytes)).await;
    let ended = ended.unwrap_or_else(|_| {
        panic!("the connection does not end after {:?}", String::from_utf8_lossy(&bytes))
    });
    // The server may reset the connection if it has not read the whole request.
    assert!(ended.is_ok() || !bytes.is_empty(), "{ended:?}");
    TestResponse::parse(&bytes)
}

pub(crate) fn json_body(request: RequestBuilder, body: impl Into<String>) -> RequestBuilder {
    request.header("Content-Type", "application/json").body(body.into())
}

pub(crate) fn key() -> String {
    Uuid::new_v4().to_string()
}

/// The body of an order of this amount.
pub(crate) fn order(amount: i64) -> String {
    json!({"lines": [{"sku": "TEA", "amount": amount}]}).to_string()
}

/// The body of an order whose note selects the outcome.
pub(crate) fn noted(note: &str) -> String {
    let order: Value = json!({"lines": [{"sku": "TEA", "amount": 1}], "note": note});
    order.to_string()
}
