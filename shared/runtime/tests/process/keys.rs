//! The key set for checking tokens, fetched from an issuer over HTTP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

use testkit::identity;

use crate::greeter::{Running, Surroundings};

/// A server that returns this text for every request.
struct Issuer {
    address: SocketAddr,
    response: Arc<Mutex<String>>,
}

impl Issuer {
    fn answering(status: &str, body: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let issuer = Self { address: listener.local_addr().unwrap(), response: Arc::default() };
        issuer.set_response(status, body);
        let response = Arc::clone(&issuer.response);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = Vec::new();
                let mut byte = [0];
                while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
                    request.extend(byte);
                }
                let response = response.lock().unwrap().clone();
                let _ = stream.write_all(response.as_bytes());
            }
        });
        issuer
    }

    fn set_response(&self, status: &str, body: &str) {
        let length = body.len();
        let response =
            format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
        *self.response.lock().unwrap() = response;
    }

    fn url(&self) -> String {
        format!("http://{}/jwks?tenant=canary", self.address)
    }
}

#[tokio::test]
async fn without_its_key_set_it_waits_for_the_issuer() {
    let surroundings = Surroundings::new().await;
    let issuer = Issuer::answering("503 Service Unavailable", "");
    let running = Running::start(surroundings.serve().env("IDEM_AUTH__JWKS", issuer.url()));
    running
        .readiness(
            503,
            r#"{"status":"starting","database":"ok","broker":"ok","keys":"away","deployment":"ok"}"#,
        )
        .await;
    let (status, problem) = running.get("/v1/greeting").await.unwrap();
    assert_eq!(status, 503);
    assert!(problem.contains("\"service-unavailable\""), "{problem}");
    let line = running.logged("waiting for the key set: ").await.to_string();
    assert!(line.contains("the response is 503") && line.contains("IDEM_AUTH__JWKS"), "{line}");
    assert!(!line.contains("canary"), "a query may hold a secret: {line}");

    issuer.set_response("200 OK", &identity::jwks());
    running.ready().await;
    assert_eq!(running.get("/v1/greeting").await, Some((200, "\"Hello\"".to_owned())));
    running.end().await;
    surroundings.clear().await;
}

/// Every login fails once the keys are withdrawn, and after a day if they cannot be read.
#[tokio::test]
async fn keys_that_cannot_be_read_again_are_away_until_they_can() {
    let surroundings = Surroundings::new().await;
    let issuer = Issuer::answering("200 OK", &identity::jwks());
    let mut serve = surroundings.serve();
    serve.env("IDEM_AUTH__JWKS", issuer.url()).env("IDEM_AUTH__JWKS_REFRESH_SECONDS", "1");
    let running = Running::start(&mut serve);
    running.ready().await;
    for (status, keys) in [("200 OK", r#"{"keys":[]}"#), ("404 Not Found", "")] {
        issuer.set_response(status, keys);
        let state = r#"{"status":"ready","database":"ok","broker":"ok","keys":"away","deployment":"ok"}"#;
        running.readiness(200, state).await;
        issuer.set_response("200 OK", &identity::jwks());
        running.ready().await;
    }
    running.end().await;
    surroundings.clear().await;
}

#[tokio::test]
async fn an_unusable_key_set_ends_the_start() {
    let surroundings = Surroundings::new().await;
    let issuer = Issuer::answering("200 OK", r#"{"keys":[]}"#);
    let mut running = Running::start(surroundings.serve().env("IDEM_AUTH__JWKS", issuer.url()));
    assert_eq!(running.exit_code().await, Some(1));
    let line = running.logged("greeter failed: ").await.to_string();
    let location = format!("http://{}/jwks is not usable: it holds no key", issuer.address);
    assert!(
        line.contains("IDEM_AUTH__JWKS must be the path or URL of a key set") && line.contains(&location),
        "{line}"
    );
}
