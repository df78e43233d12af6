//! A port for a server of a test, which stays free while that server does not run.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::{Mutex, PoisonError};

use uuid::Uuid;

/// The ports that this process has given out.
static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// Returns a port on which nothing listens, and each port once. Otherwise two tests could get the port of a server that has
/// not started yet. The range is below the ephemeral ports. Otherwise a client connection could take the port before the
/// server is started again.
pub fn free_port() -> u16 {
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    std::iter::repeat_with(|| 20_000 + (Uuid::new_v4().as_u64_pair().0 % 10_000) as u16)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok() && given.insert(*port))
        .expect("a free port")
}
