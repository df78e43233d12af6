//! Commands that a client cannot forget.
//!
//! [`Commands::remember`] stores a key and the bytes before the first byte is sent. [`Commands::outcome`] sends them until the service
//! tells what happened, and stores that before it returns it. After a restart, [`Commands::open`] lists the commands without an
//! outcome: ask for each again.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant, SystemTime};

use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method, StatusCode};
use reqwest::Client;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::retries::{Retries, whole};
use crate::store::Store;

const COMMAND: &str = "command";
const OUTCOME: &str = "outcome";

/// A service remembers a key for 30 days.
const LIFE: Duration = Duration::from_hours(29 * 24);
/// For one attempt.
const TIMEOUT: Duration = Duration::from_secs(10);
/// An operation is followed for so long in one call.
const PATIENCE: Duration = Duration::from_mins(1);

/// A stored command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The caller's name for it; without one, the key.
    pub name: String,
    pub key: Uuid,
    pub path: String,
    pub body: String,
    /// The time when it was stored first.
    pub at: SystemTime,
}

/// The outcome of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The command took effect. If the service was asked more than 24 hours later, `body` is null: read the resource.
    Happened { status: u16, headers: BTreeMap<String, String>, body: Value },
    /// The command did not happen, and never will.
    Never,
    /// The service refused the command, for the reason in `problem`. It did not happen, and never will.
    Refused { problem: Value },
}

/// The reason why a call returned no command and no outcome.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The service did not tell what happened. The command stays open: ask for its outcome later.
    #[error("undecided: {0}")]
    Undecided(String),
    /// Nothing is stored or sent.
    #[error("{0} is the name of another command")]
    OtherCommand(String),
    #[error("the store of commands: {0}")]
    Store(#[from] io::Error),
}

type Response = http::Response<Vec<u8>>;

/// The commands of one service. Tasks may share it. If the future of a method is dropped, the command stays open.
pub struct Commands {
    store: Store,
    http: ClientWithMiddleware,
    base_url: String,
    token: Box<dyn Fn() -> String + Send + Sync>,
}

impl Commands {
    /// Sends commands to `base_url` with the bearer token that `token` returns, and fences a key after as many attempts without an
    /// outcome as `retries` makes.
    pub fn new(
        store: Store,
        base_url: impl Into<String>,
        token: impl Fn() -> String + Send + Sync + 'static,
        retries: Retries,
    ) -> Self {
        let http = ClientBuilder::new(Client::new()).with(retries).build();
        Self { store, http, base_url: base_url.into(), token: Box::new(token) }
    }

    /// Stores a command, a POST that takes a key, before it is sent. With a name of the caller's, such as the id of a cart, a second
    /// call returns the first command.
    ///
    /// # Errors
    ///
    /// [`Error::OtherCommand`] if the first command of this name has another path or body.
    pub async fn remember(&self, path: &str, body: &str, name: Option<&str>) -> Result<Command, Error> {
        let key = Uuid::new_v4();
        let name = name.map_or_else(|| key.to_string(), str::to_owned);
        let (path, body) = (path.to_owned(), body.to_owned());
        let command = Command { name, key, path, body, at: SystemTime::now() };
        let stored = self.store.put(COMMAND, &command.name, &command).await?;
        if (&stored.path, &stored.body) != (&command.path, &command.body) {
            return Err(Error::OtherCommand(command.name));
        }
        Ok(stored)
    }

    /// The commands without an outcome, oldest first.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub async fn open(&self) -> Result<Vec<Command>, Error> {
        let mut open = Vec::new();
        for command in self.store.all::<Command>(COMMAND).await? {
            if self.known(&command).await?.is_none() {
                open.push(command);
            }
        }
        open.sort_by_key(|command| command.at);
        Ok(open)
    }

    /// Deletes a command whose outcome the caller has used. A command without an outcome stays.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub async fn forget(&self, command: &Command) -> Result<(), Error> {
        if self.known(command).await?.is_some() {
            // The command first: without its outcome it would be sent again.
            self.store.delete(COMMAND, &command.name).await?;
            self.store.delete(OUTCOME, &command.key.to_string()).await?;
        }
        Ok(())
    }

    /// Sends the command until its outcome is known.
    ///
    /// # Errors
    ///
    /// [`Error::Undecided`] if the service cannot be asked.
    pub async fn outcome(&self, command: &Command) -> Result<Outcome, Error> {
        if let Some(known) = self.known(command).await? {
            return Ok(known);
        }
        let outcome = self.decide(command).await?;
        Ok(self.store.put(OUTCOME, &command.key.to_string(), &outcome).await?)
    }

    async fn known(&self, command: &Command) -> io::Result<Option<Outcome>> {
        self.store.get(OUTCOME, &command.key.to_string()).await
    }

    async fn decide(&self, command: &Command) -> Result<Outcome, Error> {
        if command.at.elapsed().is_ok_and(|age| age > LIFE) {
            return Err(undecided("the service may have forgotten the key: read the resource"));
        }
        let response = self.send(command).await?;
        if let Some(stored) = response.as_ref().filter(|response| tells(response)) {
            return self.told(stored).await;
        }
        // Gives up. This holds for a refusal, too: it may be of this attempt alone, after one that took effect.
        let fence = format!("/v1/idempotency-keys/{}/fence", command.key);
        let Fence { data } = self.read(Method::POST, &fence).await?;
        let Some(record) = data.into_iter().next() else {
            return Ok(without_effect(response.as_ref()));
        };
        match (record.state.as_str(), record.status) {
            ("completed" | "failed_terminal", _) => match self.send(command).await? {
                Some(stored) if tells(&stored) => self.told(&stored).await,
                _ => Err(undecided("the stored response did not arrive")),
            },
            ("expired", Some(status)) if status != 202 => Ok(ended(status, BTreeMap::new(), Value::Null)),
            _ => self.follow(record.operation_id).await,
        }
    }

    /// The outcome by the stored response of the key.
    async fn told(&self, stored: &Response) -> Result<Outcome, Error> {
        let body = match stored.body().as_slice() {
            [] => Value::Null,
            body => serde_json::from_slice(body).map_err(|error| undecided(format!("the body: {error}")))?,
        };
        if stored.status() == StatusCode::ACCEPTED {
            let operation = serde_json::from_value(body["operation_id"].clone()).unwrap_or_default();
            return self.follow(operation).await;
        }
        Ok(ended(stored.status().as_u16(), texts(stored.headers()), body))
    }

    async fn follow(&self, operation: Option<Uuid>) -> Result<Outcome, Error> {
        let operation = operation.ok_or_else(|| undecided("the service names no operation"))?;
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let Operation { reply } = self.read(Method::GET, &format!("/v1/operations/{operation}")).await?;
            if let Some(Reply { status, headers, body }) = reply {
                return Ok(ended(status, headers, body));
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        Err(undecided("the operation has not ended"))
    }

    async fn send(&self, command: &Command) -> Result<Option<Response>, Error> {
        let headers = [
            ("idempotency-key", command.key.to_string()),
            (CONTENT_TYPE.as_str(), "application/json".to_owned()),
        ];
        self.request(Method::POST, &command.path, &headers, &command.body).await
    }

    async fn read<T: DeserializeOwned>(&self, method: Method, path: &str) -> Result<T, Error> {
        let response = self.request(method, path, &[], "").await?;
        let found = response.filter(|response| response.status() == StatusCode::OK);
        found
            .and_then(|response| serde_json::from_slice(response.body()).ok()) // not a gateway's page
            .ok_or_else(|| undecided(format!("{path} is not answered")))
    }

    /// Asks by the retry policy, twice if the token has expired meanwhile. Returns `None` if there was no response at last.
    async fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, String)],
        body: &str,
    ) -> Result<Option<Response>, Error> {
        for _ in 0..2 {
            let url = format!("{}{path}", self.base_url);
            let request = self.http.request(method.clone(), url).bearer_auth((self.token)()).timeout(TIMEOUT);
            let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
            match whole(request.body(body.to_owned()).send().await).await {
                Ok(response) if response.status() == StatusCode::UNAUTHORIZED => {}
                response => return Ok(response.ok()),
            }
        }
        Err(undecided("the token is refused"))
    }
}

/// The response to a fence.
#[derive(Deserialize)]
struct Fence {
    data: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    state: String,
    status: Option<u16>,
    operation_id: Option<Uuid>,
}

#[derive(Deserialize)]
struct Operation {
    reply: Option<Reply>,
}

#[derive(Deserialize)]
struct Reply {
    status: u16,
    headers: BTreeMap<String, String>,
    body: Value,
}

fn undecided(reason: impl Into<String>) -> Error {
    Error::Undecided(reason.into())
}

/// Reports whether this is the stored response of the key. A response without this header may be a gateway's.
fn tells(response: &Response) -> bool {
    let status = response.headers().get("idempotency-status").map(|status| status.as_bytes());
    matches!(status, Some(b"executed" | b"replayed"))
}

fn texts(headers: &HeaderMap) -> BTreeMap<String, String> {
    let texts =
        headers.iter().filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    texts.collect()
}

fn ended(status: u16, headers: BTreeMap<String, String>, body: Value) -> Outcome {
    match body {
        body if status < 400 => Outcome::Happened { status, headers, body },
        Value::Null => Outcome::Refused { problem: json!({ "status": status }) },
        problem => Outcome::Refused { problem },
    }
}

/// The outcome of a fenced key without a record, after this last response.
fn without_effect(response: Option<&Response>) -> Outcome {
    let problem: Value =
        response.and_then(|response| serde_json::from_slice(response.body()).ok()).unwrap_or_default();
    if problem["retryable"] == false && problem["code"] != "idempotency-key-fenced" {
        Outcome::Refused { problem }
    } else {
        Outcome::Never // after no response, or a gateway's
    }
}
