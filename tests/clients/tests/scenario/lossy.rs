//! A proxy that keeps the first response to itself: the client sees a broken connection after its request took effect.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, copy, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Forwards connections to a server. Stops when dropped.
pub(crate) struct LossyProxy {
    address: SocketAddr,
    lost: Arc<AtomicUsize>,
    accept: JoinHandle<()>,
}

impl LossyProxy {
    /// Listens on a free port and forwards to `upstream` (`host:port`).
    #[expect(clippy::disallowed_methods, reason = "aborted when the proxy is dropped")]
    pub(crate) async fn to(upstream: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let lost = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&lost);
        let accept = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut server = TcpStream::connect(&upstream).await.unwrap();
                if count.load(Ordering::SeqCst) == 0 {
                    lose_response(client, server).await;
                    count.fetch_add(1, Ordering::SeqCst);
                } else {
                    tokio::spawn(async move { copy_bidirectional(&mut client, &mut server).await });
                }
            }
        });
        Self { address, lost, accept }
    }

    /// Where to connect.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of responses that no client received.
    pub(crate) fn lost(&self) -> usize {
        self.lost.load(Ordering::SeqCst)
    }
}

impl Drop for LossyProxy {
    fn drop(&mut self) {
        self.accept.abort();
    }
}

/// Passes the request on, waits until the response begins, and closes both connections.
async fn lose_response(client: TcpStream, server: TcpStream) {
    let ((mut request, _to_client), (mut response, mut to_server)) =
        (client.into_split(), server.into_split());
    let mut first_byte = [0];
    tokio::select! {
        _ = copy(&mut request, &mut to_server) => {}
        read = response.read(&mut first_byte) => assert_eq!(read.unwrap(), 1),
    }
}
