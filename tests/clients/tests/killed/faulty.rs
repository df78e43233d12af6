//! Proxies in front of services, for clients that open a connection for each request or reuse one. They lose, cut, repeat and delay
//! requests and responses at random. They keep all first requests of some keys back, until their client has given up.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::task::TaskTracker;

/// So many requests of a key that is kept back arrive late: as many as a client sends before it gives up.
const KEPT_BACK: usize = 3;

/// After this time a request that was kept back arrives. The client has given up by then.
const LATE: Duration = Duration::from_secs(2);

/// A pause before a request or a response.
const DELAYS: std::ops::Range<u64> = 0..500;

const GATEWAYS: [&str; 2] = ["504 Gateway Timeout", "403 Forbidden"];

/// What happened.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) lost_requests: AtomicUsize,
    pub(crate) lost_responses: AtomicUsize,
    pub(crate) gateways: AtomicUsize,
    pub(crate) twice: AtomicUsize,
    pub(crate) delayed: AtomicUsize,
    pub(crate) kept_back: AtomicUsize,
    pub(crate) fences: AtomicUsize,
    /// Fences that found an expired record.
    pub(crate) expired: AtomicUsize,
    /// Requests that arrived after the fence of their key.
    pub(crate) too_late: AtomicUsize,
    pub(crate) operations: AtomicUsize,
}

/// The proxies of a test.
pub(crate) struct FaultyProxies {
    faults: Arc<Faults>,
    tasks: TaskTracker,
    requests: watch::Receiver<usize>,
}

struct Faults {
    random: Mutex<StdRng>,
    /// How many requests of a key are still to be kept back.
    kept_back: Mutex<HashMap<String, usize>>,
    requests: watch::Sender<usize>,
    counts: Counts,
}

impl FaultyProxies {
    /// Proxies whose faults this seed chooses.
    pub(crate) fn new(seed: u64) -> Self {
        let (sender, requests) = watch::channel(0);
        let random = Mutex::new(StdRng::seed_from_u64(seed));
        let faults =
            Faults { random, kept_back: Mutex::default(), requests: sender, counts: Counts::default() };
        Self { faults: Arc::new(faults), tasks: TaskTracker::new(), requests }
    }

    /// Listens on a free port and forwards to `upstream` (`host:port`), until the runtime ends.
    pub(crate) async fn to(&self, upstream: String) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (faults, tasks) = (Arc::clone(&self.faults), self.tasks.clone());
        self.tasks.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tasks.spawn(serve(Arc::clone(&faults), upstream.clone(), client));
            }
        });
        address
    }

    /// Returns when so many more requests have come.
    pub(crate) async fn requests(&self, more: usize) {
        let mut requests = self.requests.clone();
        let until = *requests.borrow() + more;
        requests.wait_for(|count| *count >= until).await.unwrap();
    }

    /// Reports whether a request is still on the way; not counting the listeners.
    pub(crate) fn are_quiet(&self, listeners: usize) -> bool {
        self.tasks.len() == listeners
    }

    /// What happened.
    pub(crate) fn counts(&self) -> &Counts {
        &self.faults.counts
    }
}

impl Faults {
    fn random<T>(&self, choose: impl FnOnce(&mut StdRng) -> T) -> T {
        choose(&mut self.random.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reports whether this request of a key is kept back.
    fn keeps_back(&self, key: &str) -> bool {
        let mut keys = self.kept_back.lock().unwrap_or_else(PoisonError::into_inner);
        let chosen = || self.random(|random| random.random_ratio(1, 8));
        let left = keys.entry(key.to_owned()).or_insert_with(|| if chosen() { KEPT_BACK } else { 0 });
        let is_kept_back = *left > 0;
        *left = left.saturating_sub(1);
        is_kept_back
    }

    async fn delay(&self) {
        let delay = self.random(|random| random.random_range(DELAYS));
        sleep(Duration::from_millis(delay)).await;
    }
}

fn count(counter: &AtomicUsize) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Reads one request, and answers or loses it.
async fn serve(faults: Arc<Faults>, upstream: String, mut client: TcpStream) {
    let Some(request) = Request::read(&mut client).await else { return };
    faults.requests.send_modify(|count| *count += 1);
    let counts = &faults.counts;
    if request.key.as_ref().is_some_and(|key| faults.keeps_back(key)) {
        count(&counts.kept_back);
        drop(client);
        sleep(LATE).await;
        if find(&request.send(&upstream).await, b"idempotency-key-fenced").is_some() {
            count(&counts.too_late);
        }
        return;
    }
    let response = match faults.random(|random| random.random_range(0..100)) {
        0..10 => return count(&counts.lost_requests),
        10..20 => {
            let _ = request.send(&upstream).await;
            return count(&counts.lost_responses);
        }
        20..26 => {
            let mut cut = request.send(&upstream).await;
            cut.truncate(cut.len() - 1);
            count(&counts.lost_responses);
            cut
        }
        26..32 => {
            let _ = request.send(&upstream).await;
            count(&counts.gateways);
            let status = GATEWAYS[faults.random(|random| random.random_range(0..GATEWAYS.len()))];
            format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").into_bytes()
        }
        32..42 => {
            count(&counts.twice);
            let (_, second) = tokio::join!(request.send(&upstream), request.send(&upstream));
            second
        }
        42..52 => {
            count(&counts.delayed);
            faults.delay().await;
            let response = request.send(&upstream).await;
            faults.delay().await;
            response
        }
        _ => request.send(&upstream).await,
    };
    if request.is_to(b"/fence ") {
        count(&counts.fences);
        if find(&response, br#""state":"expired""#).is_some() {
            count(&counts.expired);
        }
    }
    if request.is_to(b" /v1/operations/") {
        count(&counts.operations);
    }
    let _ = client.write_all(&response).await;
    let _ = client.shutdown().await;
}

/// A request, for a connection of its own.
struct Request {
    bytes: Vec<u8>,
    key: Option<String>,
}

impl Request {
    /// Reads a request with a body of a known length. Returns `None` if the client ends before.
    async fn read(client: &mut TcpStream) -> Option<Self> {
        let mut bytes = Vec::new();
        let head = loop {
            if let Some(end) = find(&bytes, b"\r\n\r\n") {
                break end;
            }
            client.read_buf(&mut bytes).await.ok().filter(|read| *read > 0)?;
        };
        let text = String::from_utf8(bytes[..head].to_vec()).unwrap();
        let header = |wanted: &str| {
            let named = text.lines().filter_map(|line| line.split_once(": "));
            named.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value)
        };
        let length = header("Content-Length").map_or(0, |length| length.parse().unwrap());
        let mut body = bytes.split_off(head + 4);
        while body.len() < length {
            client.read_buf(&mut body).await.ok().filter(|read| *read > 0)?;
        }
        let kept = text.lines().filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
        let mut bytes = kept.flat_map(|line| [line, "\r\n"]).collect::<String>().into_bytes();
        bytes.extend(b"Connection: close\r\n\r\n");
        bytes.extend(body);
        Some(Self { bytes, key: header("Idempotency-Key").map(str::to_owned) })
    }

    /// Reports whether the first line has this text.
    fn is_to(&self, text: &[u8]) -> bool {
        self.bytes.split(|byte| *byte == b'\r').next().is_some_and(|line| find(line, text).is_some())
    }

    /// Sends the request, and returns the response.
    async fn send(&self, upstream: &str) -> Vec<u8> {
        let mut server = TcpStream::connect(upstream).await.unwrap();
        server.write_all(&self.bytes).await.unwrap();
        let mut response = Vec::new();
        server.read_to_end(&mut response).await.unwrap();
        response
    }
}

/// Where the text begins.
fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text)
}
