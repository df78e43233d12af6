//! One service with a database of its own, its HTTP side mounted without a socket, and the topics that it reads.

use actix_web::App;
use actix_web::body::to_bytes;
use actix_web::dev::Service as _;
use actix_web::test::{TestRequest, init_service};
use contracts::OrderId;
use database::Database;
use edge::{Authenticator, Edge, EdgeSettings, TokenPolicy};
use envelope::Topics;
use inbox::{Runner, RunnerSettings};
use parcels::Parcels;
use parcels::events::ParcelId;
use runtime::{Context, Service};
use serde_json::{Value, json};
use testkit::{Background, TestDatabase, TestTopics, confirmed, eventually, identity, publish, record};
use uuid::Uuid;

/// The tenant of `testkit`'s messages.
pub(crate) const TENANT: &str = "acme";

pub(crate) struct Stage {
    pub(crate) database: TestDatabase,
    topics: TestTopics,
}

/// Status, headers and body of a response.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: u16,
    pub(crate) replayed: bool,
    pub(crate) body: Value,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let database = TestDatabase::with(vec![Parcels::migrations()]).await;
        Self { database, topics: TestTopics::create().await }
    }

    fn context(&self) -> Context<Parcels> {
        let (database, topics) = (Database::clone(&self.database), Topics::clone(&self.topics));
        Context { database, topics, settings: () }
    }

    /// Publishes the confirmation of a new order, so often. Returns the order once its parcel is in the list.
    pub(crate) async fn confirmed(&self, times: usize) -> OrderId {
        let order = OrderId::generate();
        let message = record(&self.topics, 1, &confirmed(order));
        let consumer = Parcels::consumer(&self.context()).unwrap();
        let database = Database::clone(&self.database);
        let settings = RunnerSettings::default();
        let runner =
            Runner::join(database, &self.topics.brokers(), &self.topics, consumer, settings).unwrap();
        let listener = Background::run(|stop| async move { runner.run(stop).await });
        publish(&self.topics, &vec![message; times]).await;
        self.topics.wait_until_consumed("parcels", &[contracts::streams::ORDERS]).await;
        listener.stop().await;
        eventually("the parcel", async || self.parcel(TENANT, order).await.map(|_| ())).await;
        order
    }

    /// The parcel of an order in the list of this tenant.
    pub(crate) async fn parcel(&self, tenant: &str, order: OrderId) -> Option<Value> {
        let list = self.send(tenant, TestRequest::get().uri("/v1/parcels?limit=100")).await;
        assert_eq!(list.status, 200, "{list:?}");
        list.body["data"].as_array().unwrap().iter().find(|it| it["order_id"] == json!(order)).cloned()
    }

    pub(crate) async fn complete(&self, tenant: &str, key: Uuid, order: OrderId, note: &str) -> Outcome {
        let path = format!("/v1/parcels/{}/complete", ParcelId::of(order));
        let request = TestRequest::post().uri(&path).set_json(json!({"note": note}));
        self.send(tenant, request.insert_header(("Idempotency-Key", key.to_string()))).await
    }

    async fn send(&self, tenant: &str, request: TestRequest) -> Outcome {
        let authenticator = Authenticator::from_jwks(
            &identity::jwks(),
            TokenPolicy::of(identity::ISSUER, identity::AUDIENCE),
        )
        .unwrap();
        let edge = Edge::new(Database::clone(&self.database), authenticator, EdgeSettings::default());
        let app = init_service(App::new().configure(runtime::routes(edge, self.context()))).await;
        let bearer = format!("Bearer {}", identity::token(tenant, "tester", "parcels:read parcels:write"));
        let request = request.insert_header(("Authorization", bearer)).to_request();
        let response = app.call(request).await.unwrap();
        let replayed = response.headers().contains_key("Idempotent-Replayed");
        let status = response.status().as_u16();
        let body = serde_json::from_slice(&to_bytes(response.into_body()).await.unwrap()).unwrap();
        Outcome { status, replayed, body }
    }
}
