//! Batches of several partitions lock the same items at the same time, each in another order.

use contracts::OrderId;
use diesel::sql_types::BigInt;
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use testkit::eventually;

use crate::orders::{Orders, Published, cancelled, confirmed, placed};
use crate::stage::Stage;

const ROUNDS: usize = 10;
const ORDERS: usize = 48;

#[actix_web::test]
async fn batches_that_want_the_same_items_in_opposite_order_do_not_deadlock() {
    let stage = Stage::new().await;
    stage.client().stock("a", 1_000_000).await;
    stage.client().stock("b", 1_000_000).await;
    let mut orders = Orders::on_partitions(6).await;
    let listener = orders.listen(&stage);
    for round in 1..=ROUNDS {
        // The keys spread the orders over the partitions, so each partition has the items in another order.
        let wants = [[("a", 1), ("b", 1)], [("b", 1), ("a", 1)]];
        let ids: Vec<OrderId> = (0..ORDERS).map(|_| OrderId::generate()).collect();
        let place = ids.iter().enumerate().map(|(n, id)| match n % 4 {
            0 => placed(*id, &[("a", 1)]),
            1 => placed(*id, &[("b", 1)]),
            n => placed(*id, &wants[n % 2]),
        });
        orders.publish(&place.collect::<Vec<Published>>()).await;
        let end = ids
            .iter()
            .enumerate()
            .map(|(n, id)| if n % 3 == 0 { cancelled(*id, 2) } else { confirmed(*id, 2) });
        orders.publish(&end.collect::<Vec<Published>>()).await;
        let ended = "SELECT count(*) FROM reservation WHERE state <> 'held'";
        let expected = i64::try_from(round * ORDERS).unwrap();
        eventually("every order of the round has ended", async || {
            (stage.count(ended).await == expected).then_some(())
        })
        .await;
    }
    listener.stop().await;
    assert_eq!(stage.unbalanced_items().await, 0);
    assert_eq!(stage.count("SELECT count(*) FROM inbox_parked").await, 0);

    // A backend writes its statistics at the latest when it ends.
    let database = stage.close();
    let mut owner = database.owner().await;
    let service = "SELECT count(*) AS n FROM pg_stat_activity
                   WHERE datname = current_database() AND usename = 'test_service'";
    eventually("the service's sessions have ended", async || {
        (number(&mut owner, service).await == 0).then_some(())
    })
    .await;
    let deadlocks = "SELECT deadlocks AS n FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(number(&mut owner, deadlocks).await, 0);
}

async fn number(connection: &mut AsyncPgConnection, sql: &str) -> i64 {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = BigInt)]
        n: i64,
    }
    let row: Row = sql_query(sql).get_result(connection).await.unwrap();
    row.n
}
