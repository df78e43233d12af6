//! Orders that are not confirmed in time are cancelled, by a job that may run twice or on two instances at once.

use contracts::Caller;
use database::{Database, Tx};
use idempotency::{Fingerprint, FingerprintInput, Intent, Key, Operation, Receipt, Retention, Scope};

use crate::domain::Input;
use crate::saga;
use crate::store::orders::{self, OrderRow};

/// Orders looked at in one round.
const ROUND: i64 = 100;

/// One round: expires what is due.
pub(crate) async fn expire_due(database: Database) -> database::Result<()> {
    let mut connection = database.connection().await?;
    let due = orders::due(&mut connection, ROUND).await?;
    drop(connection);
    for order in due {
        crashpoint::reach("t1");
        expire(&database, &order).await?;
    }
    Ok(())
}

/// One order, through the same executor as a client's command: a key of our own makes it happen once.
async fn expire(database: &Database, order: &OrderRow) -> database::Result<()> {
    let (tenant, id) = (order.tenant()?, order.id());
    let caller = Caller::system(tenant);
    let Ok(key) = Key::from_server(format!("expire-{id}")) else {
        unreachable!("a UUID is of a key's characters")
    };
    let scope = Scope { caller: caller.clone(), method: "JOB".to_owned(), route: "expire-order".to_owned() };
    let fingerprint = Fingerprint::of(&FingerprintInput {
        method: "JOB",
        route_template: "expire-order",
        path_parameters: &[("order", &id.to_string())],
        query: &[],
        media_type: "",
        actor: caller.client.as_str(),
        body: b"",
    });
    let intent = Intent { scope, key, fingerprint, traceparent: None };
    let command = async move |tx: &mut Tx, operation: &Operation| -> Result<Receipt, idempotency::Failure> {
        let moved =
            saga::advance(tx, &caller.tenant, id, Input::Expire).await.map_err(edge::Failure::from)?;
        let receipt = Receipt { status: 200, headers: Vec::new(), body: Vec::new() };
        if !moved.changed {
            // Ended otherwise in the meantime: nothing to keep.
            return Err(idempotency::Failure::Refused(receipt));
        }
        audit::record(tx, audit::Fact::new(&caller, operation.id, "order.expire", "order", id));
        Ok(receipt)
    };
    idempotency::execute(database, Retention::default(), intent, command).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use diesel::sql_types::BigInt;
    use diesel_async::RunQueryDsl;
    use testkit::TestDatabase;

    use super::*;

    const DUE: &str = "INSERT INTO orders (id, tenant_id, client_id, state, lines, amount, currency, payment_method, sequence, expires_at) \
        SELECT gen_random_uuid(), 'acme', 'shop', 'pending', '[]', 1, 'EUR', 'pm_x', 1, clock_timestamp() + interval '1 second' * wait \
        FROM unnest(array[-1, -1, -1, -1, -1, 900]) AS wait";

    async fn count(database: &TestDatabase, sql: &'static str) -> i64 {
        #[derive(diesel::QueryableByName)]
        struct Count {
            #[diesel(sql_type = BigInt)]
            count: i64,
        }
        let mut owner = database.owner().await;
        let counted: Count = diesel::sql_query(sql).get_result(&mut owner).await.unwrap();
        counted.count
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn two_expiry_jobs_end_an_order_once() {
        let database = TestDatabase::with(vec![crate::MIGRATIONS]).await;
        let mut owner = database.owner().await;
        for _ in 0..20 {
            diesel::sql_query(DUE).execute(&mut owner).await.unwrap();
            let (one, two) = (Database::clone(&database), database.second_instance());
            let (first, second) = tokio::join!(expire_due(one), expire_due(two));
            first.unwrap();
            second.unwrap();
        }
        expire_due(Database::clone(&database)).await.unwrap();
        assert_eq!(
            count(&database, "SELECT count(*) FROM orders WHERE cancel_reason = 'expired'").await,
            100
        );
        assert_eq!(
            count(&database, "SELECT count(*) FROM orders WHERE state = 'pending'").await,
            20,
            "not yet due"
        );
        let told =
            "SELECT count(*) FROM outbox_event WHERE type = 'orders.OrderCancelled.v1' AND sequence = 2";
        assert_eq!(count(&database, told).await, 100);
        let facts = "SELECT count(DISTINCT subject_id) FROM audit_fact WHERE action = 'order.expire' AND actor = '@system'";
        assert_eq!(count(&database, facts).await, 100);
        assert_eq!(count(&database, "SELECT count(*) FROM audit_fact").await, 100);
    }
}
