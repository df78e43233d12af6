//! A shop with one table of effects. Each command inserts a row, so a test can count the executions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use database::{AppendTx, Buffered, Database, Error, InsertRows, Settings, Tx, Write};
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use envelope::Caller;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use idempotency::{
    CommandError, Fingerprint, FingerprintInput, GroupExecutor, Key, KeyScope, KeyedRequest, Operation,
    Outcome, Retention, StoredResponse,
};
use testkit::TestDatabase;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

diesel::table! {
    effect (id) { id -> BigInt, operation_id -> Uuid, note -> Text, }
}
diesel::table! {
    idempotency_record (operation_id) { operation_id -> Uuid, key -> Text, state -> Text, }
}
diesel::table! {
    idempotency_snapshot (operation_id) { operation_id -> Uuid, }
}

const TABLES: &str = "
    CREATE TABLE effect (
        id bigint GENERATED ALWAYS AS IDENTITY, operation_id uuid NOT NULL, note text NOT NULL UNIQUE
    );
    CREATE TABLE shelf (id bigint PRIMARY KEY);
    INSERT INTO shelf VALUES (1), (2);
    GRANT ALL ON effect, shelf TO idem_service";

/// The key of tests that need only one.
pub(crate) const KEY: &str = "8e03978e-40d5-43e8-bc93-6894a57f9324";

pub(crate) async fn open() -> TestDatabase {
    let database = TestDatabase::plain().await;
    database.owner().await.batch_execute(TABLES).await.unwrap();
    database
}

/// The same database through a pool with other settings.
pub(crate) fn instance(database: &TestDatabase, adjust: impl FnOnce(Settings) -> Settings) -> Database {
    Database::new(&adjust(Settings::new(database.service_url(None))), Handle::current()).unwrap()
}

pub(crate) fn caller(tenant: &str, client: &str) -> Caller {
    Caller { tenant: tenant.parse().unwrap(), client: client.parse().unwrap() }
}

/// A request of the web shop with this body.
pub(crate) fn request(key: &str, body: &str) -> KeyedRequest {
    let scope =
        KeyScope { caller: caller("acme", "web-shop"), method: "POST".into(), route: "/v1/orders".into() };
    request_in(scope, key, body)
}

/// The same request in another key scope.
pub(crate) fn request_in(scope: KeyScope, key: &str, body: &str) -> KeyedRequest {
    let fingerprint = Fingerprint::of(&FingerprintInput {
        method: "POST",
        route_template: "/v1/orders",
        path_parameters: &[],
        query: &[],
        media_type: "application/json",
        actor: "web-shop",
        body: body.as_bytes(),
    });
    let key = Key::parse(key.as_bytes(), idempotency::KeyPolicy::Uuid).unwrap();
    KeyedRequest { scope, key, fingerprint, traceparent: None }
}

pub(crate) fn response(status: u16, body: &str) -> StoredResponse {
    StoredResponse {
        status,
        headers: vec![("content-type".into(), "text/plain".into())],
        body: body.as_bytes().to_vec(),
    }
}

/// Inserts an effect. Its note is unique.
pub(crate) async fn leave(tx: &mut Tx, operation: &Operation, note: &str) -> QueryResult<usize> {
    let row = (effect::operation_id.eq(operation.id.uuid()), effect::note.eq(note));
    diesel::insert_into(effect::table).values(row).execute(tx).await
}

/// The simplest command: one effect with the id of its operation.
pub(crate) async fn order(tx: &mut Tx, operation: &Operation) -> Result<StoredResponse, CommandError> {
    leave(tx, operation, &operation.id.to_string()).await?;
    Ok(response(201, &operation.id.to_string()))
}

/// An effect in the buffer of the transaction, as events and audit facts are.
pub(crate) struct Later(pub(crate) Operation);

/// The same with this note.
pub(crate) struct Noted(pub(crate) Operation, pub(crate) String);

impl Buffered for Noted {
    fn writes(rows: Vec<Self>) -> Vec<Write> {
        let insert = InsertRows::new(effect::table, rows)
            .column(effect::operation_id, |Self(operation, _)| operation.id.uuid())
            .column(effect::note, |Self(_, note)| std::mem::take(note));
        vec![Write::new(insert)]
    }
}

impl Buffered for Later {
    fn writes(rows: Vec<Self>) -> Vec<Write> {
        let row =
            |Later(operation): Self| (effect::operation_id.eq(operation.id.uuid()), effect::note.eq("later"));
        let insert = |later| diesel::insert_into(effect::table).values(row(later));
        rows.into_iter().map(|later| Write::new(insert(later))).collect()
    }
}

/// Executes the simplest command.
pub(crate) async fn send(database: &Database, request: KeyedRequest) -> Result<Outcome, Error> {
    idempotency::execute(database, Retention::default(), request, order).await
}

/// Counts how often a command ran; clones count together.
#[derive(Clone, Default)]
pub(crate) struct Runs(Arc<AtomicUsize>);

impl Runs {
    /// Counts a run. Returns the number of earlier runs.
    pub(crate) fn add(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst)
    }

    pub(crate) fn number(&self) -> usize {
        AtomicUsize::load(&self.0, Ordering::SeqCst)
    }
}

/// Holds commands inside their transaction until the test releases them, and counts the runs.
#[derive(Clone)]
pub(crate) struct CommandBarrier {
    runs: Runs,
    inside: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl CommandBarrier {
    pub(crate) fn closed() -> Self {
        Self { runs: Runs::default(), inside: Arc::new(Semaphore::new(0)), open: Arc::new(Semaphore::new(0)) }
    }

    /// Executes a command that writes its effect and then waits at the barrier.
    pub(crate) async fn send(&self, database: &Database, request: KeyedRequest) -> Result<Outcome, Error> {
        let barrier = self.clone();
        let command = async move |tx: &mut Tx, operation: &Operation| {
            let stored = order(tx, operation).await?;
            barrier.pass().await;
            Ok(stored)
        };
        idempotency::execute(database, Retention::default(), request, command).await
    }

    /// Occupies the running group with a command that only waits at the barrier. The command is queued at its first poll.
    pub(crate) fn hold(
        &self,
        groups: &GroupExecutor,
        request: KeyedRequest,
    ) -> BoxFuture<'static, Result<Outcome, Error>> {
        let (barrier, groups) = (self.clone(), groups.clone());
        async move {
            let command =
                async move |_: &mut AppendTx, _: &Operation| -> Result<StoredResponse, CommandError> {
                    barrier.pass().await;
                    Err(CommandError::Refused(response(403, "only to hold the place")))
                };
            GroupExecutor::execute(&groups, request, command).await
        }
        .boxed()
    }

    /// Reports that a command has arrived, and waits.
    pub(crate) async fn pass(&self) {
        self.runs.add();
        self.inside.add_permits(1);
        self.open.acquire().await.unwrap().forget();
    }

    /// Waits until one more command has arrived.
    pub(crate) async fn reached(&self) {
        self.inside.acquire().await.unwrap().forget();
    }

    /// Releases all commands, including later ones.
    pub(crate) fn open(&self) {
        self.open.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    pub(crate) fn runs(&self) -> usize {
        self.runs.number()
    }
}

pub(crate) async fn effects(database: &Database) -> i64 {
    effect::table.count().get_result(&mut database.connection().await.unwrap()).await.unwrap()
}

pub(crate) async fn records(database: &Database) -> i64 {
    idempotency_record::table.count().get_result(&mut database.connection().await.unwrap()).await.unwrap()
}

/// Panics if there is an effect or a record.
pub(crate) async fn assert_untouched(database: &Database) {
    let mut connection = database.connection().await.unwrap();
    let snapshots: i64 = idempotency_snapshot::table.count().get_result(&mut connection).await.unwrap();
    assert_eq!((effects(database).await, records(database).await, snapshots), (0, 0, 0));
}

#[derive(QueryableByName)]
pub(crate) struct Number {
    #[diesel(sql_type = BigInt)]
    pub(crate) number: i64,
}

/// Counts the sessions of this database that are inside a transaction. The query runs as the service's role, because
/// PostgreSQL hides the start of a transaction from other roles.
pub(crate) async fn open_transactions(database: &TestDatabase) -> i64 {
    let mut watcher = AsyncPgConnection::establish(&database.service_url(None)).await.unwrap();
    let sessions: Number = diesel::sql_query(
        "SELECT count(*) AS number FROM pg_stat_activity WHERE datname = current_database() \
         AND pid <> pg_backend_pid() AND xact_start IS NOT NULL",
    )
    .get_result(&mut watcher)
    .await
    .unwrap();
    sessions.number
}
