//! Clients that hold connections: they send half of a request, or ask and do not read.

use e2e::{Customer, Stack};
use harness::process::peak_mib;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// Of each kind.
const CLIENTS: usize = 200;

/// The memory limit of a service in deploy/compose/bases.yml.
const LIMIT_MIB: f64 = 160.0;

async fn holds(address: &str, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    stream
}

/// A head that does not end, nearly as long as the server reads.
fn half_a_head() -> String {
    format!("GET / HTTP/1.1\r\nHost: orders\r\nX-Long: {}", "x".repeat(127 * 1024))
}

fn half_a_body(token: &str) -> String {
    let head =
        "POST /v1/orders HTTP/1.1\r\nHost: orders\r\nContent-Type: application/json\r\nContent-Length: 32000";
    format!("{head}\r\nAuthorization: Bearer {token}\r\n\r\n{}", " ".repeat(31_000))
}

/// Requests for the largest response. The server reads 16 requests ahead.
fn unread_responses() -> String {
    "GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: orders\r\n\r\n".repeat(16)
}

#[tokio::test(flavor = "multi_thread")]
async fn six_hundred_clients_that_hold_their_connections_do_not_keep_others_from_ordering() {
    let mut stack = Stack::start().await;
    let customer = Customer::of(&stack);
    let address = stack.address("orders");
    let mut held = Vec::new();
    for bytes in [half_a_head(), half_a_body(customer.token()), unread_responses()] {
        for _ in 0..CLIENTS {
            held.push(holds(&address, bytes.as_bytes()).await);
        }
    }
    for _ in 0..5 {
        // On connections of its own.
        Customer::stocked(&stack, 10).await.buys(1).await;
    }
    let pid = stack.program("orders").pid().unwrap();
    let peak = peak_mib(pid).unwrap();
    assert!(peak < LIMIT_MIB, "{peak} MiB");
    drop(held);
    stack.at_rest().await;
}
