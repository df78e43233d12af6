//! A port for a server of a test, which stays free while that server does not run.

use std::net::TcpListener;

use uuid::Uuid;

/// Returns a port on which nothing listens. The range is below the ephemeral ports. Otherwise a client connection could
/// take the port before the server is started again.
pub fn free_port() -> u16 {
    std::iter::repeat_with(|| 20_000 + (Uuid::new_v4().as_u64_pair().0 % 10_000) as u16)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("a free port")
}
