//! Phased commands: the responses to a client in each state of the operation.

use std::time::Duration;

use diesel_async::SimpleAsyncConnection;
use envelope::OperationId;
use idempotency::{Conclusion, StoredResponse};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{eventually, identity};
use uuid::Uuid;

use crate::bench::{Bench, KEY, SCOPES, Table, json_body, key, send};
use crate::response::TestResponse;
use crate::shop::{done, not_now};

/// Longer than any test.
const LONG: Duration = Duration::from_mins(10);

async fn bench(wait: Duration) -> Bench {
    Bench::with(|settings| settings.operation_wait = wait).await
}

async fn transfer(bench: &Bench, key: &str, amount: i64) -> TestResponse {
    send(bench.command("/v1/transfers", key, json!({ "amount": amount }).to_string())).await
}

async fn under_way(bench: &Bench) -> OperationId {
    let started = "SELECT count(*) AS number FROM idempotency_record WHERE state = 'started'";
    eventually("a transfer under way", async || (bench.number(started).await == 1).then_some(())).await;
    let records = bench.get(&format!("/v1/idempotency-keys/{KEY}")).await;
    let id = records.json()["data"][0]["operation_id"].clone();
    OperationId::from(id.as_str().unwrap().parse::<Uuid>().unwrap())
}

async fn conclude(bench: &Bench, id: OperationId, conclusion: Conclusion) {
    let mut tx = bench.database.begin().await.unwrap();
    idempotency::conclude(&mut tx, id, conclusion).await.unwrap();
    tx.commit().await.unwrap();
}

/// Starts a transfer, and concludes it while its handler waits.
async fn concluded(bench: &Bench, conclusion: Conclusion) -> (OperationId, TestResponse) {
    let (response, id) = tokio::join!(transfer(bench, KEY, 1), async {
        let id = under_way(bench).await;
        conclude(bench, id, conclusion).await;
        id
    });
    (id, response)
}

/// Starts a transfer that is answered with 202. Returns its operation and the response.
async fn accepted(bench: &Bench) -> (OperationId, TestResponse) {
    let response = transfer(bench, KEY, 1).await;
    assert_eq!(response.status, 202, "{response:?}");
    let id = response.json()["operation_id"].as_str().unwrap().parse::<Uuid>().unwrap();
    assert_eq!(response.header("location"), Some(format!("/v1/operations/{id}").as_str()));
    assert_eq!(response.json()["location"], response.header("location").unwrap());
    assert_eq!(
        (response.header("retry-after"), response.header("idempotency-status")),
        (Some("1"), Some("executed"))
    );
    (id.into(), response)
}

async fn operation(bench: &Bench, id: OperationId) -> TestResponse {
    bench.get(&format!("/v1/operations/{id}")).await
}

/// Returns the state of the key's record, as its owner reads it.
async fn state(bench: &Bench) -> Value {
    bench.get(&format!("/v1/idempotency-keys/{KEY}")).await.json()["data"][0]["state"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_in_time_is_the_response() {
    let bench = bench(LONG).await;
    let (id, response) = concluded(&bench, Conclusion::Succeeded(done())).await;
    assert_eq!((response.status, response.header("location")), (201, Some("/v1/transfers/1")));
    assert_eq!(response.header("idempotency-status"), Some("executed"));
    transfer(&bench, KEY, 1).await.assert_replays(&response);
    assert_eq!(state(&bench).await, "completed");
    let operation = operation(&bench, id).await;
    assert_eq!((operation.status, operation.header("retry-after")), (200, None));
    assert_eq!(operation.json()["status"], "succeeded");
    let reply = &operation.json()["reply"];
    assert_eq!((&reply["status"], &reply["body"]), (&json!(201), &json!({ "done": true })));
    assert_eq!(reply["headers"]["location"], "/v1/transfers/1");
    assert_eq!(bench.count(Table::Facts).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_takes_longer_is_202_and_its_outcome_is_at_the_operation() {
    let bench = bench(Duration::from_millis(50)).await;
    let (id, response) = accepted(&bench).await;
    assert_eq!(state(&bench).await, "unknown");
    let running = operation(&bench, id).await;
    assert_eq!(running.header("retry-after"), Some("1"));
    assert_eq!((&running.json()["status"], &running.json()["reply"]), (&json!("running"), &Value::Null));
    assert_eq!(running.json().as_object().unwrap().len(), 5);
    conclude(&bench, id, Conclusion::Unknown).await;
    assert_eq!(operation(&bench, id).await.json()["status"], "unknown");

    conclude(&bench, id, Conclusion::Succeeded(done())).await;
    assert_eq!(operation(&bench, id).await.json()["status"], "succeeded");
    assert_eq!(state(&bench).await, "completed");
    // The stored 202 stays the same, on the other instance too.
    transfer(&bench, KEY, 1).await.assert_replays(&response);
    transfer(&bench.twin(), KEY, 1).await.assert_replays(&response);
    assert_eq!(bench.count(Table::Facts).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_command_is_in_progress_its_duplicate_is_409_and_another_request_is_refused() {
    let bench = bench(LONG).await;
    let (response, ()) = tokio::join!(transfer(&bench, KEY, 1), async {
        let id = under_way(&bench).await;
        assert!(transfer(&bench, KEY, 1).await.refuses(409, "idempotency-key-in-progress").retryable);
        assert!(!transfer(&bench, KEY, 2).await.refuses(409, "idempotency-key-reused").retryable);
        assert_eq!(state(&bench).await, "started");
        conclude(&bench, id, Conclusion::Succeeded(done())).await;
    });
    assert_eq!(response.status, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_of_an_attempt_without_effect_is_executed() {
    let bench = bench(LONG).await;
    let (id, response) = concluded(&bench, Conclusion::Retryable(not_now())).await;
    assert!(response.refuses(503, "service-unavailable").retryable);
    assert_eq!(response.header("idempotency-status"), None);
    assert_eq!(state(&bench).await, "failed_retryable");
    transfer(&bench, KEY, 2).await.refuses(409, "idempotency-key-reused");
    let (again, response) = concluded(&bench, Conclusion::Succeeded(done())).await;
    assert_eq!((again, response.status), (id, 201));
    assert_eq!(bench.count(Table::Facts).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_failure_is_replayed() {
    let bench = bench(LONG).await;
    let broken = StoredResponse { status: 500, ..done() };
    let (_, response) = concluded(&bench, Conclusion::Terminal(broken)).await;
    assert_eq!((response.status, state(&bench).await), (500, json!("failed_terminal")));
    transfer(&bench, KEY, 1).await.assert_replays(&response);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_202_expires_like_any_other() {
    let bench = bench(Duration::ZERO).await;
    let (id, _) = accepted(&bench).await;
    let age = "UPDATE idempotency_record SET expires_at = clock_timestamp()";
    bench.database.owner().await.batch_execute(age).await.unwrap();
    let problem = transfer(&bench, KEY, 1).await;
    assert!(!problem.refuses(409, "idempotency-key-expired").retryable);
    assert_eq!(problem.header("retry-after"), None);
    assert_eq!(state(&bench).await, "expired");
    assert_eq!(operation(&bench, id).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_is_stored_and_a_validation_error_is_not() {
    let bench = bench(LONG).await;
    transfer(&bench, KEY, 0).await.refuses(400, "request-invalid");
    bench.assert_untouched().await;
    let response = transfer(&bench, KEY, 13).await;
    response.refuses(422, "too-much");
    transfer(&bench, KEY, 13).await.assert_replays(&response);
    assert_eq!(bench.count(Table::Facts).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_of_another_tenant_or_client_is_404() {
    let bench = bench(Duration::ZERO).await;
    let (id, _) = accepted(&bench).await;
    let read = async |tenant: &str, client: &str, scopes: &str, id: &str| {
        let token = identity::token(tenant, client, scopes);
        send(bench.request_as(&token, Method::GET, &format!("/v1/operations/{id}"))).await
    };
    let (id, unknown) = (id.to_string(), key());
    let nowhere = read("globex", "web-shop", SCOPES, &unknown).await;
    nowhere.refuses(404, "not-found");
    for theirs in [id.as_str(), "nonsense"] {
        let theirs = read("globex", "web-shop", SCOPES, theirs).await;
        assert_eq!(theirs.without_id(), nowhere.without_id());
    }
    assert_eq!(read("acme", "call-centre", SCOPES, &id).await.status, 200);
    read("acme", "web-shop", "profile", &id).await.refuses(403, "forbidden");
    assert_eq!(read("acme", "web-shop", "orders:write", &id).await.status, 200);
    read("acme", "call-centre", "orders:write", &id).await.refuses(404, "not-found");
    send(bench.plain(Method::GET, &format!("/v1/operations/{id}"))).await.refuses(401, "unauthenticated");
    let anonymous = json_body(bench.plain(Method::POST, "/v1/transfers"), r#"{"amount":1}"#);
    send(anonymous.header("Idempotency-Key", KEY)).await.refuses(401, "unauthenticated");
}
