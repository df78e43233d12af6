//! Expiry beside others, in both orders. Who comes first is decided by locks, not by chance: a test holds what one of
//! them needs, and goes on once PostgreSQL says who waits.

use contracts::PaymentId;
use diesel::sql_types::{BigInt, Text, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use testkit::{TestDatabase, eventually};
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::*;
use crate::domain::Conflict;
use crate::saga::Fault;
use crate::timeline::CauseKind;

/// A database with an order that awaits its payment, and is due.
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

    /// Another instance of the service runs its job.
    fn expire(&self) -> JoinHandle<database::Result<()>> {
        let instance = self.database.second_instance();
        instance.clone().spawn(expire_due(instance))
    }

    /// A customer or payments moves the order, and commits.
    fn moves(&self, input: Input) -> JoinHandle<Result<(), Fault>> {
        let (instance, order) = (self.database.second_instance(), self.order);
        instance.clone().spawn(async move {
            let mut tx = instance.begin().await?;
            move_(&mut tx, order, input).await?;
            Ok(tx.commit().await?)
        })
    }

    /// Nobody can write a fact, and so nobody who must can commit, until the scene's owner commits.
    async fn hold_all_facts(&mut self) {
        self.owner.batch_execute("BEGIN; LOCK TABLE audit_fact IN ACCESS EXCLUSIVE MODE").await.unwrap();
    }

    async fn let_go(&mut self) {
        self.owner.batch_execute("COMMIT").await.unwrap();
    }

    /// Returns once so many sessions of this database wait for a lock.
    async fn until_waiting(&self, sessions: i64) {
        eventually("sessions that wait for a lock", async || {
            let waiting = "SELECT count(DISTINCT pid) FROM pg_locks JOIN pg_stat_activity USING (pid) \
                           WHERE datname = current_database() AND NOT granted";
            (self.count(waiting).await == sessions).then_some(())
        })
        .await;
    }

    async fn count(&self, sql: &'static str) -> i64 {
        #[derive(diesel::QueryableByName)]
        struct Count {
            #[diesel(sql_type = BigInt)]
            count: i64,
        }
        let mut owner = self.database.owner().await;
        let counted: Count = diesel::sql_query(sql).get_result(&mut owner).await.unwrap();
        counted.count
    }

    /// What stands in the order's timeline, as "WHAT by KIND: STATE".
    async fn timeline(&self) -> Vec<String> {
        #[derive(diesel::QueryableByName)]
        struct Line {
            #[diesel(sql_type = Text)]
            line: String,
        }
        let sql = "SELECT format('%s by %s: %s', what, cause_kind, state) AS line \
                   FROM order_timeline WHERE order_id = $1 ORDER BY id";
        let mut owner = self.database.owner().await;
        let lines = diesel::sql_query(sql).bind::<SqlUuid, _>(self.order.uuid());
        let lines: Vec<Line> = lines.load(&mut owner).await.unwrap();
        lines.into_iter().map(|row| row.line).collect()
    }

    async fn assert_expired_once(&self) {
        let expired = "SELECT count(*) FROM orders WHERE cancel_reason = 'expired' AND sequence = 3";
        let told =
            "SELECT count(*) FROM outbox_event WHERE type = 'orders.OrderCancelled.v1' AND sequence = 3";
        let fact = "SELECT count(*) FROM audit_fact WHERE action = 'order.expire' AND actor = '@system'";
        for once in [expired, told, fact, KEPT] {
            assert_eq!(self.count(once).await, 1, "{once}");
        }
    }

    async fn assert_not_expired(&self) {
        let expired = "SELECT count(*) FROM orders WHERE cancel_reason = 'expired'";
        let fact = "SELECT count(*) FROM audit_fact WHERE action = 'order.expire'";
        for none in [expired, fact, KEPT] {
            assert_eq!(self.count(none).await, 0, "{none}");
        }
    }
}

/// What the job's own keys have kept.
const KEPT: &str = "SELECT count(*) FROM idempotency_record WHERE method = 'JOB'";

async fn due_order(owner: &mut AsyncPgConnection, seconds_overdue: i32) -> OrderId {
    let id = OrderId::generate();
    let insert = "INSERT INTO orders (id, tenant_id, client_id, state, lines, amount, currency, payment_method, payment_id, \
                                      sequence, expires_at) \
                  SELECT $1, 'acme', 'shop', 'awaiting_payment', '[]', 1, 'EUR', 'pm_x', gen_random_uuid(), 2, \
                         clock_timestamp() - make_interval(secs => $2)";
    let insert = diesel::sql_query(insert).bind::<SqlUuid, _>(id.uuid());
    insert.bind::<diesel::sql_types::Integer, _>(seconds_overdue).execute(owner).await.unwrap();
    id
}

fn tenant() -> TenantId {
    "acme".parse().unwrap()
}

/// The order's row stays locked until the transaction ends.
async fn move_(tx: &mut Tx, order: OrderId, input: Input) -> Result<(), Fault> {
    let cause = Cause { kind: CauseKind::Message, id: Uuid::now_v7(), by: "payments".to_owned() };
    saga::advance(tx, &tenant(), order, input, &cause).await?;
    Ok(())
}

fn captured() -> Input {
    Input::Captured(PaymentId::generate())
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
    let scene = Scene::new().await;
    let mut holding = scene.database.begin().await.unwrap();
    orders::lock(&mut holding, &tenant(), scene.order).await.unwrap();
    let jobs = [scene.expire(), scene.expire()];
    // One has the order's key and waits for its row; the other found the key taken, and leaves it at that.
    scene.until_waiting(1).await;
    eventually("the other job", async || jobs.iter().any(JoinHandle::is_finished).then_some(())).await;
    holding.rollback().await.unwrap();
    for job in jobs {
        job.await.unwrap().unwrap();
    }
    scene.assert_expired_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_orders_expire_once_each_on_two_instances_and_only_those_that_are_due() {
    let mut scene = Scene::new().await;
    for overdue in (1..60).chain([-900; 10]) {
        due_order(&mut scene.owner, overdue).await;
    }
    let (first, second) = tokio::join!(scene.expire(), scene.expire());
    first.unwrap().unwrap();
    second.unwrap().unwrap();
    // What one found taken by the other is done by now.
    for (count, sql) in [
        (10, "SELECT count(*) FROM orders WHERE state = 'awaiting_payment'"),
        (60, "SELECT count(*) FROM orders WHERE cancel_reason = 'expired'"),
        (60, "SELECT count(*) FROM outbox_event WHERE type = 'orders.OrderCancelled.v1' AND sequence = 3"),
        (60, "SELECT count(DISTINCT subject_id) FROM audit_fact WHERE action = 'order.expire'"),
        (60, "SELECT count(*) FROM audit_fact"),
        (60, KEPT),
    ] {
        assert_eq!(scene.count(sql).await, count, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_that_is_recorded_first_confirms_the_order_and_expiry_does_nothing() {
    let scene = Scene::new().await;
    let mut capture = scene.database.begin().await.unwrap();
    move_(&mut capture, scene.order, captured()).await.unwrap();
    let job = scene.expire();
    scene.until_waiting(1).await;
    capture.commit().await.unwrap();
    job.await.unwrap().unwrap();
    scene.assert_not_expired().await;
    assert_eq!(scene.count("SELECT count(*) FROM orders WHERE state = 'confirmed'").await, 1);
    assert_eq!(
        scene.timeline().await,
        ["PaymentCaptured by message: confirmed", "OrderConfirmed by message: confirmed"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_that_comes_after_the_expiry_changes_nothing_and_stands_in_the_timeline() {
    let mut scene = Scene::new().await;
    scene.hold_all_facts().await;
    let job = scene.expire();
    scene.until_waiting(1).await;
    let capture = scene.moves(captured());
    scene.until_waiting(2).await;
    scene.let_go().await;
    job.await.unwrap().unwrap();
    capture.await.unwrap().unwrap();
    scene.assert_expired_once().await;
    assert_eq!(
        scene.timeline().await,
        ["OrderCancelled by job: cancelled", "PaymentCaptured by message: cancelled"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customers_cancellation_that_comes_first_stays_theirs() {
    let scene = Scene::new().await;
    let mut customer = scene.database.begin().await.unwrap();
    move_(&mut customer, scene.order, cancel()).await.unwrap();
    let job = scene.expire();
    scene.until_waiting(1).await;
    customer.commit().await.unwrap();
    job.await.unwrap().unwrap();
    scene.assert_not_expired().await;
    assert_eq!(scene.count("SELECT count(*) FROM orders WHERE cancel_reason = 'customer'").await, 1);
    let told = "SELECT count(*) FROM outbox_event WHERE type = 'orders.OrderCancelled.v1'";
    assert_eq!(scene.count(told).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customers_cancellation_after_the_expiry_is_too_late() {
    let mut scene = Scene::new().await;
    scene.hold_all_facts().await;
    let job = scene.expire();
    scene.until_waiting(1).await;
    let customer = scene.moves(cancel());
    scene.until_waiting(2).await;
    scene.let_go().await;
    job.await.unwrap().unwrap();
    let refused = customer.await.unwrap().unwrap_err();
    assert!(matches!(refused, Fault::Conflict(Conflict::TooLate)), "{refused:?}");
    scene.assert_expired_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn not_yet_due_is_not_kept_and_the_same_key_succeeds_later() {
    let mut scene = Scene::new().await;
    let expire = async |scene: &Scene| expire(&scene.database, tenant(), scene.order).await.unwrap();
    let later = "UPDATE orders SET expires_at = clock_timestamp() + interval '1 hour'";
    scene.owner.batch_execute(later).await.unwrap();
    expire(&scene).await;
    scene.assert_not_expired().await;
    let now = "UPDATE orders SET expires_at = clock_timestamp()";
    scene.owner.batch_execute(now).await.unwrap();
    for _ in 0..2 {
        expire(&scene).await;
    }
    scene.assert_expired_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_cannot_be_expired_keeps_no_other_one_waiting() {
    let mut scene = Scene::new().await;
    let stuck = due_order(&mut scene.owner, 3600).await;
    let refuse = format!(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'stuck'; END $$;
         CREATE TRIGGER refuse BEFORE UPDATE ON orders FOR EACH ROW WHEN (OLD.id = '{stuck}')
             EXECUTE FUNCTION refuse();"
    );
    scene.owner.batch_execute(&refuse).await.unwrap();
    scene.expire().await.unwrap().unwrap();
    scene.assert_expired_once().await;
}
