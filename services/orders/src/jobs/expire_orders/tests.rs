//! Expiry next to other changes of the same order, in both orders of arrival. Locks decide which change comes first,
//! not chance: a test holds a lock that one side needs, and continues when PostgreSQL shows who waits.

use diesel::sql_types::{Integer, Text, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use envelope::TenantId;
use testkit::{TestDatabase, eventually};
use tokio::task::JoinHandle;

use super::*;
use crate::domain::{CauseKind, Conflict, Input};

/// A database with one order that waits for its payment and is due.
struct Scene {
    database: TestDatabase,
    owner: AsyncPgConnection,
    order: OrderId,
}

impl Scene {
    async fn new() -> Self {
        let database = TestDatabase::with(vec![crate::MIGRATIONS]).await;
        let mut owner = database.owner().await;
        let order = due_order(&mut owner, 1).await;
        Self { database, owner, order }
    }

    /// Runs one round of the job on another instance of the service.
    fn expire(&self) -> JoinHandle<database::Result<()>> {
        let instance = self.database.second_instance();
        instance.clone().spawn(expire_due(instance, CancellationToken::new()))
    }

    /// Applies an input to the order as a customer or payments would, and commits.
    fn apply(&self, input: Input) -> JoinHandle<Result<(), TransitionError>> {
        let (instance, order) = (self.database.second_instance(), self.order);
        instance.clone().spawn(async move {
            let mut tx = instance.begin().await?;
            apply(&mut tx, order, input).await?;
            Ok(tx.commit().await?)
        })
    }

    /// Stops every transaction that writes an audit fact, until [`Self::release_facts`].
    async fn hold_facts(&mut self) {
        self.owner.batch_execute("BEGIN; LOCK TABLE audit_fact IN ACCESS EXCLUSIVE MODE").await.unwrap();
    }

    async fn release_facts(&mut self) {
        self.owner.batch_execute("COMMIT").await.unwrap();
    }

    /// Returns once this number of sessions of the database waits for a lock.
    async fn until_waiting(&self, sessions: i64) {
        eventually("sessions that wait for a lock", async || {
            let waiting = "SELECT count(DISTINCT pid) FROM pg_locks JOIN pg_stat_activity USING (pid) \
                           WHERE datname = current_database() AND NOT granted";
            (self.count(waiting).await == sessions).then_some(())
        })
        .await;
    }

    async fn count(&self, sql: &str) -> i64 {
        self.database.count(sql).await
    }

    /// The order's timeline, as "WHAT by KIND: STATE".
    async fn timeline(&self) -> Vec<String> {
        #[derive(diesel::QueryableByName)]
        struct OrderLine {
            #[diesel(sql_type = Text)]
            line: String,
        }
        let sql = "SELECT format('%s by %s: %s', what, cause_kind, state) AS line \
                   FROM order_timeline WHERE order_id = $1 ORDER BY id";
        let mut owner = self.database.owner().await;
        let lines = diesel::sql_query(sql).bind::<SqlUuid, _>(self.order.uuid());
        let lines: Vec<OrderLine> = lines.load(&mut owner).await.unwrap();
        lines.into_iter().map(|row| row.line).collect()
    }

    async fn assert_expired_once(&self) {
        let expired = "SELECT count(*) FROM orders WHERE cancel_reason = 'expired' AND sequence = 3";
        let announced =
            "SELECT count(*) FROM outbox_event WHERE type = 'orders.OrderCancelled.v1' AND sequence = 3";
        let fact = "SELECT count(*) FROM audit_fact WHERE action = 'order.expire' AND actor = '@system'";
        for once in [expired, announced, fact] {
            assert_eq!(self.count(once).await, 1, "{once}");
        }
        assert_eq!(self.count(RECORDS).await, 0, "a job is no request and has no key");
    }

    async fn assert_not_expired(&self) {
        let expired = "SELECT count(*) FROM orders WHERE cancel_reason = 'expired'";
        let fact = "SELECT count(*) FROM audit_fact WHERE action = 'order.expire'";
        for none in [expired, fact, RECORDS] {
            assert_eq!(self.count(none).await, 0, "{none}");
        }
    }
}

const RECORDS: &str = "SELECT count(*) FROM idempotency_record";

async fn due_order(owner: &mut AsyncPgConnection, seconds_overdue: i32) -> OrderId {
    let id = OrderId::generate();
    let insert = "INSERT INTO orders (id, tenant_id, client_id, state, lines, amount, currency, payment_method, payment_id, \
                                      sequence, expires_at) \
                  SELECT $1, 'acme', 'shop', 'awaiting_payment', '[]', 1, 'EUR', 'pm_x', gen_random_uuid(), 2, \
                         clock_timestamp() - make_interval(secs => $2)";
    let insert = diesel::sql_query(insert).bind::<SqlUuid, _>(id.uuid());
    insert.bind::<Integer, _>(seconds_overdue).execute(owner).await.unwrap();
    id
}

fn tenant() -> TenantId {
    "acme".parse().unwrap()
}

/// Applies an input. The order's row stays locked until the transaction ends.
async fn apply(tx: &mut Tx, order: OrderId, input: Input) -> Result<(), TransitionError> {
    let cause = Cause { kind: CauseKind::Message, id: Uuid::now_v7(), by: "payments".to_owned() };
    transitions::apply(tx, &tenant(), order, input, &cause).await?;
    Ok(())
}

fn cancel() -> Input {
    Input::Cancel("changed my mind".to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_expiry_job_twice_in_a_row_ends_an_order_once() {
    let scene = Scene::new().await;
    for _ in 0..3 {
        scene.expire().await.unwrap().unwrap();
    }
    scene.assert_expired_once().await;
    assert_eq!(scene.timeline().await, ["OrderCancelled by job: cancelled"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_expiry_jobs_at_once_end_an_order_once() {
    let mut scene = Scene::new().await;
    scene.hold_facts().await;
    let first = scene.expire();
    scene.until_waiting(1).await;
    // The first job has locked the order, so the second one does not wait for it and ends.
    scene.expire().await.unwrap().unwrap();
    assert!(!first.is_finished());
    scene.release_facts().await;
    first.await.unwrap().unwrap();
    scene.assert_expired_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_orders_expire_once_each_on_two_instances_and_only_those_that_are_due() {
    let mut scene = Scene::new().await;
    for overdue in (1..60).chain([-900; 10]) {
        due_order(&mut scene.owner, overdue).await;
    }
    scene.hold_facts().await;
    let jobs = [scene.expire(), scene.expire()];
    // Both jobs have locked orders, and wait to write the fact of their first one.
    scene.until_waiting(2).await;
    scene.release_facts().await;
    for job in jobs {
        job.await.unwrap().unwrap();
    }
    for (count, sql) in [
        (10, "SELECT count(*) FROM orders WHERE state = 'awaiting_payment'"),
        (60, "SELECT count(*) FROM orders WHERE cancel_reason = 'expired'"),
        (60, "SELECT count(*) FROM outbox_event WHERE type = 'orders.OrderCancelled.v1' AND sequence = 3"),
        (60, "SELECT count(DISTINCT subject_id) FROM audit_fact WHERE action = 'order.expire'"),
        (60, "SELECT count(*) FROM audit_fact"),
        (60, "SELECT count(*) FROM order_timeline"),
        (0, RECORDS),
    ] {
        assert_eq!(scene.count(sql).await, count, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_that_is_recorded_first_confirms_the_order_and_expiry_does_nothing() {
    let scene = Scene::new().await;
    let mut capture = scene.database.begin().await.unwrap();
    apply(&mut capture, scene.order, Input::PaymentCaptured).await.unwrap();
    // The job skips an order that another transaction has locked.
    scene.expire().await.unwrap().unwrap();
    capture.commit().await.unwrap();
    scene.expire().await.unwrap().unwrap();
    scene.assert_not_expired().await;
    assert_eq!(scene.count("SELECT count(*) FROM orders WHERE state = 'confirmed'").await, 1);
    assert_eq!(
        scene.timeline().await,
        ["PaymentCaptured by message: confirmed", "OrderConfirmed by message: confirmed"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_after_the_expiry_changes_nothing_and_is_in_the_timeline() {
    let mut scene = Scene::new().await;
    scene.hold_facts().await;
    let job = scene.expire();
    scene.until_waiting(1).await;
    let capture = scene.apply(Input::PaymentCaptured);
    scene.until_waiting(2).await;
    scene.release_facts().await;
    job.await.unwrap().unwrap();
    capture.await.unwrap().unwrap();
    scene.assert_expired_once().await;
    assert_eq!(
        scene.timeline().await,
        ["OrderCancelled by job: cancelled", "PaymentCaptured by message: cancelled"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customers_cancellation_before_the_expiry_keeps_its_reason() {
    let scene = Scene::new().await;
    let mut customer = scene.database.begin().await.unwrap();
    apply(&mut customer, scene.order, cancel()).await.unwrap();
    scene.expire().await.unwrap().unwrap();
    customer.commit().await.unwrap();
    scene.expire().await.unwrap().unwrap();
    scene.assert_not_expired().await;
    assert_eq!(scene.count("SELECT count(*) FROM orders WHERE cancel_reason = 'customer'").await, 1);
    let announced = "SELECT count(*) FROM outbox_event WHERE type = 'orders.OrderCancelled.v1'";
    assert_eq!(scene.count(announced).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customers_cancellation_after_the_expiry_is_too_late() {
    let mut scene = Scene::new().await;
    scene.hold_facts().await;
    let job = scene.expire();
    scene.until_waiting(1).await;
    let customer = scene.apply(cancel());
    scene.until_waiting(2).await;
    scene.release_facts().await;
    job.await.unwrap().unwrap();
    let refused = customer.await.unwrap().unwrap_err();
    assert!(matches!(refused, TransitionError::Conflict(Conflict::AlreadyEnded)), "{refused:?}");
    scene.assert_expired_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_not_expired_before_it_is_due() {
    let mut scene = Scene::new().await;
    let later = "UPDATE orders SET expires_at = clock_timestamp() + interval '1 hour'";
    scene.owner.batch_execute(later).await.unwrap();
    scene.expire().await.unwrap().unwrap();
    scene.assert_not_expired().await;
    let now = "UPDATE orders SET expires_at = clock_timestamp()";
    scene.owner.batch_execute(now).await.unwrap();
    scene.expire().await.unwrap().unwrap();
    scene.assert_expired_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_cannot_be_expired_does_not_block_the_others() {
    let mut scene = Scene::new().await;
    // More than a batch, and all of them longer overdue than the scene's order.
    for seconds in 1..=BATCH + 1 {
        let stuck = due_order(&mut scene.owner, 3600 + i32::try_from(seconds).unwrap()).await;
        let mark = diesel::sql_query("UPDATE orders SET client_id = 'stuck' WHERE id = $1");
        mark.bind::<SqlUuid, _>(stuck.uuid()).execute(&mut scene.owner).await.unwrap();
    }
    let refuse = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'stuck'; END $$;
                  CREATE TRIGGER refuse BEFORE UPDATE ON orders FOR EACH ROW WHEN (OLD.client_id = 'stuck')
                      EXECUTE FUNCTION refuse()";
    scene.owner.batch_execute(refuse).await.unwrap();
    scene.expire().await.unwrap().unwrap();
    scene.assert_expired_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_round_expires_every_due_order() {
    let scene = Scene::new().await;
    let mut owner = scene.database.owner().await;
    insert_many(&mut owner, 5_000, "-interval '1 hour'").await;
    scene.expire().await.unwrap().unwrap();
    let expired = "SELECT count(*) FROM orders WHERE cancel_reason = 'expired'";
    assert_eq!(scene.count(expired).await, 5_001);
    assert_eq!(scene.count("SELECT count(DISTINCT subject_id) FROM audit_fact").await, 5_001);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_begins_no_batch_after_the_service_was_told_to_stop() {
    let scene = Scene::new().await;
    let stop = CancellationToken::new();
    stop.cancel();
    expire_due(scene.database.second_instance(), stop).await.unwrap();
    scene.assert_not_expired().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cost_of_a_round_does_not_depend_on_the_number_of_open_orders() {
    let scene = Scene::new().await;
    let mut owner = scene.database.owner().await;
    insert_many(&mut owner, 20_000, "interval '1 hour'").await;
    let instance = scene.database.second_instance();
    expire_due(instance.clone(), CancellationToken::new()).await.unwrap();
    drop(instance); // the end of a session reports its counters
    let read = eventually("the counters of the job's session", async || {
        let rows = "SELECT (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'orders')::bigint \
                         + (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'orders') AS count";
        Some(scene.count(rows).await).filter(|read| *read > 0)
    })
    .await;
    assert!(read < 100, "{read} entries were read");
    scene.assert_expired_once().await;
}

/// Inserts open orders of which each expires this long from now.
async fn insert_many(owner: &mut AsyncPgConnection, number: i32, from_now: &str) {
    let insert = format!(
        "INSERT INTO orders (id, tenant_id, client_id, state, lines, amount, currency, payment_method, sequence, expires_at) \
         SELECT gen_random_uuid(), 'acme', 'shop', 'pending', '[]', 1, 'EUR', 'pm_x', 1, clock_timestamp() + {from_now} \
           FROM generate_series(1, {number})"
    );
    owner.batch_execute(&insert).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_expiry_of_an_order_cannot_be_stored() {
    let mut scene = Scene::new().await;
    let expired = scene.order;
    scene.expire().await.unwrap().unwrap();
    // As if the order had never expired; only the fact says that it did.
    let reopen = "UPDATE orders SET state = 'awaiting_payment', cancel_reason = NULL, sequence = 2";
    scene.owner.batch_execute(reopen).await.unwrap();
    scene.order = due_order(&mut scene.owner, 1).await;
    scene.expire().await.unwrap().unwrap();
    assert_eq!(scene.count("SELECT count(*) FROM orders WHERE cancel_reason = 'expired'").await, 1);
    assert_eq!(scene.count("SELECT count(*) FROM audit_fact").await, 2);
    assert_eq!(scene.timeline().await, ["OrderCancelled by job: cancelled"]);
    scene.order = expired;
    assert_eq!(scene.timeline().await, ["OrderCancelled by job: cancelled"]);
}
