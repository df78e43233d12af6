//! A URL with two servers, of which the first one is silent.

use std::time::Duration;

use database::{Database, Settings};
use futures_util::FutureExt;
use testkit::TestDatabase;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Handle;
use tokio::time::timeout;

/// The URL with this server in front of the real one.
fn behind(first: &TcpListener, url: &str) -> String {
    url.replacen('@', &format!("@{},", first.local_addr().unwrap()), 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_behind_one_that_accepts_no_connection_is_reached() {
    let database = TestDatabase::plain().await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let silent = socket.listen(0).unwrap();
    // Once the queue is full, the kernel ignores requests for a connection, like a server that has lost its network.
    let mut queued = Vec::new();
    while let Ok(stream) =
        timeout(Duration::from_millis(200), TcpStream::connect(silent.local_addr().unwrap())).await
    {
        queued.push(stream.unwrap());
    }
    let settings = Settings::new(behind(&silent, &database.service_url(None)));
    Database::new(&settings, Handle::current()).unwrap().ping().await.unwrap();
    drop(database::connect(&behind(&silent, &database.owner_url())).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_that_accepted_the_latest_connection_is_tried_first() {
    let database = TestDatabase::plain().await;
    // The kernel accepts its connections, and it never reads from them, like a server that is frozen.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let settings = Settings::new(behind(&silent, &database.service_url(None)));
    let first = Database::new(&settings, Handle::current()).unwrap();
    let own = first.with_own_pool(1).unwrap();
    let _one = first.connection().await.unwrap();
    let _two = first.connection().await.unwrap();
    let _three = own.connection().await.unwrap();
    let attempts = std::iter::from_fn(|| silent.accept().now_or_never()).count();
    assert_eq!(attempts, 1, "the other connections did not wait for the silent server");
}
