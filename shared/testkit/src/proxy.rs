//! A TCP proxy that can be cut: takes a server away from one test, while others go on using it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Forwards connections to a server until it is cut. Stops when dropped.
pub struct Proxy {
    address: SocketAddr,
    gate: Arc<Gate>,
    accept: JoinHandle<()>,
}

struct Gate {
    open: AtomicBool,
    refused: AtomicUsize,
    /// Counted, so that no connection misses a cut that is mended at once.
    cuts: watch::Sender<usize>,
}

impl Gate {
    fn sever(&self) {
        self.open.store(false, Ordering::SeqCst);
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}

impl Proxy {
    /// Listens on a free port and forwards to `upstream` (`host:port`).
    pub async fn to(upstream: impl Into<String>) -> Self {
        let upstream: String = upstream.into();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (open, refused) = (AtomicBool::new(true), AtomicUsize::new(0));
        let gate = Arc::new(Gate { open, refused, cuts: watch::Sender::new(0) });
        let keeper = Arc::clone(&gate);
        #[expect(clippy::disallowed_methods, reason = "aborted when the proxy is dropped")]
        let accept = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let cuts = keeper.cuts.subscribe();
                if keeper.open.load(Ordering::SeqCst) {
                    tokio::spawn(forward(client, upstream.clone(), cuts));
                } else {
                    keeper.refused.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
        Self { address, gate, accept }
    }

    /// In front of the tests' PostgreSQL.
    pub async fn to_postgres() -> Self {
        Self::to(crate::database::server()).await
    }

    /// Where to connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends all connections and refuses new ones. Nothing that is sent afterwards reaches the server: returns once
    /// every connection has ended.
    pub async fn cut(&self) {
        self.gate.sever();
        self.gate.cuts.closed().await;
    }

    /// How many connections were refused so far: tells that somebody has noticed the cut.
    pub fn refused(&self) -> usize {
        self.gate.refused.load(Ordering::SeqCst)
    }

    /// Lets connections through again.
    pub fn mend(&self) {
        self.gate.open.store(true, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.gate.sever();
        self.accept.abort();
    }
}

async fn forward(mut client: TcpStream, upstream: String, mut cuts: watch::Receiver<usize>) {
    let Ok(mut server) = TcpStream::connect(upstream).await else { return };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
        _ = cuts.changed() => {}
    }
}
