//! A running orders API with a database of its own.

use std::net::SocketAddr;
use std::ops::Deref;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpServer};
use database::Database;
use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;
use edge::{Authenticator, Edge, EdgeSettings, TokenPolicy};
use envelope::Topics;
use orders::{Orders, Settings};
use reqwest::{RequestBuilder, Response};
use runtime::{Context, Service};
use serde_json::{Value, json};
use testkit::{TestDatabase, eventually, identity};
use tokio::runtime::Handle;
use uuid::Uuid;

/// An instance of the service, and its clients.
pub(crate) struct Instance {
    pub(crate) address: SocketAddr,
    client: reqwest::Client,
    server: ServerHandle,
}

/// An instance with a database of its own. Derefs to the instance.
pub(crate) struct Bench {
    pub(crate) database: TestDatabase,
    instance: Instance,
}

impl Deref for Bench {
    type Target = Instance;
    fn deref(&self) -> &Instance {
        &self.instance
    }
}

impl Bench {
    pub(crate) async fn start() -> Self {
        Self::with(EdgeSettings::default()).await
    }

    pub(crate) async fn with(settings: EdgeSettings) -> Self {
        let database = TestDatabase::with(vec![Orders::migrations()]).await;
        let instance = Instance::on(Database::clone(&database), settings);
        Self { database, instance }
    }

    /// Uses only one connection to its database, through a proxy if there is one.
    pub(crate) async fn of_one_connection(through: Option<SocketAddr>, settings: EdgeSettings) -> Self {
        let database = TestDatabase::with(vec![Orders::migrations()]).await;
        let instance = Instance::on(one_connection(&database, through), settings);
        Self { database, instance }
    }

    /// Another instance, which has one connection.
    pub(crate) fn second_instance(&self) -> Instance {
        Instance::on(one_connection(&self.database, None), EdgeSettings::default())
    }

    /// Puts an item into the catalogue, as inventory's event would.
    pub(crate) async fn item(&self, tenant: &str, sku: &str, price: i64, currency: &str) {
        let mut owner = self.database.owner().await;
        diesel::sql_query(
            "INSERT INTO catalogue_item (tenant_id, sku, item_id, name, unit_price, currency, version) \
             VALUES ($1, $2, gen_random_uuid(), $2, $3, $4, 1)",
        )
        .bind::<Text, _>(tenant)
        .bind::<Text, _>(sku)
        .bind::<BigInt, _>(price)
        .bind::<Text, _>(currency)
        .execute(&mut owner)
        .await
        .unwrap();
    }

    /// Waits until a request is held in its transaction by a lock on the catalogue that the test has.
    pub(crate) async fn until_held(&self) {
        // Each database is a copy of one template, so the table has the same oid in all.
        let held = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'catalogue_item'::regclass \
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        eventually("a request is held in its transaction", async || {
            (self.count(held).await == 1).then_some(())
        })
        .await;
    }

    /// Returns the number that a query selects.
    pub(crate) async fn count(&self, sql: &str) -> i64 {
        self.database.count(sql).await
    }
}

fn one_connection(database: &TestDatabase, through: Option<SocketAddr>) -> Database {
    let mut settings = patient(database, through);
    settings.pool_size = 1;
    Database::new(&settings, Handle::current()).unwrap()
}

/// A test may hold a request in its transaction for longer than a service allows.
fn patient(database: &TestDatabase, through: Option<SocketAddr>) -> database::Settings {
    let mut settings = database::Settings::new(database.service_url(through));
    let long = Duration::from_mins(1);
    (settings.lock_timeout, settings.statement_timeout, settings.idle_in_transaction_timeout) =
        (long, long, long);
    settings
}

pub(crate) fn context(database: Database) -> Context<Orders> {
    Context {
        database,
        topics: Topics::of("unused"),
        settings: Settings { expiry: Duration::from_mins(15), expiry_poll: Duration::from_secs(1) },
    }
}

impl Instance {
    fn on(database: Database, settings: EdgeSettings) -> Self {
        let authenticator = Authenticator::from_jwks(
            &identity::jwks(),
            TokenPolicy::of(identity::ISSUER, identity::AUDIENCE),
        )
        .unwrap();
        let edge = Edge::new(database.clone(), authenticator, settings);
        let context = context(database);
        let server = HttpServer::new(move || {
            App::new().configure(runtime::routes(edge.clone(), context.clone())).wrap(edge::request_span())
        })
        .workers(1)
        .bind("127.0.0.1:0")
        .unwrap();
        let address = server.addrs()[0];
        let server = server.disable_signals().run();
        let handle = server.handle();
        #[expect(clippy::disallowed_methods, reason = "stopped when the instance is dropped")]
        tokio::spawn(server);
        Self { address, client: testkit::http::client(), server: handle }
    }

    pub(crate) fn post(&self, tenant: &str, path: &str, key: &str, body: &Value) -> RequestBuilder {
        let token = identity::token(tenant, "shop", "orders:read orders:write");
        let request = self.client.post(format!("http://{}{path}", self.address)).bearer_auth(token);
        request.header("Idempotency-Key", key).json(body)
    }

    pub(crate) async fn place(&self, tenant: &str, key: &str, body: &Value) -> Response {
        self.post(tenant, "/v1/orders", key, body).send().await.unwrap()
    }

    /// Places an order for one TEA and returns it.
    pub(crate) async fn placed(&self, tenant: &str) -> Value {
        let response = self.place(tenant, &key(), &order("TEA")).await;
        assert_eq!(response.status(), 201);
        response.json().await.unwrap()
    }

    pub(crate) async fn get(&self, tenant: &str, path: &str) -> Response {
        self.read(&identity::token(tenant, "shop", "orders:read"), path).send().await.unwrap()
    }

    /// Reads this path with `If-None-Match`. The response is 304 if the version is current.
    pub(crate) async fn get_unless(&self, tenant: &str, path: &str, known: &str) -> Response {
        let token = identity::token(tenant, "shop", "orders:read");
        self.read(&token, path).header("If-None-Match", known).send().await.unwrap()
    }

    pub(crate) fn read(&self, token: &str, path: &str) -> RequestBuilder {
        self.client.get(format!("http://{}{path}", self.address)).bearer_auth(token)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        drop(self.server.stop(false));
    }
}

pub(crate) fn key() -> String {
    Uuid::new_v4().to_string()
}

pub(crate) fn order(sku: &str) -> Value {
    json!({"lines": [{"sku": sku, "quantity": 2}], "payment_method": "pm_card_visa"})
}

/// Returns the code of the problem. Panics if its format is wrong.
pub(crate) async fn problem(response: Response, status: u16) -> String {
    assert_eq!(response.status(), status);
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["status"], status);
    let code = body["code"].as_str().unwrap().to_owned();
    assert_eq!(body["type"], format!("/problems/{code}"));
    code
}
