//! A proxy in front of a service. It keeps the first response to itself: the client sees a broken connection after its request took
//! effect. Then it refuses the request in each other way that asks for the same bytes again.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, copy_bidirectional, sink};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The heads and bodies of the refusals: a gateway's page, and problems of the service.
const REFUSALS: [(&str, &str); 3] = [
    ("502 Bad Gateway\r\nContent-Type: text/html", "<h1>502 Bad Gateway</h1>"),
    ("408 Request Timeout\r\nContent-Type: application/problem+json", REQUEST_TIMEOUT),
    ("422 Unprocessable\r\nContent-Type: application/problem+json\r\nRetry-After: 1", ITEM_UNKNOWN),
];

const REQUEST_TIMEOUT: &str = r#"{"type":"/problems/request-timeout","title":"The request took too long to arrive","status":408,"detail":"-","code":"request-timeout","retryable":true}"#;
const ITEM_UNKNOWN: &str = r#"{"type":"/problems/item-unknown","title":"An item is not in the catalogue","status":422,"detail":"-","code":"item-unknown","retryable":true}"#;

/// The connections that get no response or a refusal. The next one gets its response.
pub(crate) const FAULTS: usize = 1 + REFUSALS.len();

/// Forwards connections to a server. Stops when dropped.
pub(crate) struct LossyProxy {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    accept: JoinHandle<()>,
}

impl LossyProxy {
    /// Listens on a free port and forwards to `upstream` (`host:port`).
    #[expect(clippy::disallowed_methods, reason = "aborted when the proxy is dropped")]
    pub(crate) async fn to(upstream: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        let accept = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut server = TcpStream::connect(&upstream).await.unwrap();
                match count.fetch_add(1, Ordering::SeqCst) {
                    0 => lose_response(client, server).await,
                    fault @ 1..FAULTS => refuse(client, REFUSALS[fault - 1]).await,
                    _ => {
                        tokio::spawn(async move { copy_bidirectional(&mut client, &mut server).await });
                    }
                }
            }
        });
        Self { address, connections, accept }
    }

    /// Where to connect.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of connections of the client.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
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

/// Sends the refusal once the request begins, and reads on until the client closes: a reset would lose the response.
async fn refuse(mut client: TcpStream, (head, body): (&str, &str)) {
    let length = body.len();
    let response = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    if client.read(&mut [0; 1024]).await.is_ok_and(|read| read > 0) {
        let _ = client.write_all(response.as_bytes()).await;
        let _ = client.shutdown().await;
        let _ = copy(&mut client, &mut sink()).await;
    }
}
