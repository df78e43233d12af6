//! A port that stays free for a server of the test's own, also while that server is away.

use std::net::TcpListener;

use uuid::Uuid;

/// Nobody listens there, and no client gets it as its own: the range lies below the ephemeral ports, so it is
/// still free when its server comes back.
pub fn free_port() -> u16 {
    std::iter::repeat_with(|| 20_000 + (Uuid::new_v4().as_u64_pair().0 % 10_000) as u16)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("a free port")
}
