//! The parts of a request: its caller, body, key and fingerprint.

use actix_web::HttpRequest;
use actix_web::web::{self, Bytes, Payload};
use idempotency::{Fingerprint, FingerprintInput, Key, KeyPolicy};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::control::Instance;
use crate::defect::Defect;
use crate::keys::{KeyScope, Stored};
use crate::responses::refusal;

/// The largest body in bytes.
pub(crate) const BODY_LIMIT: usize = 32_768;

pub(crate) struct Caller {
    pub(crate) tenant: String,
    pub(crate) client: String,
    pub(crate) may_write: bool,
}

/// `X-Api-Key: tenant/client/rights/serial`
pub(crate) fn caller(request: &HttpRequest) -> Option<Caller> {
    let api_key = request.headers().get("X-Api-Key")?.to_str().ok()?;
    let [tenant, client, rights, _] = api_key.split('/').collect::<Vec<_>>().try_into().ok()?;
    Some(Caller { tenant: tenant.to_owned(), client: client.to_owned(), may_write: rights == "write" })
}

/// Reads the body. A body that breaks off is an error.
pub(crate) async fn body(mut payload: Payload, runs_on_a_cut_body: bool) -> Result<Bytes, Stored> {
    use futures_util::StreamExt;
    let mut body = web::BytesMut::new();
    while let Some(chunk) = payload.next().await {
        match chunk {
            Ok(chunk) if body.len() + chunk.len() <= BODY_LIMIT => body.extend_from_slice(&chunk),
            Ok(_) => return Err(refusal(413, "too-large", false)),
            Err(_) if runs_on_a_cut_body => break,
            Err(_) => return Err(refusal(400, "request-invalid", false)),
        }
    }
    Ok(body.freeze())
}

pub(crate) fn key(instance: &Instance, request: &HttpRequest) -> Result<String, Stored> {
    let has = |defect| instance.defect == Some(defect);
    let mut lines = request.headers().get_all("Idempotency-Key");
    let line = match lines.next() {
        Some(line) => line.as_bytes(),
        None if has(Defect::ExecutesWithoutKey) => return Ok(Uuid::new_v4().to_string()),
        None => return Err(refusal(400, "missing", false)),
    };
    if lines.next().is_some() && !has(Defect::ReadsTheFirstOfTwoKeys) {
        return Err(refusal(400, "invalid", false));
    }
    if has(Defect::FollowsTheDraftStrictly) && !line.starts_with(b"\"") {
        return Err(refusal(400, "invalid", false));
    }
    let key = match Key::parse(line, KeyPolicy::Uuid) {
        Ok(key) => key,
        Err(_) if has(Defect::IgnoresOddKeys) => return Ok(Uuid::new_v4().to_string()),
        Err(_) => return Err(refusal(400, "invalid", false)),
    };
    let parameters =
        String::from_utf8_lossy(line).split_once(';').map(|(_, parameters)| parameters.to_owned());
    if let Some(parameters) = parameters.filter(|_| has(Defect::ParametersBelongToTheKey)) {
        return Ok(format!("{};{parameters}", key.as_str()));
    }
    if has(Defect::QuotesBelongToTheKey) {
        return Ok(String::from_utf8_lossy(line).into_owned());
    }
    Ok(key.as_str().to_owned())
}

pub(crate) fn fingerprint(
    instance: &Instance,
    request: &HttpRequest,
    scope: &KeyScope,
    path: &str,
    body: &[u8],
    canonical: &[u8],
) -> Vec<u8> {
    let mut query: Vec<(&str, &str)> =
        request.query_string().split('&').filter_map(|pair| pair.split_once('=')).collect();
    let mut canonical = canonical.to_vec();
    let mut path = path;
    match instance.defect {
        Some(Defect::IgnoresTheQuery) => query.clear(),
        Some(Defect::IgnoresThePath) => path = "",
        Some(Defect::ComparesThePrefix) => canonical = body[..body.len().min(30_000)].to_vec(),
        Some(Defect::ComparesTheOrderOfMembers) => {
            canonical = body.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        }
        Some(Defect::TakesNullForAbsent) => {
            let mut members: Map<String, Value> = serde_json::from_slice(body).unwrap_or_default();
            members.retain(|_, value| !value.is_null());
            canonical = Value::from(members).to_string().into_bytes();
        }
        Some(Defect::ComparesBinaryNumbers) => {
            let value: Value = serde_json::from_slice(body).unwrap_or_default();
            canonical = format!("{}{:?}", value["reference"], value["amount"].as_f64()).into_bytes();
        }
        _ => {}
    }
    let fingerprint = Fingerprint::of(&FingerprintInput {
        method: "POST",
        route_template: &scope[2],
        path_parameters: &[("id", path)],
        query: &query,
        media_type: "application/json",
        actor: &scope[1],
        body: &canonical,
    });
    format!("{fingerprint:?}").into_bytes()
}
