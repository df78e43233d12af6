//! The commands of the control: a small sound server, or the same server with one defect. It counts the things that clients
//! make.

use std::time::{Duration, Instant};

use actix_web::web::{self, Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use idempotency::canonicalise;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::control::Instance;
use crate::defect::Defect;
use crate::fence::{claim, fence};
use crate::keys::{Claim, KeyScope, Stored};
use crate::request::{BODY_LIMIT, Caller, body, caller, fingerprint, key};
use crate::responses::{refusal, replay};

/// How long a slow command takes, and a pending one. A loaded machine handles a hundred requests in this time.
const SLOW: Duration = Duration::from_millis(2_500);

/// The time in which other requests meet a command in progress.
const PAUSE: Duration = Duration::from_millis(50);

/// What the path of a completion begins with, before the id of the thing.
const COMPLETED: &str = "completion of ";

pub(crate) fn routes(config: &mut web::ServiceConfig) {
    config
        .route("/things", web::post().to(make))
        .route("/things", web::get().to(list))
        .route("/things/{id}", web::patch().to(change))
        .route("/things/{id}/changes", web::post().to(change))
        .route("/things/{id}/completion", web::post().to(complete))
        .route("/open-things", web::get().to(list_all))
        .route("/operations/{id}", web::get().to(operation))
        .route("/notes", web::put().to(note))
        .route("/keys/{key}/fence", web::post().to(fence))
        .route("/restart", web::post().to(restart))
        .default_service(web::to(unknown));
}

/// The refusal of content that is not valid.
fn invalid(instance: &Instance) -> Stored {
    let status = if instance.defect == Some(Defect::FollowsTheDraftStrictly) { 422 } else { 400 };
    refusal(status, "request-invalid", false)
}

async fn make(instance: Data<Instance>, request: HttpRequest, payload: Payload) -> HttpResponse {
    respond(&instance, &request, payload, "").await.unwrap_or_else(|refused| refused.send())
}

/// A path that no route has.
async fn unknown(instance: Data<Instance>, request: HttpRequest, payload: Payload) -> HttpResponse {
    if instance.defect == Some(Defect::HasOneScopeForAllRoutes) {
        return make(instance, request, payload).await;
    }
    refusal(404, "not-found", false).send()
}

async fn change(
    instance: Data<Instance>,
    request: HttpRequest,
    payload: Payload,
    id: web::Path<String>,
) -> HttpResponse {
    respond(&instance, &request, payload, &id).await.unwrap_or_else(|refused| refused.send())
}

/// A command that a thing takes once, while its reference is still "open".
async fn complete(
    instance: Data<Instance>,
    request: HttpRequest,
    payload: Payload,
    id: web::Path<String>,
) -> HttpResponse {
    let path = format!("{COMPLETED}{id}");
    respond(&instance, &request, payload, &path).await.unwrap_or_else(|refused| refused.send())
}

async fn respond(
    instance: &Instance,
    request: &HttpRequest,
    payload: Payload,
    path: &str,
) -> Result<HttpResponse, Stored> {
    let has = |defect| instance.defect == Some(defect);
    // A request names the host and the port of the server.
    if !request.headers().get("Host").is_some_and(|host| host.as_bytes().contains(&b':')) {
        return Err(refusal(400, "wrong-host", false));
    }
    if has(Defect::LimitsTheRate) {
        let mut refused = refusal(429, "rate-limited", false);
        refused.headers.push(("Retry-After", "0".to_owned()));
        return Err(refused);
    }
    let has_credentials = request.headers().contains_key("X-Api-Key");
    let caller = match caller(request) {
        Some(caller) => caller,
        None if has(Defect::ReplaysWithoutCredentials)
            || (has_credentials && has(Defect::AcceptsWrongCredentials)) =>
        {
            Caller { tenant: "a".to_owned(), client: "one".to_owned(), may_write: true }
        }
        None => return Err(refusal(401, "unauthenticated", false)),
    };
    if !caller.may_write && !has(Defect::ReplaysWithoutRights) {
        return Err(refusal(403, "forbidden", false));
    }
    let media_type =
        request.headers().get("Content-Type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !media_type.starts_with("application/json") {
        return Err(refusal(415, "unsupported-media-type", false));
    }
    let announced =
        request.headers().get("Content-Length").and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > BODY_LIMIT) {
        return Err(refusal(413, "too-large", false));
    }
    let body = body(payload, has(Defect::RunsOnACutBody)).await?;
    let _lock = if has(Defect::HasOneLock) { Some(instance.memory.one.lock().await) } else { None };
    let key = key(instance, request)?;
    let of = [caller.tenant.clone(), caller.client.clone(), key.clone()];
    let scope: KeyScope = if has(Defect::HasOneScopeForAllTenants) {
        [String::new(), String::new(), String::new(), key]
    } else {
        let route = request.match_pattern().filter(|_| !has(Defect::HasOneScopeForAllRoutes));
        let route = route.unwrap_or_default();
        [caller.tenant.clone(), caller.client.clone(), route, key]
    };
    let canonical = canonicalise(&body).map_err(|_| invalid(instance));
    let canonical = match canonical {
        Err(refused) if has(Defect::StoresValidationErrors) => {
            if let Claim::First(guard) = instance.keys.claim(&scope, b"", instance.life, None) {
                guard.store(refused.clone());
            }
            return Err(refused);
        }
        canonical => canonical?,
    };
    let fingerprint = fingerprint(instance, request, &scope, path, &body, &canonical);
    let value: Value = serde_json::from_slice(&body).unwrap_or_default();
    if has(Defect::TakesNullForAbsent) && value.get("conformance").is_some() {
        return Err(invalid(instance));
    }
    loop {
        match claim(instance, &of, &scope, &fingerprint)? {
            Claim::First(guard) => {
                let response = execute(instance, &caller, path, &value).await;
                if has(Defect::LosesTheRecordOfACutConnection) {
                    actix_web::rt::time::sleep(PAUSE).await;
                }
                let is_rejected = value["rejected"] == true;
                let is_kept = match response.status {
                    500.. => has(Defect::ReplaysServerErrors),
                    422 if is_rejected => !has(Defect::TriesRejectionsAgain),
                    400..500 => false,
                    202 => !has(Defect::AcceptsTwice),
                    _ => true,
                };
                if is_kept {
                    guard.store(response.clone());
                }
                return Ok(response.send());
            }
            Claim::InProgress if has(Defect::BlocksDuplicates) => actix_web::rt::time::sleep(SLOW / 10).await,
            Claim::InProgress => return Err(refusal(409, "in-progress", true)),
            Claim::Reused => {
                if has(Defect::ExecutesThenRefuses) {
                    execute(instance, &caller, path, &value).await;
                }
                return Err(refusal(422, "reused", has(Defect::AsksToRetryReusedKeys)));
            }
            Claim::Expired => return Err(refusal(409, "expired", false)),
            Claim::Replay(stored) => return Ok(replay(instance, stored)),
        }
    }
}

async fn execute(instance: &Instance, caller: &Caller, path: &str, command: &Value) -> Stored {
    let is_met = matches!(
        instance.defect,
        None | Some(
            Defect::ChecksThenInserts
                | Defect::BlocksDuplicates
                | Defect::LosesTheRecordOfACutConnection
                | Defect::FencesBesideACommand
        )
    );
    if is_met {
        actix_web::rt::time::sleep(PAUSE).await;
    }
    let under_lock = instance.defect == Some(Defect::ExecutesUnderOneLock);
    let _lock = if under_lock { Some(instance.memory.one.lock().await) } else { None };
    let is = |member: &str| command[member] == true;
    // The amount is optional.
    let is_valid = command["amount"].is_u64() || command["amount"].is_null();
    let Some(reference) = command["reference"].as_str().filter(|_| is_valid) else {
        return invalid(instance);
    };
    if let Some(id) = path.strip_prefix(COMPLETED) {
        let mut things = instance.memory.things.lock().unwrap();
        let is_it = |thing: &&mut (String, String, String)| thing.0 == caller.tenant && thing.1 == id;
        let Some(thing) = things.iter_mut().find(is_it) else { return refusal(404, "not-found", false) };
        if thing.2 != "open" {
            return refusal(409, "completed", false);
        }
        reference.clone_into(&mut thing.2);
        let body = json!({"id": id, "reference": reference}).to_string();
        return Stored { status: 200, headers: vec![("Content-Type", "application/json".to_owned())], body };
    }
    if is("slow") {
        actix_web::rt::time::sleep(SLOW).await;
    }
    if is("rejected") {
        return refusal(422, "rejected", false);
    }
    let id = Uuid::new_v4().to_string();
    if is("fails_once") {
        let mut failed = instance.memory.failed.lock().unwrap();
        if !failed.iter().any(|earlier| earlier == reference) {
            failed.push(reference.to_owned());
            return refusal(503, "unavailable", true);
        }
    }
    let thing = (caller.tenant.clone(), id.clone(), reference.to_owned());
    instance.memory.things.lock().unwrap().push(thing);
    if !path.is_empty() {
        instance.memory.changed.lock().unwrap().push(path.to_owned());
    }
    let json = ("Content-Type", "application/json".to_owned());
    if is("pending") {
        instance
            .memory
            .operations
            .lock()
            .unwrap()
            .insert(id.clone(), (caller.tenant.clone(), Instant::now()));
        // The name of the server in public.
        let location = format!("https://control.example/operations/{id}");
        let headers = vec![json, ("Location", location), ("Retry-After", "1".to_owned())];
        return Stored { status: 202, headers, body: json!({"id": id, "state": "pending"}).to_string() };
    }
    let receipt = ("X-Receipt", id.clone());
    let headers = vec![json, ("Location", format!("/things/{id}")), ("ETag", format!("\"{id}\"")), receipt];
    Stored {
        status: 201,
        headers,
        body: json!({"id": id, "reference": reference, "state": "new"}).to_string(),
    }
}

async fn list(instance: Data<Instance>, request: HttpRequest) -> HttpResponse {
    let Some(caller) = caller(&request) else { return refusal(401, "unauthenticated", false).send() };
    let reference = request.query_string().trim_start_matches("reference=").to_owned();
    let things = instance.memory.things.lock().unwrap();
    let items = things.iter().filter(|(tenant, _, of)| *tenant == caller.tenant && *of == reference);
    HttpResponse::Ok().json(json!({ "items": items.map(|(_, id, _)| id).collect::<Vec<_>>() }))
}

/// The things of a tenant, in pages of 40.
async fn list_all(instance: Data<Instance>, request: HttpRequest) -> HttpResponse {
    const PAGE: usize = 40;
    let Some(caller) = caller(&request) else { return refusal(401, "unauthenticated", false).send() };
    let from = request.query_string().rsplit_once("cursor=").map_or(0, |(_, from)| from.parse().unwrap());
    let things = instance.memory.things.lock().unwrap();
    let own: Vec<Value> = things
        .iter()
        .filter(|(tenant, _, _)| *tenant == caller.tenant)
        .map(|(_, id, reference)| json!({ "id": id, "reference": reference }))
        .collect();
    let next = (from + PAGE < own.len()).then(|| (from + PAGE).to_string());
    let page: Vec<&Value> = own.iter().skip(from).take(PAGE).collect();
    HttpResponse::Ok().json(json!({ "data": page, "next": next }))
}

async fn operation(instance: Data<Instance>, request: HttpRequest, id: web::Path<String>) -> HttpResponse {
    let Some(caller) = caller(&request) else { return refusal(401, "unauthenticated", false).send() };
    let operations = instance.memory.operations.lock().unwrap();
    let is_hidden = |tenant: &String| {
        *tenant != caller.tenant && instance.defect != Some(Defect::ShowsOperationsToEverybody)
    };
    let exists = instance.defect != Some(Defect::HasNoOperations);
    match operations.get(id.as_str()) {
        Some((tenant, started)) if exists && !is_hidden(tenant) => {
            let state = if started.elapsed() < SLOW { "pending" } else { "ended" };
            HttpResponse::Ok().json(json!({ "id": *id, "state": state }))
        }
        _ => refusal(404, "not-found", false).send(),
    }
}

/// A command that takes no key.
async fn note(instance: Data<Instance>) -> HttpResponse {
    let mut response = HttpResponse::NoContent();
    if instance.defect != Some(Defect::IgnoresKeysSilently) {
        response.insert_header(("Idempotency-Status", "ignored"));
    }
    response.finish()
}

async fn restart(instance: Data<Instance>) -> HttpResponse {
    if instance.defect == Some(Defect::ForgetsOnRestart) {
        instance.keys.forget();
    }
    HttpResponse::NoContent().finish()
}
