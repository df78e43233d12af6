//! One service with a database of its own, its HTTP side mounted without a socket.

use std::rc::Rc;

use actix_web::App;
use actix_web::body::to_bytes;
use actix_web::dev::Service;
use actix_web::http::Method;
use actix_web::test::{TestRequest, init_service};
use contracts::{ItemId, Sku};
use database::Database;
use diesel::sql_types::BigInt;
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use edge::{Authenticator, Edge, EdgeSettings, TokenPolicy};
use envelope::{TenantId, Topics};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use inventory::Inventory;
use runtime::{Context, Service as _};
use serde_json::{Value, json};
use testkit::{TestDatabase, identity};
use uuid::Uuid;

pub(crate) const TENANT: &str = "acme";

/// A response.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Outcome {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The problem code.
    pub(crate) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    /// The pointers of the errors in a 400.
    pub(crate) fn pointers(&self) -> Vec<&str> {
        let errors = self.body["errors"].as_array();
        errors.into_iter().flatten().filter_map(|error| error["pointer"].as_str()).collect()
    }
}

type Call = Box<dyn Fn(TestRequest) -> LocalBoxFuture<'static, Outcome>>;

pub(crate) struct Stage {
    call: Call,
    /// The service's pool: another one than the test database's own, so that it can be closed.
    pub(crate) instance: Database,
    pub(crate) database: TestDatabase,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let database = TestDatabase::with(vec![Inventory::migrations()]).await;
        let instance = database.second_instance();
        let authenticator = Authenticator::from_jwks(
            &identity::jwks(),
            TokenPolicy::of(identity::ISSUER, identity::AUDIENCE),
        )
        .unwrap();
        let edge = Edge::new(instance.clone(), authenticator, EdgeSettings::default());
        let routes = runtime::routes(edge, context(&instance));
        let service = Rc::new(init_service(App::new().configure(routes)).await);
        let call = move |request: TestRequest| {
            let service = Rc::clone(&service);
            async move {
                let response = service.call(request.to_request()).await.unwrap();
                let headers = response.headers().iter();
                let headers = headers.map(|(n, v)| (n.to_string(), v.to_str().unwrap().to_owned())).collect();
                let status = response.status().as_u16();
                let bytes = to_bytes(response.into_body()).await.unwrap();
                let body =
                    if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() };
                Outcome { status, headers, body }
            }
            .boxed_local()
        };
        Self { call: Box::new(call), instance, database }
    }

    /// Closes the service's pool, and keeps the database.
    pub(crate) fn close(self) -> TestDatabase {
        self.database
    }

    pub(crate) fn context(&self) -> Context<Inventory> {
        context(&self.instance)
    }

    /// Returns a client with both scopes.
    pub(crate) fn client(&self) -> Client<'_> {
        self.client_of(TENANT, "inventory:read inventory:write")
    }

    pub(crate) fn client_of(&self, tenant: &str, scopes: &str) -> Client<'_> {
        Client { stage: self, token: identity::token(tenant, "tester", scopes) }
    }

    /// Returns a client whose token is not valid here.
    pub(crate) fn stranger(&self) -> Client<'_> {
        Client { stage: self, token: "nonsense".to_owned() }
    }

    async fn owner(&self) -> AsyncPgConnection {
        self.database.owner().await
    }

    /// Runs a statement as the owner, which the service may not run.
    pub(crate) async fn as_owner(&self, sql: &str) {
        self.owner().await.batch_execute(sql).await.unwrap();
    }

    /// Returns the number that a query selects.
    pub(crate) async fn count(&self, sql: &str) -> i64 {
        self.database.count(sql).await
    }

    /// Returns the items whose stock differs from their movements and reservations.
    pub(crate) async fn unbalanced_items(&self) -> i64 {
        self.count(
            "SELECT count(*) FROM item i
             WHERE on_hand <> (SELECT coalesce(sum(delta), 0) FROM stock_movement m WHERE m.item_id = i.id)
                OR reserved <> (SELECT coalesce(sum(quantity), 0) FROM reservation_line l
                                JOIN reservation r USING (order_id) WHERE l.item_id = i.id AND r.state = 'held')",
        )
        .await
    }

    /// The announced events of an aggregate: sequence, type, data.
    pub(crate) async fn announced(&self, aggregate: Uuid) -> Vec<(i64, String, Value)> {
        #[derive(QueryableByName)]
        struct Row {
            #[diesel(sql_type = BigInt)]
            sequence: i64,
            #[diesel(sql_type = diesel::sql_types::Text)]
            kind: String,
            #[diesel(sql_type = diesel::sql_types::Binary)]
            payload: Vec<u8>,
        }
        let rows: Vec<Row> = sql_query(
            "SELECT sequence, type AS kind, payload FROM outbox_event WHERE aggregate_id = $1 ORDER BY id",
        )
        .bind::<diesel::sql_types::Uuid, _>(aggregate)
        .load(&mut self.owner().await)
        .await
        .unwrap();
        rows.into_iter()
            .map(|row| (row.sequence, row.kind, serde_json::from_slice(&row.payload).unwrap()))
            .collect()
    }
}

fn context(database: &Database) -> Context<Inventory> {
    Context { database: database.clone(), topics: Topics::of("test"), settings: () }
}

/// A client with a token.
pub(crate) struct Client<'s> {
    stage: &'s Stage,
    token: String,
}

impl Client<'_> {
    pub(crate) async fn get(&self, path: &str) -> Outcome {
        self.send(self.request(Method::GET, path)).await
    }

    pub(crate) async fn put_item(&self, sku: &str, body: Value) -> Outcome {
        self.send(self.request(Method::PUT, &format!("/v1/items/{sku}")).set_json(body)).await
    }

    /// Adds `If-Match` with this version.
    pub(crate) async fn put_item_if(&self, versions: &str, sku: &str, body: Value) -> Outcome {
        let request = self.request(Method::PUT, &format!("/v1/items/{sku}")).set_json(body);
        self.send(request.insert_header(("If-Match", versions))).await
    }

    /// Adds `If-None-Match: *`.
    pub(crate) async fn create_item(&self, sku: &str, body: Value) -> Outcome {
        let request = self.request(Method::PUT, &format!("/v1/items/{sku}")).set_json(body);
        self.send(request.insert_header(("If-None-Match", "*"))).await
    }

    /// Adds `If-None-Match` with this version.
    pub(crate) async fn get_unless(&self, versions: &str, path: &str) -> Outcome {
        self.send(self.request(Method::GET, path).insert_header(("If-None-Match", versions))).await
    }

    /// Sends a POST with a new key.
    pub(crate) async fn adjust(&self, sku: &str, body: Value) -> Outcome {
        self.adjust_as(Uuid::new_v4(), sku, body).await
    }

    pub(crate) async fn adjust_as(&self, key: Uuid, sku: &str, body: Value) -> Outcome {
        let request = self.request(Method::POST, &format!("/v1/items/{sku}/adjustments"));
        self.send(request.insert_header(("Idempotency-Key", key.to_string())).set_json(body)).await
    }

    /// Creates an item with this stock.
    pub(crate) async fn stock(&self, sku: &str, on_hand: i64) {
        let put = self.put_item(sku, tea()).await;
        assert_eq!(put.status, 201, "{put:?}");
        let adjusted = self.adjust(sku, delta(on_hand)).await;
        assert_eq!(adjusted.status, 201, "{adjusted:?}");
    }

    /// `on_hand` and `reserved` of an item.
    pub(crate) async fn stock_of(&self, sku: &str) -> (i64, i64) {
        let item = self.get(&format!("/v1/items/{sku}")).await;
        assert_eq!(item.status, 200, "{item:?}");
        let number = |name: &str| item.body[name].as_i64().unwrap();
        assert_eq!(number("available"), number("on_hand") - number("reserved"));
        (number("on_hand"), number("reserved"))
    }

    fn request(&self, method: Method, path: &str) -> TestRequest {
        let bearer = format!("Bearer {}", self.token);
        TestRequest::with_uri(path).method(method).insert_header(("Authorization", bearer))
    }

    async fn send(&self, request: TestRequest) -> Outcome {
        (self.stage.call)(request).await
    }
}

pub(crate) fn tea() -> Value {
    json!({"name": "Green tea", "unit_price": {"amount": 450, "currency": "EUR"}})
}

/// The same item at another price.
pub(crate) fn tea_at(amount: i64) -> Value {
    json!({"name": "Green tea", "unit_price": {"amount": amount, "currency": "EUR"}})
}

pub(crate) fn delta(delta: i64) -> Value {
    json!({"delta": delta, "reason": "a test"})
}

pub(crate) fn tenant() -> TenantId {
    TENANT.parse().unwrap()
}

pub(crate) fn sku(name: &str) -> Sku {
    name.parse().unwrap()
}

pub(crate) fn item_id(name: &str) -> Uuid {
    ItemId::of(&tenant(), &sku(name)).uuid()
}
