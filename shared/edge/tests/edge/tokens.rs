//! Authentication: every route with every kind of invalid token.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use edge::{Authenticator, JwksSource, TokenPolicy};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, get_current_timestamp};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use testkit::eventually;
use testkit::identity::{self, AUDIENCE, ISSUER, KEY_ID};

use crate::bench::{Bench, KEY, SCOPES, json_body, key, order, send};

/// Every route of the shop, with the scope that it requires, if any.
const ROUTES: [(Method, &str, &str, &str); 12] = [
    (Method::POST, "/v1/orders", "orders:write", r#"{"lines":[{"sku":"TEA","amount":1}]}"#),
    (Method::POST, "/v1/orders/0190a5c4-7e3b-7abc-8def-0123456789ab/cancel", "orders:write", "{}"),
    (Method::PUT, "/v1/items/TEA", "inventory:write", r#"{"price":1}"#),
    (Method::POST, "/v1/items/TEA/price", "inventory:write", r#"{"price":1}"#),
    (Method::POST, "/v1/transfers", "orders:write", r#"{"amount":1}"#),
    (Method::GET, "/v1/operations/0190a5c4-7e3b-7abc-8def-0123456789ab", "orders:read", ""),
    (Method::GET, "/v1/orders", "orders:read", ""),
    (Method::GET, "/v1/orders/0190a5c4-7e3b-7abc-8def-0123456789ab", "orders:read", ""),
    (Method::GET, "/v1/items/TEA", "orders:read", ""),
    (Method::GET, "/v1/items/TEA/orders", "orders:read", ""),
    (Method::GET, "/v1/idempotency-keys/8e03978e-40d5-43e8-bc93-6894a57f9324", "", ""),
    (Method::POST, "/v1/idempotency-keys/8e03978e-40d5-43e8-bc93-6894a57f9325/fence", "", ""),
];

/// Builds a request to each route, with this header if there is one.
fn requests<'a>(
    bench: &'a Bench,
    authorization: Option<&'a str>,
) -> impl Iterator<Item = RequestBuilder> + 'a {
    ROUTES.into_iter().map(move |(method, path, _, body)| {
        let request = json_body(bench.plain(method, path), body).header("Idempotency-Key", KEY);
        authorization.iter().fold(request, |request, value| request.header("Authorization", *value))
    })
}

#[test]
fn every_route_is_in_the_matrix() {
    let mut routes = 0;
    for item in crate::shop::document().paths.paths.into_values() {
        routes += [item.get, item.post, item.put, item.delete, item.patch].into_iter().flatten().count();
    }
    assert_eq!(routes, ROUTES.len());
}

/// A signer with its own key.
fn forged(header: &Header, claims: &Value) -> String {
    const PREFIX: [u8; 16] = [48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32];
    encode(header, claims, &EncodingKey::from_ed_der(&[&PREFIX[..], &[7; 32]].concat())).unwrap()
}

fn header(algorithm: Algorithm, kid: &str) -> Header {
    Header { kid: Some(kid.to_owned()), ..Header::new(algorithm) }
}

/// Invalid tokens, each with the reason.
fn bad_tokens() -> Vec<(&'static str, String)> {
    let now = get_current_timestamp();
    let claims = identity::claims("acme", "web-shop", SCOPES);
    let with = |member: &str, value: Value| {
        let mut claims = claims.clone();
        claims[member] = value;
        identity::signed(&claims)
    };
    let without = |member: &str| {
        let mut claims = claims.clone();
        claims.as_object_mut().unwrap().remove(member);
        identity::signed(&claims)
    };
    let issued_later = {
        let mut claims = claims.clone();
        claims.as_object_mut().unwrap().remove("nbf");
        (claims["iat"], claims["exp"]) = ((now + 3 * 24 * 3600).into(), (now + 3 * 24 * 3600 + 60).into());
        identity::signed(&claims)
    };
    let good = identity::signed(&claims);
    let mut parts = good.split('.');
    let (head, body, signature) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    let part = |json: &Value| URL_SAFE_NO_PAD.encode(json.to_string());
    // The public key, which is not secret.
    let public: Value = serde_json::from_str(&identity::jwks()).unwrap();
    let public = URL_SAFE_NO_PAD.decode(public["keys"][0]["x"].as_str().unwrap()).unwrap();
    let confused = |secret: &[u8]| {
        encode(&header(Algorithm::HS256, KEY_ID), &claims, &EncodingKey::from_secret(secret)).unwrap()
    };
    vec![
        ("garbage", "garbage".to_owned()),
        ("garbage", "a.b.c".to_owned()),
        ("cut off", format!("{head}.{body}")),
        ("expired", with("exp", (now - 10).into())),
        ("not valid yet", with("nbf", (now + 60).into())),
        ("for others", with("aud", "somebody-else".into())),
        ("from others", with("iss", "https://elsewhere.example".into())),
        ("valid for too long", with("exp", (now + 24 * 3600 + 60).into())),
        ("valid for too long, and issued later", issued_later),
        ("without end", without("exp")),
        ("with an end that is no time", with("exp", "tomorrow".into())),
        ("with a beginning that is no time", with("nbf", "today".into())),
        ("without audience", without("aud")),
        ("without issuer", without("iss")),
        ("without client", without("sub")),
        ("without tenant", without("tenant")),
        ("in the system's name", with("sub", "@system".into())),
        ("with scopes that are no texts", with("scope", json!([1]))),
        ("with extensions", extended(&claims)),
        ("of an impossible tenant", with("tenant", "acme/globex".into())),
        ("of an empty tenant", with("tenant", "".into())),
        ("signed by others", forged(&header(Algorithm::EdDSA, KEY_ID), &claims)),
        ("of an unknown key", identity::signed_as(Some("unknown"), &claims)),
        ("of no key", identity::signed_as(None, &claims)),
        ("unsigned", format!("{}.{body}.", part(&json!({"alg": "none", "kid": KEY_ID})))),
        ("unsigned", format!("{}.{body}.{signature}", part(&json!({"alg": "None", "kid": KEY_ID})))),
        ("signed with the public key", confused(&public)),
        ("signed with the public key", confused(identity::jwks().as_bytes())),
        ("signed with nothing", confused(b"")),
        (
            "with another algorithm",
            format!("{}.{body}.{signature}", part(&json!({"alg": "ES256", "kid": KEY_ID}))),
        ),
        ("with other claims", format!("{head}.{}.{signature}", part(&with_tenant(&claims, "globex")))),
    ]
}

/// A token whose header names the extension `b64` as critical: a receiver that does not know it must refuse the token (RFC 7515,
/// section 4.1.11).
fn extended(claims: &Value) -> String {
    let header = Header { crit: Some(vec!["b64".to_owned()]), ..header(Algorithm::EdDSA, KEY_ID) };
    identity::signed_with(&header, claims)
}

fn with_tenant(claims: &Value, tenant: &str) -> Value {
    let mut claims = claims.clone();
    claims["tenant"] = tenant.into();
    claims
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_token_is_refused_on_every_route() {
    let bench = Bench::start().await;
    for (what, token) in bad_tokens() {
        for request in requests(&bench, Some(&format!("Bearer {token}"))) {
            let response = send(request).await;
            assert_eq!(response.status, 401, "{what}: {response:?}");
            let problem = response.refuses(401, "unauthenticated");
            assert!(!problem.detail.contains(&token), "{what}: {problem:?}");
            let challenge = response.header("www-authenticate").unwrap_or_default();
            assert!(
                challenge.starts_with("Bearer error=\"invalid_token\", error_description=\""),
                "{challenge}"
            );
        }
    }
    bench.assert_untouched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_names_the_claim() {
    let bench = Bench::start().await;
    let now = get_current_timestamp();
    for (claim, value) in [
        ("exp", json!(now - 10)),
        ("nbf", json!(now + 60)),
        ("aud", json!("others")),
        ("iss", Value::Null),
        ("sub", json!("@system")),
        ("tenant", Value::Null),
        ("scope", json!(1)),
    ] {
        let mut claims = identity::claims("acme", "web-shop", SCOPES);
        claims[claim] = value;
        let response = send(bench.request_as(&identity::signed(&claims), Method::GET, "/v1/orders")).await;
        let problem = response.refuses(401, "unauthenticated");
        let names_it = [format!("({claim})"), format!("claim {claim} ")]
            .iter()
            .any(|name| problem.detail.contains(name));
        assert!(names_it, "{claim}: {problem:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_different_tokens_none_counts() {
    let bench = Bench::start().await;
    let [one, other] = ["web-shop", "till"].map(|client| identity::token("acme", client, SCOPES));
    let get = |token: &str| bench.request_as(token, Method::GET, "/v1/orders");
    send(get(&one).header("Authorization", format!("Bearer {other}"))).await.refuses(401, "unauthenticated");
    assert_eq!(send(get(&one).header("Authorization", format!("Bearer {one}"))).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_token_is_refused_on_every_route() {
    let bench = Bench::start().await;
    let token = identity::token("acme", "web-shop", SCOPES);
    let basic = format!("Basic {token}");
    for authorization in
        [None, Some(""), Some("Bearer"), Some("Bearer "), Some(token.as_str()), Some(basic.as_str())]
    {
        for request in requests(&bench, authorization) {
            let response = send(request).await;
            response.refuses(401, "unauthenticated");
            // Only a token that was sent has an error (RFC 6750, section 3.1).
            let names_an_error = response.header("www-authenticate").unwrap().contains("error=");
            assert_eq!(names_an_error, authorization.is_some(), "{response:?}");
        }
    }
    bench.assert_untouched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_scope_is_forbidden_on_every_route() {
    let bench = Bench::start().await;
    for (method, path, scope, body) in ROUTES.into_iter().filter(|(_, _, scope, _)| !scope.is_empty()) {
        let others =
            ["orders:read", "orders:write", "inventory:write", "orders:", "orders:writer", "ORDERS:WRITE"];
        // A client reads its own operations with the scope of a command: see phased.rs.
        let is_enough =
            |other: &str| other == scope || path.contains("/operations/") && other == "orders:write";
        let others: Vec<&str> = others.into_iter().filter(|other| !is_enough(other)).collect();
        for scopes in [others.join(" "), String::new(), scope.replace(':', " ")] {
            let token = identity::token("acme", "web-shop", &scopes);
            let request = json_body(bench.request_as(&token, method.clone(), path), body);
            let response = send(request.header("Idempotency-Key", KEY)).await;
            let problem = response.refuses(403, "forbidden");
            assert!(problem.detail.contains(scope), "{problem:?}");
            let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
            assert_eq!(response.header("www-authenticate"), Some(challenge.as_str()));
        }
    }
    bench.assert_untouched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_caller_is_checked_before_the_request() {
    let bench = Bench::start().await;
    // The request is malformed in every other way, too. Without a valid token the response does not say so.
    let request = bench.plain(Method::POST, "/v1/orders").header("Content-Type", "text/plain").body("{");
    send(request).await.refuses(401, "unauthenticated");
    let token = identity::token("acme", "web-shop", "orders:read");
    let request = json_body(bench.request_as(&token, Method::POST, "/v1/orders"), "{");
    send(request).await.refuses(403, "forbidden");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_accepted_until_its_last_second_and_with_the_scheme_in_any_case() {
    let bench = Bench::start().await;
    let mut claims = identity::claims("acme", "web-shop", SCOPES);
    claims["nbf"] = get_current_timestamp().into();
    claims["exp"] = (get_current_timestamp() + 30).into();
    claims["aud"] = json!([AUDIENCE, "others"]);
    let authorization = format!("bearer  {}", identity::signed(&claims));
    let request =
        json_body(bench.plain(Method::POST, "/v1/orders"), order(1)).header("Idempotency-Key", key());
    send(request.header("Authorization", authorization)).await.assert_placed();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_token_is_refused_once_it_has_expired() {
    let bench = Bench::start().await;
    let mut claims = identity::claims("acme", "web-shop", SCOPES);
    // Five seconds more are the leeway.
    claims["exp"] = (get_current_timestamp() - 3).into();
    let token = identity::signed(&claims);
    let ask = async || send(bench.request_as(&token, Method::GET, "/v1/orders")).await;
    assert_eq!(ask().await.status, 200);
    let refusal = eventually("it expires", async || {
        let response = ask().await;
        (response.status != 200).then_some(response)
    });
    let problem = refusal.await.refuses(401, "unauthenticated");
    assert!(problem.detail.contains("expired"), "{problem:?}");
}

#[test]
fn an_untrusted_key_set_is_refused() {
    let good: Value = serde_json::from_str(&identity::jwks()).unwrap();
    let with = |member: &str, value: Value| {
        let mut set = good.clone();
        set["keys"][0][member] = value;
        set.to_string()
    };
    for (set, why) in [
        (String::new(), "not usable"),
        ("{}".to_owned(), "not usable"),
        (r#"{"keys":[]}"#.to_owned(), "holds no key"),
        (with("kid", Value::Null), "no kid"),
        (with("alg", "HS256".into()), "auth.algorithms does not allow"),
        (with("alg", "RS256".into()), "auth.algorithms does not allow"),
        (with("use", "enc".into()), "for another purpose"),
        (with("x", "!".into()), "not usable"),
    ] {
        let error = Authenticator::from_jwks(&set, TokenPolicy::of(ISSUER, AUDIENCE))
            .err()
            .unwrap_or_else(|| panic!("{set}"));
        assert!(error.to_string().contains(why), "{set}: {error}");
    }
    let nowhere = JwksSource::parse("/nowhere/jwks.json", false).unwrap();
    let missing = Authenticator::from_source(nowhere, TokenPolicy::of(ISSUER, AUDIENCE)).err().unwrap();
    assert!(missing.to_string().contains("/nowhere/jwks.json"), "{missing}");
}
