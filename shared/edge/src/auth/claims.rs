//! Reads the principal from the claims of a token whose signature is valid.

use envelope::{Caller, InvalidName};
use jsonwebtoken::get_current_timestamp;
use serde_json::{Map, Value};

use super::Principal;
use super::token_policy::TokenPolicy;

/// The claims of scopes: of RFC 8693 and most issuers, of Okta, and of applications of Microsoft Entra ID. The first of them counts.
const SCOPES: [&str; 3] = ["scope", "scp", "roles"];

/// Reads who acts for which tenant, and with which scopes.
///
/// # Errors
/// The reason, which names the claim, as the end of the sentence "The token is refused: …".
pub(super) fn principal(claims: &Map<String, Value>, policy: &TokenPolicy) -> Result<Principal, String> {
    let (tenant, client) = (name(claims, &policy.tenant_claim)?, name(claims, &policy.client_claim)?);
    check_life(claims, policy)?;
    Ok(Principal { caller: Caller { tenant, client }, scopes: scopes(claims, &policy.audience)? })
}

fn name<T: TryFrom<String, Error = InvalidName>>(
    claims: &Map<String, Value>,
    claim: &str,
) -> Result<T, String> {
    let text = claims.get(claim).and_then(Value::as_str).ok_or_else(|| missing(claim))?;
    T::try_from(text.to_owned()).map_err(|error| format!("its claim {claim} is not accepted: {error}"))
}

pub(super) fn missing(claim: &str) -> String {
    format!("its claim {claim} is missing")
}

/// A token lives from `nbf`, else from `iat`, and from now (and the leeway) at the latest: an `iat` in the future extends no life. RFC 7519
/// (section 2) allows times with a fraction.
fn check_life(claims: &Map<String, Value>, policy: &TokenPolicy) -> Result<(), String> {
    let time = |claim| claims.get(claim).and_then(Value::as_f64);
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are exact")]
    let latest = (get_current_timestamp() + policy.leeway.as_secs()) as f64;
    let begin = time("nbf").or_else(|| time("iat")).unwrap_or(latest).min(latest);
    let end = time("exp").ok_or_else(|| missing("exp"))?;
    let is_too_long = end - begin > policy.longest_life.as_secs_f64();
    if is_too_long { Err("it is valid for too long (exp)".to_owned()) } else { Ok(()) }
}

/// The scopes, separated by spaces. Amazon Cognito writes the audience and a slash before each.
fn scopes(claims: &Map<String, Value>, audience: &str) -> Result<String, String> {
    let Some((claim, value)) = SCOPES.iter().find_map(|claim| Some((claim, claims.get(*claim)?))) else {
        return Ok(String::new());
    };
    let texts: Option<Vec<&str>> = match value {
        Value::String(text) => Some(text.split(' ').collect()),
        Value::Array(list) => list.iter().map(Value::as_str).collect(),
        _ => None,
    };
    let texts = texts.ok_or_else(|| format!("its claim {claim} is neither text nor a list of texts"))?;
    let prefix = format!("{audience}/");
    let plain: Vec<&str> = texts.iter().map(|scope| scope.strip_prefix(&prefix).unwrap_or(scope)).collect();
    Ok(plain.join(" "))
}
