//! The cost of a lookup does not depend on the size of the tables when its plan was made.

use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use idempotency::{Outcome, Retention};
use testkit::{TestDatabase, eventually};
use uuid::Uuid;

use crate::shop::{self, order, request};

const RECORDS: i64 = 2_000;
const REPLAYS: i64 = 20;

#[derive(QueryableByName)]
struct Entries {
    #[diesel(sql_type = BigInt)]
    entries: i64,
}

async fn index_entries_read(database: &TestDatabase) -> i64 {
    let query = "SELECT coalesce(sum(idx_tup_read), 0)::bigint AS entries FROM pg_stat_user_indexes \
                  WHERE relname IN ('idempotency_record', 'idempotency_snapshot')";
    let mut owner = database.owner().await;
    diesel::sql_query(query).get_result::<Entries>(&mut owner).await.unwrap().entries
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lookup_that_was_planned_on_empty_tables_reads_one_entry_of_each_key() {
    let database = shop::open().await;
    let mut owner = database.owner().await;
    owner.batch_execute("VACUUM ANALYZE idempotency_record, idempotency_snapshot").await.unwrap();
    let off = "ALTER TABLE idempotency_record SET (autovacuum_enabled = off); \
               ALTER TABLE idempotency_snapshot SET (autovacuum_enabled = off)";
    owner.batch_execute(off).await.unwrap();
    let instance = shop::instance(&database, |settings| database::Settings { pool_size: 1, ..settings });
    let key = Uuid::new_v4().to_string();
    let send = async || {
        idempotency::execute(&instance, Retention::default(), request(&key, "a"), order).await.unwrap()
    };
    assert!(matches!(send().await, Outcome::Executed(_)));
    let fill = format!(
        "WITH record AS (
             INSERT INTO idempotency_record (tenant_id, client_id, method, route, key, fingerprint, fingerprint_version, state,
                                             operation_id, status, completed_at, expires_at, tombstone_until)
             SELECT 'acme', 'web-shop', 'POST', '/v1/orders', gen_random_uuid()::text, sha256(''), 1, 'completed',
                    gen_random_uuid(), 201, now(), now() + interval '1 hour', now() + interval '30 days'
               FROM generate_series(1, {RECORDS})
             RETURNING operation_id)
         INSERT INTO idempotency_snapshot (operation_id, headers, body) SELECT operation_id, '[]', '' FROM record"
    );
    owner.batch_execute(&fill).await.unwrap();
    for _ in 0..REPLAYS {
        assert!(matches!(send().await, Outcome::Replayed { .. }));
    }
    drop(instance); // the end of a session reports its counters
    let read = eventually("the counters of the session", async || {
        let read = index_entries_read(&database).await;
        (read >= 2 * REPLAYS).then_some(read)
    })
    .await;
    assert!(read < 3 * REPLAYS, "{read} entries for {REPLAYS} replays");
}
