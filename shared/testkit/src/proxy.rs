//! A TCP proxy that can be cut. It makes a server unreachable for one test, while other tests use the server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Forwards connections to a server until it is cut. Stops when dropped.
pub struct Proxy {
    address: SocketAddr,
    switch: Arc<Switch>,
    accept: JoinHandle<()>,
}

struct Switch {
    open: AtomicBool,
    refused: AtomicUsize,
    /// The number of cuts. A flag could be missed by a connection if the cut is mended at once.
    cuts: watch::Sender<usize>,
}

impl Switch {
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
        let switch = Arc::new(Switch { open, refused, cuts: watch::Sender::new(0) });
        let keeper = Arc::clone(&switch);
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
        Self { address, switch, accept }
    }

    /// In front of the tests' PostgreSQL.
    pub async fn to_postgres() -> Self {
        Self::to(crate::database::server()).await
    }

    /// Where to connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends all connections and refuses new ones. Returns once every connection has ended, so that nothing that is sent
    /// afterwards reaches the server.
    pub async fn cut(&self) {
        self.switch.sever();
        self.switch.cuts.closed().await;
    }

    /// The number of refused connections, which shows that a client has noticed the cut.
    pub fn refused(&self) -> usize {
        self.switch.refused.load(Ordering::SeqCst)
    }

    /// Lets connections through again.
    pub fn mend(&self) {
        self.switch.open.store(true, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.switch.sever();
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
