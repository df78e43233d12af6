//! A running orders API with a database of its own.

use std::net::SocketAddr;
use std::time::Duration;

use actix_web::{App, HttpServer};
use contracts::Topics;
use database::Database;
use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;
use edge::{Authenticator, Edge, EdgeSettings};
use orders::{Orders, Settings};
use reqwest::{RequestBuilder, Response};
use runtime::{Context, Service};
use serde_json::{Value, json};
use testkit::{TestDatabase, identity};
use uuid::Uuid;

pub(crate) struct Bench {
    pub(crate) database: TestDatabase,
    pub(crate) address: SocketAddr,
    client: reqwest::Client,
    server: actix_web::dev::ServerHandle,
}

impl Bench {
    pub(crate) async fn start() -> Self {
        let database = TestDatabase::with(vec![Orders::migrations()]).await;
        let authenticator =
            Authenticator::from_jwks(&identity::jwks(), identity::ISSUER, identity::AUDIENCE).unwrap();
        let edge = Edge::new(Database::clone(&database), authenticator, EdgeSettings::default());
        let context = Context::<Orders> {
            database: Database::clone(&database),
            topics: Topics::with_prefix("unused."),
            settings: Settings { expiry: Duration::from_mins(15), expiry_poll: Duration::from_secs(1) },
        };
        let server = HttpServer::new(move || {
            App::new().configure(runtime::routes(edge.clone(), context.clone())).wrap(edge::request_span())
        })
        .workers(1)
        .bind("127.0.0.1:0")
        .unwrap();
        let address = server.addrs()[0];
        let server = server.disable_signals().run();
        let handle = server.handle();
        #[expect(clippy::disallowed_methods, reason = "stopped when the bench is dropped")]
        tokio::spawn(server);
        Self { database, address, client: testkit::http::client(), server: handle }
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
        let token = identity::token(tenant, "shop", "orders:read");
        self.client.get(format!("http://{}{path}", self.address)).bearer_auth(token).send().await.unwrap()
    }

    /// The answer of a query that counts.
    pub(crate) async fn count(&self, sql: &'static str) -> i64 {
        #[derive(diesel::QueryableByName)]
        struct Count {
            #[diesel(sql_type = BigInt)]
            count: i64,
        }
        let mut owner = self.database.owner().await;
        let counted: Count = diesel::sql_query(sql).get_result(&mut owner).await.unwrap();
        counted.count
    }
}

impl Drop for Bench {
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

/// The problem's code, after a look at its form.
pub(crate) async fn problem(response: Response, status: u16) -> String {
    assert_eq!(response.status(), status);
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["status"], status);
    let code = body["code"].as_str().unwrap().to_owned();
    assert_eq!(body["type"], format!("/problems/{code}"));
    code
}
