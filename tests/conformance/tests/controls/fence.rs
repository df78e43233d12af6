//! Keys that a client gives up.

use actix_web::web::{self, Data};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;

use crate::control::Instance;
use crate::defect::Defect;
use crate::keys::{Claim, KeyScope, Stored};
use crate::request::caller;
use crate::responses::refusal;

/// Claims the key, unless it is fenced and has no record.
pub(crate) fn claim(
    instance: &Instance,
    of: &[String; 3],
    scope: &KeyScope,
    fingerprint: &[u8],
) -> Result<Claim, Stored> {
    let has = |defect| instance.defect == Some(defect);
    // Held until the key is claimed, so that no fence comes between.
    let fences = instance.memory.fences.lock().unwrap();
    let is_fenced =
        fences.iter().any(|fence| fence == of || (has(Defect::FencesForEverybody) && fence[2] == of[2]));
    if is_fenced && (instance.keys.of_key(of).is_empty() || has(Defect::FencesWhatWasExecuted)) {
        return Err(refusal(409, "fenced", false));
    }
    Ok(instance.keys.claim(scope, fingerprint, instance.life, instance.defect))
}

/// Gives a key up.
pub(crate) async fn fence(
    instance: Data<Instance>,
    request: HttpRequest,
    key: web::Path<String>,
) -> HttpResponse {
    let has = |defect| instance.defect == Some(defect);
    let Some(caller) = caller(&request) else { return refusal(401, "unauthenticated", false).send() };
    let of = [caller.tenant, caller.client, key.into_inner()];
    let mut fences = instance.memory.fences.lock().unwrap();
    let mut used = instance.keys.of_key(&of);
    if used.contains(&false) && !has(Defect::FencesBesideACommand) {
        return refusal(409, "in-progress", true).send();
    }
    used.retain(|has_ended| *has_ended);
    if fences.contains(&of) && has(Defect::FencesOnce) {
        return refusal(404, "not-found", false).send();
    }
    if !has(Defect::ForgetsFences) {
        fences.push(of);
    }
    HttpResponse::Ok().json(json!({ "used": used }))
}
