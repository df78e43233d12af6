//! What a client costs that asks for a response and does not read it.

use std::any::Any;
use std::io;
use std::time::Duration;

use actix_web::rt::net::TcpStream;
use socket2::SockRef;

/// So many bytes of a response wait in the kernel. By default the kernel would take some megabytes.
const SEND_BUFFER: usize = 64 * 1024;

/// Ends a connection whose client accepts nothing of a response for `stall`.
pub(crate) fn limit(connection: &dyn Any, stall: Duration) {
    if let Some(stream) = connection.downcast_ref::<TcpStream>()
        && let Err(error) = set(&SockRef::from(stream), stall)
    {
        tracing::warn!(%error, "a client that does not read its response cannot be limited");
    }
}

fn set(socket: &SockRef<'_>, stall: Duration) -> io::Result<()> {
    socket.set_send_buffer_size(SEND_BUFFER)?;
    // Other systems end such a connection after their own time, some minutes.
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(stall))?;
    #[cfg(not(target_os = "linux"))]
    let _ = stall;
    Ok(())
}
