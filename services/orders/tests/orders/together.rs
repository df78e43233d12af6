//! Orders that arrive at the same time.

use database::GroupSettings;
use diesel_async::SimpleAsyncConnection;
use edge::EdgeSettings;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use reqwest::Response;
use serde_json::{Value, json};

use crate::bench::{Bench, key, order, problem};

/// Stops every read of a price until the transaction ends.
const HOLD: &str = "BEGIN; LOCK TABLE catalogue_item IN ACCESS EXCLUSIVE MODE";

/// Orders whose event, fact, timeline entry, record and snapshot were written by the same transaction.
const WHOLE: &str = "
    SELECT count(*) FROM orders o
      JOIN outbox_event e ON e.aggregate_id = o.id AND e.tenant_id = o.tenant_id AND e.xid::text = o.xmin::text
      JOIN audit_fact a ON a.subject_id = o.id::text AND a.tenant_id = o.tenant_id AND a.xmin = o.xmin
      JOIN order_timeline t ON t.order_id = o.id AND t.cause_id = a.operation_id AND t.xmin = o.xmin
      JOIN idempotency_record r ON r.operation_id = a.operation_id AND r.tenant_id = o.tenant_id AND r.xmin = o.xmin
      JOIN idempotency_snapshot s ON s.operation_id = a.operation_id AND s.xmin = o.xmin
     WHERE convert_from(s.body, 'UTF8')::jsonb ->> 'id' = o.id::text";

/// The number of requests that arrive at the same time, and the number that may wait.
const ARRIVING: usize = 20;
const WAITING: usize = 12;

fn body(number: usize) -> Value {
    let line = json!({"sku": "TEA", "quantity": 1});
    match number % 10 {
        1 => {
            json!({"lines": [line], "payment_method": "pm_card_visa", "expected_total": {"amount": 1, "currency": "EUR"}})
        }
        2 => order("UNKNOWN"),
        3 => json!({"lines": [], "payment_method": "pm_card_visa"}),
        _ => order("TEA"),
    }
}

/// One request; a second sending is the same request.
struct Sent {
    number: usize,
    tenant: &'static str,
    key: String,
}

impl Sent {
    fn new(number: usize) -> Self {
        Self { number, tenant: ["acme", "other"][number % 2], key: key() }
    }

    async fn to(self, bench: &Bench) -> (Self, Response) {
        let response = bench.place(self.tenant, &self.key, &body(self.number)).await;
        (self, response)
    }

    /// Checks that the response belongs to this request. Returns the order.
    async fn got(self, bench: &Bench, response: Response) -> Option<String> {
        match self.number % 10 {
            1 => assert_eq!(problem(response, 422).await, "price-changed"),
            2 => assert_eq!(problem(response, 422).await, "item-unknown"),
            3 => assert_eq!(problem(response, 400).await, "request-invalid"),
            _ => {
                assert_eq!(response.status(), 201);
                let text = response.text().await.unwrap();
                let (Self { tenant, .. }, again) = self.to(bench).await;
                assert_eq!(again.headers()["Idempotency-Status"], "replayed");
                assert_eq!(again.text().await.unwrap(), text, "the response of another order");
                let id = serde_json::from_str::<Value>(&text).unwrap()["id"].as_str().unwrap().to_owned();
                let others = if tenant == "acme" { "other" } else { "acme" };
                let path = format!("/v1/orders/{id}");
                assert_eq!(bench.get(tenant, &path).await.status(), 200);
                assert_eq!(problem(bench.get(others, &path).await, 404).await, "not-found");
                return Some(id);
            }
        }
        None
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_that_arrive_together_share_a_transaction_and_do_not_affect_each_other() {
    let groups = GroupSettings { at_once: 1, waiting: WAITING, ..GroupSettings::default() };
    let bench = Bench::with(EdgeSettings { groups, ..EdgeSettings::default() }).await;
    for tenant in ["acme", "other"] {
        bench.item(tenant, "TEA", 450, "EUR").await;
    }
    let mut owner = bench.database.owner().await;
    owner.batch_execute(HOLD).await.unwrap();
    let crowd = async {
        // The first one is held in its transaction, and has the only place.
        bench.until_held().await;
        let mut all: FuturesUnordered<_> = (0..ARRIVING).map(|number| Sent::new(number).to(&bench)).collect();
        let mut turned_away = Vec::new();
        for _ in WAITING..ARRIVING {
            let (sent, response) = all.next().await.unwrap();
            assert_eq!(problem(response, 503).await, "service-unavailable");
            turned_away.push(sent);
        }
        // The others wait.
        owner.batch_execute("COMMIT").await.unwrap();
        (all.collect::<Vec<_>>().await, turned_away)
    };
    let (key, body) = (key(), order("TEA"));
    let (first, (waited, turned_away)) = tokio::join!(bench.place("acme", &key, &body), crowd);
    assert_eq!(first.status(), 201);
    let mut orders = 1;
    for (sent, response) in waited {
        orders += i64::from(sent.got(&bench, response).await.is_some());
    }
    assert_eq!(bench.count("SELECT count(*) FROM orders").await, orders);
    // The transaction of the first request, and the one of the group.
    assert_eq!(bench.count("SELECT count(DISTINCT xmin::text) FROM orders").await, 2);

    for sent in turned_away {
        let (sent, response) = sent.to(&bench).await;
        orders += i64::from(sent.got(&bench, response).await.is_some());
    }
    assert_eq!(bench.count("SELECT count(*) FROM orders").await, orders);
    assert_eq!(bench.count(WHOLE).await, orders);
    // Two rejections are stored. Refused requests leave nothing.
    assert_eq!(bench.count("SELECT count(*) FROM idempotency_record").await, orders + 2);
}
