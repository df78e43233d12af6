//! Tokens as the usual identity providers make them (`docs/operations.md`, "Your identity provider").

use std::sync::Arc;

use edge::{Authenticator, TokenPolicy};
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, get_current_timestamp};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::identity::AUDIENCE;

use crate::bench::{Bench, send};

/// An identity provider: the claims of its tokens, and the settings for it.
struct Provider {
    name: &'static str,
    issuer: &'static str,
    tenant_claim: &'static str,
    client_claim: &'static str,
    algorithm: Algorithm,
    /// True if its key set names the algorithm of each key.
    names_algorithm: bool,
    claims: Value,
}

fn providers() -> [Provider; 5] {
    let (name, rs256) = ("Keycloak", Algorithm::RS256);
    let of = |name, issuer, tenant_claim, client_claim, claims| Provider {
        name,
        issuer,
        tenant_claim,
        client_claim,
        algorithm: rs256,
        names_algorithm: true,
        claims,
    };
    let ids = json!(["idem", "account"]);
    let keycloak = json!({
        "aud": ids, "typ": "Bearer", "azp": "web-shop", "sub": "8e03978e-40d5-43e8-bc93-6894a57f9324", "tenant": "acme",
        "scope": "email orders:read profile", "resource_access": { "account": { "roles": ["view-profile"] } },
    });
    let auth0 = json!({
        "aud": "idem", "sub": "Q9f2xkT@clients", "azp": "Q9f2xkT", "gty": "client-credentials", "scope": "orders:read",
        "https://shop.example/tenant": "acme",
    });
    let okta = json!({ "aud": "idem", "ver": 1, "cid": "0oa1b2c3", "sub": "0oa1b2c3", "scp": ["orders:read"], "tenant": "acme" });
    let entra = json!({
        "aud": "idem", "ver": "2.0", "azp": "0190a5c4-7e3b-7abc-8def-0123456789ab", "sub": "7a5e", "roles": ["orders:read"],
        "tid": "72f988bf-86f1-41af-91ab-2d7cd011db47", "nbf": get_current_timestamp(),
    });
    let cognito = json!({
        "aud": "idem", "token_use": "access", "client_id": "3n4b5urk", "sub": "3n4b5urk", "scope": "idem/orders:read", "version": 2,
        "tenant": "acme",
    });
    [
        Provider {
            algorithm: Algorithm::PS256,
            ..of(name, "https://id.example/realms/shop", "tenant", "azp", keycloak)
        },
        of("Auth0", "https://shop.eu.auth0.com/", "https://shop.example/tenant", "sub", auth0),
        of("Okta", "https://shop.okta.com/oauth2/default", "tenant", "cid", okta),
        Provider {
            names_algorithm: false,
            ..of("Entra ID", "https://login.microsoftonline.com/72f988bf/v2.0", "tid", "azp", entra)
        },
        of(
            "Cognito",
            "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_a1b2",
            "tenant",
            "client_id",
            cognito,
        ),
    ]
}

fn private_key() -> EncodingKey {
    EncodingKey::from_rsa_pem(include_bytes!("issuers_key.pem")).unwrap()
}

/// The key set of a provider, beside a key of another purpose.
fn key_set(provider: &Provider) -> String {
    let mut key = Jwk::from_encoding_key(&private_key(), provider.algorithm).unwrap();
    key.common.key_id = Some("one".to_owned());
    let mut set = serde_json::to_value(JwkSet { keys: vec![key] }).unwrap();
    if !provider.names_algorithm {
        set["keys"][0].as_object_mut().unwrap().remove("alg");
    }
    let mut other = set["keys"][0].clone();
    (other["kid"], other["use"]) = ("two".into(), "enc".into());
    set["keys"].as_array_mut().unwrap().push(other);
    set.to_string()
}

fn token(provider: &Provider) -> String {
    let mut claims = provider.claims.clone();
    claims["iss"] = provider.issuer.into();
    claims["iat"] = get_current_timestamp().into();
    claims["exp"] = (get_current_timestamp() + 3_600).into();
    let header = Header { kid: Some("one".to_owned()), ..Header::new(provider.algorithm) };
    encode(&header, &claims, &private_key()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_the_usual_identity_providers_are_accepted() {
    for provider in providers() {
        let policy = TokenPolicy {
            tenant_claim: provider.tenant_claim.to_owned(),
            client_claim: provider.client_claim.to_owned(),
            algorithms: "RS256, PS256".parse().unwrap(),
            ..TokenPolicy::of(provider.issuer, AUDIENCE)
        };
        let bench =
            Bench::trusting(Arc::new(Authenticator::from_jwks(&key_set(&provider), policy).unwrap())).await;
        let read = send(bench.request_as(&token(&provider), Method::GET, "/v1/orders")).await;
        assert_eq!(read.status, 200, "{}: {read:?}", provider.name);
        let write = send(
            bench.request_as(&token(&provider), Method::PUT, "/v1/items/TEA").json(&json!({"price": 1})),
        )
        .await;
        write.refuses(403, "forbidden");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_rsa_count_only_where_the_settings_name_their_algorithm() {
    for provider in providers() {
        let refused =
            Authenticator::from_jwks(&key_set(&provider), TokenPolicy::of(provider.issuer, AUDIENCE));
        let error = refused.err().unwrap().to_string();
        assert!(error.contains("auth.algorithms does not allow"), "{}: {error}", provider.name);
    }
}
