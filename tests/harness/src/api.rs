//! The HTTP API as its clients use it: a bearer token, JSON, and idempotency keys. The clients of the services add their requests.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{Client, Endpoint, Error, Instance, Part, Request, Response, Result, contract};

/// The processes of a part in the order in which a request tries them.
type Route<'r> = Box<dyn Fn(Part) -> Vec<Endpoint> + 'r>;

/// A client of one tenant.
pub struct Api<'r> {
    client: Client,
    route: Route<'r>,
    /// How many requests found no listener at one instance, and went to the next.
    passed_on: AtomicUsize,
}

impl<'r> Api<'r> {
    /// A client that sends by this route.
    pub fn new(client: Client, route: impl Fn(Part) -> Vec<Endpoint> + 'r) -> Self {
        Self { client, route: Box::new(route), passed_on: AtomicUsize::new(0) }
    }

    /// The HTTP client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns how many requests found no listener at one instance, and went to the next.
    pub fn passed_on(&self) -> usize {
        self.passed_on.load(Ordering::Relaxed)
    }

    /// Reads a path of a part.
    pub async fn get(&self, part: Part, path: impl Into<String>) -> Result<Response> {
        self.send(&Request::get(part, path)).await
    }

    /// Reads a path of one process.
    pub async fn get_at(&self, instance: Instance, path: impl Into<String>) -> Result<Response> {
        self.send_at(instance, &Request::get(instance.part, path)).await
    }

    /// Sends a request to its part. The caller judges the response.
    pub async fn send(&self, request: &Request) -> Result<Response> {
        let sent = self.try_send(request).await;
        documented(request, sent.map_err(|source| Error::NoResponse { request: request.name(), source })?)
    }

    /// Sends a request to one process.
    pub async fn send_at(&self, instance: Instance, request: &Request) -> Result<Response> {
        let name = || format!("{} at {instance}", request.name());
        let sent = self.try_send_at(instance, request).await;
        documented(request, sent.map_err(|source| Error::NoResponse { request: name(), source })?)
    }

    /// Sends to one instance after the other until there is a connection. Without one, nothing was sent.
    pub async fn try_send(&self, request: &Request) -> reqwest::Result<Response> {
        let mut endpoints = (self.route)(request.part).into_iter().peekable();
        while let Some(endpoint) = endpoints.next() {
            match self.send_politely(&endpoint, request).await {
                Err(error) if error.is_connect() && endpoints.peek().is_some() => {
                    self.passed_on.fetch_add(1, Ordering::Relaxed);
                }
                sent => return sent,
            }
        }
        // A part without an instance: the request fails as at a closed port.
        let instance = request.part.instance(1);
        self.client.send(&Endpoint { instance, address: "127.0.0.1:1".to_owned() }, request).await
    }

    /// Sends to one process, whatever the route prefers.
    pub async fn try_send_at(&self, instance: Instance, request: &Request) -> reqwest::Result<Response> {
        let mut endpoints = (self.route)(request.part);
        endpoints.retain(|endpoint| endpoint.instance == instance);
        let closed = Endpoint { instance, address: "127.0.0.1:1".to_owned() };
        self.send_politely(&endpoints.pop().unwrap_or(closed), request).await
    }

    /// Waits and sends again if the rate limit asks for it: this client has no rights that others lack.
    async fn send_politely(&self, to: &Endpoint, request: &Request) -> reqwest::Result<Response> {
        loop {
            let response = self.client.send(to, request).await?;
            match response.retry_after() {
                Some(pause) if response.status == 429 => tokio::time::sleep(pause).await,
                _ => return Ok(response),
            }
        }
    }
}

/// Every response that a test sees is in the document of its service.
fn documented(request: &Request, response: Response) -> Result<Response> {
    match contract::undocumented(request, &response) {
        None => Ok(response),
        Some(what) => Err(Error::Undocumented {
            request: request.name(),
            part: request.part,
            what,
            body: String::from_utf8_lossy(&response.body).into_owned(),
        }),
    }
}
