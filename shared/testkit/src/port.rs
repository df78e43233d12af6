//! A port for a server of a test, which stays free while that server does not run.

use std::net::{TcpListener, UdpSocket};
use std::sync::{Mutex, PoisonError};

use uuid::Uuid;

/// Holds the ports that this process has given out. Servers of tests use TCP alone, so a socket of UDP keeps the number for this
/// process, also from the test programs that run at the same time, and the system gives it back when the process ends.
static GIVEN: Mutex<Vec<UdpSocket>> = Mutex::new(Vec::new());

/// Returns a port on which nothing listens, and each port once. Otherwise two tests could get the port of a server that has
/// not started yet. The range is below the ephemeral ports. Otherwise a client connection could take the port before the
/// server is started again.
pub fn free_port() -> u16 {
    loop {
        let port = 20_000 + (Uuid::new_v4().as_u64_pair().0 % 10_000) as u16;
        let is_free = TcpListener::bind(("127.0.0.1", port)).is_ok();
        if let (true, Ok(held)) = (is_free, UdpSocket::bind(("127.0.0.1", port))) {
            GIVEN.lock().unwrap_or_else(PoisonError::into_inner).push(held);
            return port;
        }
    }
}
