//! `Trial`: one case in progress against one server. It makes the requests of the case and judges their responses;
//! `effects` counts their effects, `fresh` gives each command a resource of its own.

mod effects;
mod fresh;

use std::fmt::Display;
use std::time::Duration;

use reqwest::Url;
use serde_json::Value;
use tokio::time::Instant;
use uuid::Uuid;

use crate::case_error::{CaseError, CaseResult, ensure, given};
use crate::http::{Client, Connection, KEY_HEADER, Request, Response};
use crate::target::{Caller, Preparation, Refusal, Responses, Target, Variant};

use fresh::needed;
pub(crate) use fresh::{FRESH, Supply};

/// How long a case waits for a later event, beside the time after which keys expire.
const DEADLINE: Duration = Duration::from_mins(1);

/// The pause between two attempts to see an event.
const PAUSE: Duration = Duration::from_millis(50);

/// The statuses of a request whose content is not valid.
pub(crate) const INVALID: &[u16] = &[400, 422];

/// A text that no request has had as its key.
pub(crate) fn new_key_text() -> String {
    Uuid::new_v4().to_string()
}

/// A case in progress. It has a text of its own, so that cases can run at the same time.
pub(crate) struct Trial<'t> {
    pub(crate) target: &'t Target,
    client: &'t Client<'t>,
    supply: &'t Supply,
    unique: String,
}

impl<'t> Trial<'t> {
    pub(crate) fn new(target: &'t Target, client: &'t Client<'t>, supply: &'t Supply) -> Self {
        // Without digits, because thirteen of them may look like a card number, and a target then refuses the text.
        let letters = Uuid::new_v4().into_bytes().map(|byte| char::from(b'A' + byte % 26));
        Self { target, client, supply, unique: letters.iter().collect() }
    }

    // Requests.

    /// The header value of a key in the form that the target accepts.
    pub(crate) fn key(&self, text: &str) -> String {
        if self.target.quoted_keys { format!("\"{text}\"") } else { text.to_owned() }
    }

    /// A key that no request has had.
    pub(crate) fn new_key(&self) -> String {
        self.key(&new_key_text())
    }

    /// The command under a new key.
    pub(crate) fn command(&self) -> Request {
        self.request(&self.target.command.method, &self.target.command.path, &self.body("1"))
            .with_key(self.new_key())
    }

    /// The command's body with another number: a request for another effect.
    pub(crate) fn body(&self, number: &str) -> String {
        self.spelled(&self.target.command.body, &self.unique, number)
    }

    /// The command's body with another spelling of its text.
    pub(crate) fn body_with_text(&self, spell: impl FnOnce(&str) -> String) -> String {
        self.spelled(&self.target.command.body, &spell(&self.unique), "1")
    }

    /// A text of the target file with the values of this case.
    pub(crate) fn rendered(&self, template: &str) -> String {
        self.spelled(template, &self.unique, "1")
    }

    fn spelled(&self, template: &str, text: &str, number: &str) -> String {
        let run = &self.target.run;
        self.with_fresh(template, Caller::Default)
            .replace("{unique}", &self.unique)
            .replace("{text}", text)
            .replace("{number}", number)
            .replace("{run}", run)
    }

    fn request(&self, method: &str, path: &str, body: &str) -> Request {
        let headers =
            vec![("Content-Type".to_owned(), self.target.command.content_type.clone().into_bytes())];
        Request {
            instance: 0,
            caller: Some(Caller::Default),
            method: method.to_owned(),
            path: self.rendered(path),
            headers,
            body: body.as_bytes().to_vec(),
        }
    }

    /// A command that a rule of the business rejects, and the status of the rejection.
    pub(crate) fn rejected(&self) -> CaseResult<(Request, u16)> {
        self.variant(self.target.command.rejected.as_ref(), "rejected", "1")
    }

    /// A command that takes two seconds or more, and the status of its response.
    pub(crate) fn slow(&self, number: &str) -> CaseResult<(Request, u16)> {
        self.variant(self.target.command.slow.as_ref(), "slow", number)
    }

    /// A command whose first execution fails with a 5xx, and the status of the failure.
    pub(crate) fn failing(&self) -> CaseResult<(Request, u16)> {
        self.variant(self.target.command.failing.as_ref(), "failing", "1")
    }

    /// A command whose outcome comes later, and the status of its acceptance.
    pub(crate) fn pending(&self) -> CaseResult<(Request, u16)> {
        self.variant(self.target.command.pending.as_ref(), "pending", "1")
    }

    fn variant(&self, variant: Option<&Variant>, name: &str, number: &str) -> CaseResult<(Request, u16)> {
        let variant = given(variant, &format!("the target has no [command.{name}]"))?;
        let body = self.spelled(&variant.body, &self.unique, number);
        Ok((self.command().with_body(body), variant.status))
    }

    /// The second command, about the resource of this response, under a new key; and the statuses that its response may have.
    pub(crate) fn follow_up(&self, first: &Response) -> CaseResult<(Request, &[u16])> {
        let follow_up =
            given(self.target.command.follow_up.as_ref(), "the target has no [command.follow_up]")?;
        let id = first.json().pointer(&follow_up.id).and_then(Value::as_str).map(str::to_owned);
        let id =
            id.ok_or_else(|| CaseError::Failed(format!("no id at {} of {}", follow_up.id, first.summary())))?;
        let (path, body) = (follow_up.path.replace("{id}", &id), follow_up.body.replace("{id}", &id));
        let request = self.request(&follow_up.method, &path, &self.rendered(&body)).with_key(self.new_key());
        Ok((request, &follow_up.status))
    }

    /// A command that takes no key, with a key; and the statuses that its response may have.
    pub(crate) fn unkeyed(&self) -> CaseResult<(Request, &[u16])> {
        let unkeyed = given(self.target.command.unkeyed.as_ref(), "the target has no [command.unkeyed]")?;
        let request = self.request(&unkeyed.method, &unkeyed.path, &self.rendered(&unkeyed.body));
        Ok((request.with_key(self.new_key()), &unkeyed.status))
    }

    /// The request at this path, with `{key}`, that gives the key of a request up.
    pub(crate) fn fence(&self, path: &str, request: &Request) -> Request {
        let key =
            request.headers.iter().find(|(name, _)| name == KEY_HEADER).map(|(_, value)| value.as_slice());
        let key = String::from_utf8_lossy(key.unwrap_or_default()).replace('"', "");
        self.request("POST", &path.replace("{key}", &key), "").by(request.caller)
    }

    // Sending.

    /// Sends a request. The case judges the response.
    pub(crate) async fn send(&self, request: &Request) -> CaseResult<Response> {
        self.client.send(request).await
    }

    /// Sends a request to a `Location`. An absolute one is sought at the server under test, because the server may have another
    /// name in public.
    pub(crate) async fn send_to_location(&self, location: &str, request: Request) -> CaseResult<Response> {
        let invalid = |error: &dyn Display| CaseError::Failed(format!("Location is not a URL: {error}"));
        let server = self.target.server(0).unwrap_or_default();
        let base = Url::parse(&format!("{server}{}", request.path)).map_err(|error| invalid(&error))?;
        let url = base.join(location).map_err(|error| invalid(&error))?;
        let path =
            url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
        self.send_to(&base.origin().ascii_serialization(), &request.with_path(path)).await
    }

    /// Sends a request to another server.
    pub(crate) async fn send_to(&self, server: &str, request: &Request) -> CaseResult<Response> {
        self.client.send_to(server, request).await
    }

    /// Sends a request as bytes on a new connection.
    pub(crate) async fn send_raw(&self, request: &Request) -> CaseResult<Response> {
        self.client.send_raw(request).await
    }

    /// Opens a connection for a request, and writes nothing yet.
    pub(crate) async fn connect(&self, request: &Request) -> CaseResult<Connection> {
        self.client.connect(request).await
    }

    /// Sends a request that has to be executed.
    pub(crate) async fn executed(&self, request: &Request) -> CaseResult<Response> {
        self.executed_with(request, &[self.target.command.status]).await
    }

    /// Sends a request that has to be executed, with one of these statuses.
    pub(crate) async fn executed_with(&self, request: &Request, statuses: &[u16]) -> CaseResult<Response> {
        let response = self.send(request).await?;
        response.expect_status(statuses)?;
        ensure(!self.is_replay(&response), || "a first response is marked as a replay".to_owned())?;
        Ok(response)
    }

    /// Sends a request that has to get this response again.
    pub(crate) async fn replayed(&self, request: &Request, first: &Response) -> CaseResult<Response> {
        let response = self.send(request).await?;
        self.is_replay_of(&response, first)?;
        Ok(response)
    }

    /// Sends a request that has to be refused in this way.
    pub(crate) async fn refused(
        &self,
        request: &Request,
        refusal: fn(&Responses) -> &Refusal,
    ) -> CaseResult<Response> {
        let response = self.send(request).await?;
        self.is_refusal(&response, refusal)?;
        Ok(response)
    }

    // Judging.

    /// Returns whether the server marks a response as a replay. Returns `false` if the server marks no replays.
    pub(crate) fn is_replay(&self, response: &Response) -> bool {
        let marker = self.target.responses.replayed.as_ref();
        marker.is_some_and(|marker| response.header(&marker.header) == Some(marker.value.as_str()))
    }

    /// Fails unless a response repeats an earlier one.
    pub(crate) fn is_replay_of(&self, response: &Response, first: &Response) -> CaseResult {
        ensure((response.status, &response.body) == (first.status, &first.body), || {
            format!("expected the first response, {}; got {}", first.summary(), response.summary())
        })?;
        let is_marked = self.target.responses.replayed.is_none() || self.is_replay(response);
        ensure(is_marked, || "the replay is not marked".to_owned())
    }

    /// Fails unless a response is this refusal.
    pub(crate) fn is_refusal(&self, response: &Response, refusal: fn(&Responses) -> &Refusal) -> CaseResult {
        let refusal = refusal(&self.target.responses);
        ensure(response.status == refusal.status, || {
            format!("expected {}, got {}", refusal.status, response.summary())
        })?;
        if let Some(code) = &refusal.code {
            let given = self.code(response);
            ensure(given == *code, || format!("expected the code {code}, got {given:?}"))?;
        }
        if let Some(expected) = refusal.retry_after {
            let has = response.header("Retry-After").is_some();
            ensure(has == expected, || {
                format!("{} has {} Retry-After", response.status, if has { "a" } else { "no" })
            })?;
        }
        Ok(())
    }

    /// Returns whether a response says that the first request with the key is in progress.
    pub(crate) fn is_in_progress(&self, response: &Response) -> bool {
        self.is_refusal(response, |it| &it.in_progress).is_ok()
    }

    /// Returns whether a response says that the key was used for another request.
    pub(crate) fn is_reused(&self, response: &Response) -> bool {
        self.is_refusal(response, |it| &it.reused).is_ok()
    }

    fn code(&self, response: &Response) -> String {
        let code =
            response.json().pointer(&self.target.responses.code).and_then(Value::as_str).map(str::to_owned);
        code.unwrap_or_default()
    }

    // Waiting and preparing.

    /// Looks until there is a value. Fails one minute after keys expire.
    pub(crate) async fn until<T>(
        &self,
        what: &str,
        mut look: impl AsyncFnMut() -> CaseResult<Option<T>>,
    ) -> CaseResult<T> {
        let longest = DEADLINE + self.target.key_life().unwrap_or_default();
        let deadline = Instant::now() + longest;
        loop {
            if let Some(value) = look().await? {
                return Ok(value);
            }
            ensure(Instant::now() < deadline, || format!("waited {longest:?} in vain: {what}"))?;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Sends the preparations for a caller: those of the whole run, or those of each case.
    pub(crate) async fn prepare(&self, caller: Caller, each_case: bool) -> CaseResult {
        for step in self.target.prepare.iter().filter(|step| step.each_case == each_case) {
            for _ in 0..needed(step.times, caller) {
                self.prepare_with(step, caller).await?;
            }
        }
        Ok(())
    }

    async fn prepare_with(&self, step: &Preparation, caller: Caller) -> CaseResult {
        let request = self.request(&step.method, &step.path, &self.rendered(&step.body)).by(caller);
        let what = format!("preparation {} {}", request.method, request.path);
        self.until(&what, async || {
            let request = request.clone().with_only_header(KEY_HEADER, self.new_key());
            let response = match &step.server {
                Some(server) => self.send_to(server, &request).await?,
                None => self.send(&request).await?,
            };
            Ok(step.status.contains(&response.status).then_some(()))
        })
        .await
    }

    /// Skips a case that rewrites JSON, if the bodies of the target are not JSON.
    pub(crate) fn needs_json(&self) -> CaseResult {
        given(self.target.is_json().then_some(()), "bodies of the target are not JSON")
    }

    /// Skips a case that rewrites numbers, if the number of the command is a part of a text.
    pub(crate) fn needs_number(&self) -> CaseResult {
        self.needs_json()?;
        let is_text = serde_json::from_str::<Value>(&self.body("no number")).is_ok();
        given((!is_text).then_some(()), "the {number} of the command is a part of a text")
    }
}
