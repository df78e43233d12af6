//! Hostile clients: they hold connections and cost as little as possible themselves.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// The pause between two bytes.
const DRIP: Duration = Duration::from_millis(500);

/// The clients of each kind.
const OF_EACH_KIND: usize = 200;

#[derive(Clone, Copy)]
enum Kind {
    /// Connects and sends nothing.
    Silent,
    /// Sends its request byte by byte.
    SlowSender,
    /// Asks for the largest page 16 times, and reads byte by byte.
    SlowReader,
}

/// Clients of all kinds, until the set is dropped. A client that loses its connection connects again.
pub(crate) fn hostile_clients(address: &str) -> JoinSet<()> {
    let mut clients = JoinSet::new();
    for kind in [Kind::Silent, Kind::SlowSender, Kind::SlowReader] {
        for _ in 0..OF_EACH_KIND {
            let address = address.to_owned();
            clients.spawn(async move {
                loop {
                    // The server ends the connection sooner or later; the client then holds another one.
                    let _ = hold(kind, &address).await;
                    sleep(DRIP).await;
                }
            });
        }
    }
    clients
}

/// Holds one connection until the server closes it.
async fn hold(kind: Kind, address: &str) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    match kind {
        Kind::Silent => stream.read(&mut [0]).await.map(drop),
        Kind::SlowSender => {
            for byte in b"POST /v1/orders HTTP/1.1\r\nHost: orders\r\nX-Long: ".iter().chain(&[b'x'; 1024]) {
                stream.write_all(&[*byte]).await?;
                sleep(DRIP).await;
            }
            Ok(())
        }
        Kind::SlowReader => {
            let request = "GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: orders\r\n\r\n".repeat(16);
            stream.write_all(request.as_bytes()).await?;
            while stream.read(&mut [0]).await? > 0 {
                sleep(DRIP).await;
            }
            Ok(())
        }
    }
}
