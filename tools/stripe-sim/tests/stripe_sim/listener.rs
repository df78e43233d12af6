//! An endpoint that records webhooks and returns the statuses that the test sets.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use testkit::{Background, eventually};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// One request, as it came.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedWebhook {
    pub(crate) signature: String,
    pub(crate) body: String,
    /// The status of the response.
    pub(crate) status: u16,
}

impl ReceivedWebhook {
    pub(crate) fn event(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn kind(&self) -> String {
        self.event()["type"].as_str().unwrap().to_owned()
    }
}

#[derive(Debug, Default)]
struct Memory {
    received: Vec<ReceivedWebhook>,
    /// The statuses of the next responses; 200 after those.
    statuses: Vec<u16>,
}

/// Listens until it is dropped.
pub(crate) struct Listener {
    pub(crate) url: String,
    memory: Arc<Mutex<Memory>>,
    _task: Background,
}

impl Listener {
    pub(crate) async fn start() -> Self {
        Self::at("127.0.0.1:0".parse().unwrap()).await
    }

    pub(crate) async fn at(address: SocketAddr) -> Self {
        let socket = TcpListener::bind(address).await.unwrap();
        let url = format!("http://{}/hook", socket.local_addr().unwrap());
        let memory = Arc::<Mutex<Memory>>::default();
        let shared = Arc::clone(&memory);
        let task = Background::run(move |stop| async move {
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    Ok((stream, _)) = socket.accept() => {
                        tokio::select! { () = stop.cancelled() => return, () = serve(stream, &shared) => {} }
                    }
                }
            }
        });
        Self { url, memory, _task: task }
    }

    /// Sets the statuses of the next responses.
    pub(crate) fn respond_with(&self, statuses: &[u16]) {
        self.memory.lock().unwrap().statuses = statuses.iter().rev().copied().collect();
    }

    pub(crate) fn received(&self) -> Vec<ReceivedWebhook> {
        self.memory.lock().unwrap().received.clone()
    }

    /// Waits until so many have come.
    pub(crate) async fn wait_for(&self, number: usize) -> Vec<ReceivedWebhook> {
        eventually(&format!("{number} webhooks"), async || {
            let received = self.received();
            (received.len() >= number).then_some(received)
        })
        .await
    }
}

/// Serves one request on a connection, and closes the connection.
async fn serve(mut stream: TcpStream, memory: &Mutex<Memory>) {
    let mut received = Vec::new();
    let request = loop {
        let mut buffer = [0; 4096];
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => received.extend_from_slice(&buffer[..read]),
            _ => return,
        }
        if let Some(whole) = whole(&String::from_utf8_lossy(&received)) {
            break whole;
        }
    };
    let status = {
        let mut memory = memory.lock().unwrap();
        let status = memory.statuses.pop().unwrap_or(200);
        memory.received.push(ReceivedWebhook { status, ..request });
        status
    };
    let response = format!("HTTP/1.1 {status} So\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let _ = stream.write_all(response.as_bytes()).await;
}

fn whole(text: &str) -> Option<ReceivedWebhook> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let header = |name: &str| {
        head.lines().find_map(|line| {
            let (given, value) = line.split_once(':')?;
            given.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let length: usize = header("content-length")?.parse().ok()?;
    (body.len() >= length).then(|| ReceivedWebhook {
        signature: header("stripe-signature").unwrap_or_default(),
        body: body[..length].to_owned(),
        status: 0,
    })
}
