//! Phased commands: accepted by the handler, and concluded later by a worker.

mod conclusions;
mod fences;
mod metrics;
mod races;
mod releases;
mod retries;
mod stored_responses;

use std::time::Duration;

use database::{Database, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use envelope::OperationId;
use idempotency::{
    CommandError, Conclusion, KeyedRequest, Operation, OperationRecord, Outcome, Retention, StoredResponse,
    WaitPolicy,
};
use testkit::{TestDatabase, eventually};
use uuid::Uuid;

use crate::shop::{self, Runs, idempotency_record, leave, response};

/// Longer than any test.
const LONG: Duration = Duration::from_mins(10);
const SHORT: Duration = Duration::from_millis(30);
const NONE: Duration = Duration::ZERO;

fn accepted(id: OperationId) -> StoredResponse {
    response(202, &format!("look at {id}"))
}

fn created() -> StoredResponse {
    response(201, "created")
}

fn declined() -> StoredResponse {
    response(402, "declined")
}

fn not_executed() -> StoredResponse {
    response(503, "not executed")
}

/// A service with one phased command; clones count together.
#[derive(Clone, Default)]
struct Shop {
    begun: Runs,
    resumed: Runs,
}

impl Shop {
    async fn send(
        &self,
        database: &Database,
        limit: Duration,
        request: KeyedRequest,
    ) -> database::Result<Outcome> {
        let (begun, resumed) = (self.begun.clone(), self.resumed.clone());
        let begin = async move |tx: &mut Tx, operation: &Operation| -> Result<(), CommandError> {
            begun.add();
            leave(tx, operation, &operation.id.to_string()).await?;
            Ok(())
        };
        let resume = async move |tx: &mut Tx, operation: &Operation| -> Result<(), CommandError> {
            let number = resumed.add();
            leave(tx, operation, &format!("{} again {number}", operation.id)).await?;
            Ok(())
        };
        let policy = WaitPolicy { limit, accepted };
        idempotency::start(database, Retention::default(), policy, request, begin, resume).await
    }
}

/// The simplest phased command, without a counter of runs.
async fn send(database: &Database, limit: Duration, request: KeyedRequest) -> Outcome {
    Shop::default().send(database, limit, request).await.unwrap()
}

/// Waits until the operation runs.
async fn under_way(database: &Database) -> OperationId {
    eventually("a command under way", async || {
        let mut connection = database.connection().await.unwrap();
        let started = idempotency_record::table.filter(idempotency_record::state.eq("started"));
        let id: Option<Uuid> =
            started.select(idempotency_record::operation_id).first(&mut connection).await.optional().unwrap();
        id.map(OperationId::from)
    })
    .await
}

/// Concludes the operation as a worker does.
async fn conclude(database: &Database, id: OperationId, conclusion: Conclusion) -> bool {
    let mut tx = database.begin().await.unwrap();
    let moved = idempotency::conclude(&mut tx, id, conclusion).await.unwrap();
    tx.commit().await.unwrap();
    moved
}

/// Starts a command, and concludes it while its handler waits.
async fn concluded(
    database: &TestDatabase,
    request: KeyedRequest,
    conclusion: Conclusion,
) -> (OperationId, Outcome) {
    let worker = async {
        let id = under_way(database).await;
        assert!(conclude(database, id, conclusion).await);
        id
    };
    let (outcome, id) = tokio::join!(send(database, LONG, request), worker);
    (id, outcome)
}

/// Starts a command that is answered with 202.
async fn promised(database: &Database, request: KeyedRequest) -> OperationId {
    let Outcome::Executed(promise) = send(database, NONE, request).await else { panic!("no promise") };
    let id = operation_ids(database).await[0];
    assert_eq!(promise, accepted(id));
    id
}

async fn operation_ids(database: &Database) -> Vec<OperationId> {
    let mut connection = database.connection().await.unwrap();
    let ids = idempotency_record::table.select(idempotency_record::operation_id);
    let ids: Vec<Uuid> = ids.load(&mut connection).await.unwrap();
    ids.into_iter().map(OperationId::from).collect()
}

async fn state(database: &Database, id: OperationId) -> String {
    let mut connection = database.connection().await.unwrap();
    let record = idempotency_record::table.filter(idempotency_record::operation_id.eq(id.uuid()));
    record.select(idempotency_record::state).first(&mut connection).await.unwrap()
}

async fn operation(database: &Database, id: OperationId) -> OperationRecord {
    let mut connection = database.connection().await.unwrap();
    let tenant = shop::caller("acme", "web-shop").tenant;
    idempotency::operation(&mut connection, &tenant, id).await.unwrap().unwrap()
}

#[track_caller]
fn assert_replayed(outcome: &Outcome, first: &StoredResponse) {
    assert!(matches!(outcome, Outcome::Replayed { response: stored, .. } if stored == first), "{outcome:?}");
}
