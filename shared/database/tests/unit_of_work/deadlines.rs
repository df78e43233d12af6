//! The client's deadlines: a server that does not answer holds neither its caller nor a connection of the pool.

use std::time::Duration;

use database::{Connection, Database, Error, ErrorClass, Settings};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use futures_util::TryFutureExt;
use testkit::TestDatabase;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// A pool of one connection whose statements must be answered within seconds.
fn narrow(url: &str) -> Database {
    let settings = Settings {
        pool_size: 1,
        statement_timeout: Duration::from_millis(100),
        ..Settings::new(url.to_owned())
    };
    Database::new(&settings, Handle::current()).unwrap()
}

/// Turns PostgreSQL's own limit off, as a frozen server does.
const NO_LIMIT: &str = "SET statement_timeout = 0";
/// One row that is sent at once, because it does not fit into the server's buffer, and one that comes much later.
const ROWS: &str = "SELECT CASE number WHEN 1 THEN repeat('x', 100000) ELSE pg_sleep(600)::text END AS text \
                    FROM generate_series(1, 2) number";

#[derive(diesel::QueryableByName)]
struct Row {
    #[diesel(sql_type = diesel::sql_types::Text)]
    #[expect(dead_code, reason = "the test is about the row that does not come")]
    text: String,
}

async fn answer<T>(statement: impl Future<Output = Result<T, diesel::result::Error>>) -> Error {
    let statement = statement.map_ok(|_| ()).map_err(Error::from);
    timeout(Duration::from_mins(1), statement).await.expect("an answer").unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_without_an_answer_is_unavailable_and_leaves_the_pool() {
    let database = TestDatabase::plain().await;
    let narrow = narrow(&database.service_url(None));
    let prepare = async |mut connection: Connection| {
        connection.batch_execute(NO_LIMIT).await.unwrap();
        connection
    };
    for statement in 0..3 {
        let mut connection = prepare(narrow.connection().await.unwrap()).await;
        let error = match statement {
            0 => answer(connection.batch_execute("SELECT pg_sleep(600)")).await,
            1 => answer(diesel::sql_query("SELECT pg_sleep(600)").execute(&mut connection)).await,
            _ => answer(diesel::sql_query(ROWS).load::<Row>(&mut connection)).await,
        };
        assert_eq!(error.class(), ErrorClass::Unavailable, "{statement}: {error}");
        drop(connection);
        // The pool has room for one connection only.
        narrow.ping().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_without_an_answer_is_unavailable_and_its_successor_begins() {
    let database = TestDatabase::plain().await;
    let narrow = narrow(&database.service_url(None));
    let mut tx = narrow.begin().await.unwrap();
    tx.batch_execute(NO_LIMIT).await.unwrap();
    let error = answer(tx.batch_execute("SELECT pg_sleep(600)")).await;
    assert_eq!(error.class(), ErrorClass::Unavailable, "{error}");
    assert!(matches!(tx.commit().await, Err(Error::Poisoned)));
    narrow.begin().await.unwrap().rollback().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_may_be_given_more_time() {
    let database = TestDatabase::plain().await;
    let narrow = narrow(&database.service_url(None));
    let mut tx = narrow.begin().await.unwrap();
    tx.set_statement_timeout(Duration::from_mins(10)).await.unwrap();
    // Longer than the limit of the session and of the client. The limit is the subject of the test.
    tx.batch_execute("SELECT pg_sleep(4)").await.unwrap();
    tx.commit().await.unwrap();
    let mut next = narrow.begin().await.unwrap();
    assert_eq!(answer(next.batch_execute("SELECT pg_sleep(600)")).await.class(), ErrorClass::Unavailable);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_to_connect_to_a_frozen_server_is_given_up() {
    let frozen = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let narrow = narrow(&format!("postgres://nobody@{}/nothing", frozen.local_addr().unwrap()));
    let begin = timeout(Duration::from_mins(1), narrow.begin());
    let (begun, accepted) = tokio::join!(begin, frozen.accept());
    assert!(matches!(begun.expect("an answer"), Err(Error::Unavailable(_))));
    let (mut attempt, _) = accepted.unwrap();
    // The attempt ends with an end of file. Otherwise attempts would pile up in front of the server.
    let mut startup = Vec::new();
    let end = attempt.read_to_end(&mut startup);
    timeout(Duration::from_mins(1), end).await.expect("the attempt ends").unwrap();
}
