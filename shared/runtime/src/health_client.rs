//! The client of the command `health`: asks the running instance for its readiness, so that a container image needs no
//! HTTP client.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The time limit for connecting and for each read.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Returns whether the instance at this address is ready, and the body of its response.
pub(crate) fn readiness(address: SocketAddr) -> io::Result<(bool, String)> {
    // Linux and macOS connect to this machine if the address is "all interfaces".
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.write_all(b"GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    let (head, body) = response.split_once("\r\n\r\n").unwrap_or((&response, ""));
    Ok((head.starts_with("HTTP/1.1 200 "), body.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    fn answering(response: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                request.extend(byte);
            }
            stream.write_all(response.as_bytes()).unwrap();
        });
        address
    }

    #[test]
    fn only_200_is_ready_and_the_instance_says_why_not() {
        let ready = answering("HTTP/1.1 200 OK\r\n\r\n{\"status\":\"ready\"}");
        assert_eq!(readiness(ready).unwrap(), (true, "{\"status\":\"ready\"}".to_owned()));
        let starting = answering("HTTP/1.1 503 Service Unavailable\r\n\r\n{\"status\":\"starting\"}");
        assert_eq!(readiness(starting).unwrap(), (false, "{\"status\":\"starting\"}".to_owned()));
    }

    #[test]
    fn an_absent_instance_is_an_error() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert_eq!(readiness(free).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
