//! Operations of phased commands are kept from their end for as long as a key.

use diesel_async::SimpleAsyncConnection;
use idempotency::operation;
use testkit::TestDatabase;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{change, count, erase};
use crate::shop::{self, caller};

/// Operations that ended: one whose time is up, and one whose time is not. An operation that is open since 40 days.
const OPERATIONS: &str = "
    INSERT INTO idempotency_operation (operation_id, tenant_id, client_id, state, status, headers, body, reply_kept,
                                       tombstone_kept, created_at, updated_at, erase_at)
    SELECT id::uuid, 'acme', 'web-shop', state, status, '[]', '', '1 day', '30 days', clock_timestamp() - interval '40 days',
           clock_timestamp() - age, clock_timestamp() + erased
      FROM (VALUES ('00000000-0000-4000-8000-000000000001', 'succeeded', 201, interval '30 days', interval '-1 s'),
                   ('00000000-0000-4000-8000-000000000002', 'failed', 402, interval '29 days', interval '1 day'),
                   ('00000000-0000-4000-8000-000000000003', 'unknown', NULL, interval '40 days', NULL))
           AS given (id, state, status, age, erased)";

async fn erase_operations(database: &TestDatabase) -> i64 {
    idempotency::erase_operations(database, &CancellationToken::new()).await.unwrap()
}

async fn is_shown(database: &TestDatabase, number: u8) -> bool {
    let id = Uuid::parse_str(&format!("00000000-0000-4000-8000-{number:012}")).unwrap();
    let mut connection = database.connection().await.unwrap();
    operation(&mut connection, &caller("acme", "web-shop").tenant, id.into()).await.unwrap().is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_is_erased_when_its_time_is_up_and_never_while_it_is_open() {
    let database = shop::open().await;
    change(&database, OPERATIONS).await;
    assert_eq!(erase_operations(&database).await, 1);
    let shown = [is_shown(&database, 1).await, is_shown(&database, 2).await, is_shown(&database, 3).await];
    assert_eq!((shown, erase_operations(&database).await), ([false, true, true], 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_is_not_erased_before_its_record() {
    let database = shop::open().await;
    change(&database, OPERATIONS).await;
    let record = "INSERT INTO idempotency_record (tenant_id, client_id, method, route, key, fingerprint, fingerprint_version,
                                                  state, operation_id, status, completed_at, expires_at, tombstone_until)
                  VALUES ('acme', 'web-shop', 'POST', '/v1/payments', 'k', sha256(''), 1, 'completed',
                          '00000000-0000-4000-8000-000000000001', 201, now() - interval '30 days', now() - interval '29 days',
                          now() + interval '1 hour')";
    database.owner().await.batch_execute(record).await.unwrap();
    assert_eq!(erase_operations(&database).await, 0);
    assert_eq!(erase(&database).await, 1);
    assert_eq!(erase_operations(&database).await, 1);
    assert_eq!(count(&database, "SELECT count(*) AS number FROM idempotency_operation").await, 2);
}
