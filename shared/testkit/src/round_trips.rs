//! Counts how often a program waits for PostgreSQL, on the network connection.
//!
//! A round trip: the client sends, the server answers, and the client sends again only after the answer. The proxy holds
//! answers back until both sides have been silent for a while. By then the client has sent everything that it can send
//! without the answers, so pipelined statements count as one round trip. An answer in several pieces counts once. A
//! client that stalls while it sends counts too often, so a test takes the smallest of several measurements.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

/// The silence after which answers are forwarded: a thousand times as long as a client needs for its next statement.
const SILENCE: Duration = Duration::from_millis(40);

/// Forwards connections to PostgreSQL, and counts their round trips. Stops when dropped.
pub struct RoundTrips {
    address: SocketAddr,
    counted: Arc<AtomicUsize>,
    accept: JoinHandle<()>,
}

impl RoundTrips {
    /// In front of the tests' PostgreSQL.
    pub async fn to_postgres() -> Self {
        let upstream = crate::database::server();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let counted = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&counted);
        #[expect(clippy::disallowed_methods, reason = "aborted when the counter is dropped")]
        let accept = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&upstream).await.unwrap();
                connections.spawn(forward(client, server, Arc::clone(&counter)));
            }
        });
        Self { address, counted, accept }
    }

    /// Where to connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Runs `work`, and returns its round trips over all connections.
    pub async fn of<T>(&self, work: impl Future<Output = T>) -> (T, usize) {
        let before = self.counted.load(Ordering::SeqCst);
        let done = work.await;
        (done, self.counted.load(Ordering::SeqCst) - before)
    }
}

impl Drop for RoundTrips {
    fn drop(&mut self) {
        self.accept.abort();
    }
}

/// One connection, until either side closes it.
async fn forward(mut client: TcpStream, mut server: TcpStream, counted: Arc<AtomicUsize>) {
    let (mut from_client, mut from_server) = ([0; 16 * 1024], [0; 16 * 1024]);
    let (mut asked, mut responses) = (false, Vec::new());
    loop {
        // Every read restarts the silence.
        tokio::select! {
            read = client.read(&mut from_client) => {
                let Some(bytes) = read.ok().filter(|size| *size > 0).map(|size| &from_client[..size]) else { return };
                asked = true;
                if server.write_all(bytes).await.is_err() { return }
            }
            read = server.read(&mut from_server) => {
                let Some(bytes) = read.ok().filter(|size| *size > 0).map(|size| &from_server[..size]) else { return };
                responses.extend_from_slice(bytes);
            }
            () = sleep(SILENCE), if !responses.is_empty() => {
                counted.fetch_add(usize::from(asked), Ordering::SeqCst);
                asked = false;
                if client.write_all(&responses).await.is_err() { return }
                responses.clear();
            }
        }
    }
}
