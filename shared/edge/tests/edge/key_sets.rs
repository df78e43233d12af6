//! Key sets for checking tokens, and how they change while the service runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpResponse;
use edge::{Authenticator, JwksError, JwksSource, TokenPolicy};
use futures_util::future::join_all;
use reqwest::Method;
use testkit::identity::{self, AUDIENCE, ISSUER, SigningKey, jwks_of};
use testkit::{Background, eventually};

use crate::bench::{Bench, SCOPES, send};
use crate::issuer::Issuer;

/// The responses of an issuer.
type Reply = Box<dyn Fn() -> HttpResponse + Send>;

/// Longer than any test, so the keys are not read a second time.
const NEVER: Duration = Duration::from_hours(1);

fn authenticator(place: &str, between_refreshes: Duration) -> Result<Authenticator, JwksError> {
    let source = JwksSource::parse(place, false)?;
    Ok(Authenticator::from_source(source, TokenPolicy::of(ISSUER, AUDIENCE))?
        .between_refreshes(between_refreshes))
}

/// Sends a request with a token of this key. Returns the status.
async fn ask(bench: &Bench, key: &SigningKey) -> u16 {
    let token = key.sign(&identity::claims("acme", "web-shop", SCOPES));
    let response = send(bench.request_as(&token, Method::GET, "/v1/orders")).await;
    if response.status == 401 {
        let problem = response.refuses(401, "unauthenticated");
        assert!(problem.detail.contains("not known here"), "{problem:?}");
    }
    response.status
}

/// A file that is deleted when the test ends.
struct File(PathBuf);

impl File {
    fn of(text: &str) -> Self {
        let file = Self(std::env::temp_dir().join(format!("edge-jwks-{}.json", uuid::Uuid::new_v4())));
        file.write(text);
        file
    }

    fn write(&self, text: &str) {
        std::fs::write(&self.0, text).unwrap();
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Publishes the old key, then both keys, then the new key. A token is valid exactly while its key is in the set.
async fn assert_rotates(place: &str, publish: impl Fn(&str)) {
    let [old, new] = ["old", "new"].map(SigningKey::generate);
    publish(&jwks_of(&[&old]));
    let authenticator = Arc::new(authenticator(place, Duration::ZERO).unwrap());
    authenticator.refresh().await.unwrap();
    let bench = Bench::trusting(Arc::clone(&authenticator)).await;
    let both = async || [ask(&bench, &old).await, ask(&bench, &new).await];
    assert_eq!(both().await, [200, 401]);
    publish(&jwks_of(&[&old, &new]));
    // The first token of the new key makes the service read the keys at once.
    assert_eq!(both().await, [200, 200]);
    publish(&jwks_of(&[&new]));
    authenticator.refresh().await.unwrap();
    assert_eq!(both().await, [401, 200]);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_change_with_an_overlap_in_a_file() {
    let file = File::of("");
    assert_rotates(&file.0.display().to_string(), |text| file.write(text)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_change_with_an_overlap_at_a_url() {
    let issuer = Issuer::with(String::new());
    assert_rotates(&issuer.url(), |text| issuer.serves(text.to_owned())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_not_remembered_longer_than_its_key() {
    let [old, new] = ["old", "new"].map(SigningKey::generate);
    let file = File::of(&jwks_of(&[&old]));
    let authenticator = Arc::new(authenticator(&file.0.display().to_string(), NEVER).unwrap());
    let bench = Bench::trusting(Arc::clone(&authenticator)).await;
    let token = old.sign(&identity::claims("acme", "web-shop", SCOPES));
    let ask = async || send(bench.request_as(&token, Method::GET, "/v1/orders")).await.status;
    assert_eq!([ask().await, ask().await], [200, 200]);
    file.write(&jwks_of(&[&new]));
    authenticator.refresh().await.unwrap();
    assert_eq!(ask().await, 401);
    // The id of the removed key does not make it valid again.
    file.write(&jwks_of(&[&SigningKey::generate("old")]));
    authenticator.refresh().await.unwrap();
    assert_eq!(ask().await, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_was_withdrawn_is_forgotten_in_the_next_round() {
    let [old, new] = ["old", "new"].map(SigningKey::generate);
    let file = File::of(&jwks_of(&[&old]));
    let authenticator = Arc::new(authenticator(&file.0.display().to_string(), NEVER).unwrap());
    let bench = Bench::trusting(Arc::clone(&authenticator)).await;
    assert_eq!(ask(&bench, &old).await, 200);
    file.write(&jwks_of(&[&new]));
    let rounds =
        Background::run(|_| async move { authenticator.keep_fresh(Duration::from_millis(20), |_| {}).await });
    eventually("the old key does not count", async || (ask(&bench, &old).await == 401).then_some(())).await;
    assert_eq!(ask(&bench, &new).await, 200);
    rounds.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_emptied_key_set_revokes_every_token() {
    let key = SigningKey::generate("key");
    let file = File::of(&jwks_of(&[&key]));
    let authenticator = Arc::new(authenticator(&file.0.display().to_string(), NEVER).unwrap());
    let bench = Bench::trusting(Arc::clone(&authenticator)).await;
    for withdrawn in ["{\"keys\": []}", "{\"keys\": [{\"kid\": \"key\", \"alg\": \"HS256\"}]}"] {
        file.write(&jwks_of(&[&key]));
        authenticator.refresh().await.unwrap();
        assert_eq!(ask(&bench, &key).await, 200);
        file.write(withdrawn);
        let error = authenticator.refresh().await.unwrap_err().to_string();
        assert!(error.contains("every token is refused"), "{error}");
        assert_eq!(ask(&bench, &key).await, 401, "{withdrawn}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_cannot_be_read_again_count_for_a_limited_time() {
    let key = SigningKey::generate("key");
    let issuer = Issuer::with(jwks_of(&[&key]));
    let limited = authenticator(&issuer.url(), NEVER).unwrap().max_stale(Duration::from_secs(1));
    let authenticator = Arc::new(limited);
    let bench = Bench::trusting(Arc::clone(&authenticator)).await;
    authenticator.refresh().await.unwrap();
    assert_eq!(ask(&bench, &key).await, 200);
    issuer.responses(|| HttpResponse::InternalServerError().finish());
    eventually("the keys are stale", async || (ask(&bench, &key).await == 401).then_some(())).await;
    assert!(!authenticator.has_keys());
    issuer.serves(jwks_of(&[&key]));
    authenticator.refresh().await.unwrap();
    assert_eq!(ask(&bench, &key).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn known_keys_stay_until_a_newer_set_is_read() {
    let key = SigningKey::generate("key");
    let issuer = Issuer::with(jwks_of(&[&key]));
    let authenticator = Arc::new(authenticator(&issuer.url(), Duration::ZERO).unwrap());
    authenticator.refresh().await.unwrap();
    let bench = Bench::trusting(Arc::clone(&authenticator)).await;
    let elsewhere = Issuer::with(jwks_of(&[&SigningKey::generate("elsewhere")]));
    let away = elsewhere.url();
    let large = format!("{}{}", jwks_of(&[&SigningKey::generate("large")]), " ".repeat(256 * 1024));
    let unusable = |error: &JwksError| matches!(error, JwksError::Unusable { .. });
    let responses: [(&str, bool, Reply); 5] = [
        ("500", false, Box::new(|| HttpResponse::InternalServerError().finish())),
        (
            "elsewhere",
            false,
            Box::new(move || HttpResponse::Found().insert_header(("Location", away.as_str())).finish()),
        ),
        ("bytes", false, Box::new(move || HttpResponse::Ok().body(large.clone()))),
        ("cut off", true, Box::new(|| HttpResponse::Ok().body("{\"keys\": ["))),
        ("no document", false, Box::new(|| HttpResponse::NoContent().finish())),
    ];
    for (what, of_no_use, response) in responses {
        issuer.responses(response);
        let error = authenticator.refresh().await.unwrap_err();
        assert_eq!(unusable(&error), of_no_use, "{what}: {error}");
        assert!(error.to_string().contains(&issuer.url()), "{what}: {error}");
        // The same holds if a token of an unknown key causes the read.
        assert_eq!(ask(&bench, &SigningKey::generate("stranger")).await, 401, "{what}");
        assert_eq!(ask(&bench, &key).await, 200, "{what}");
    }
    assert_eq!(elsewhere.asked(), 0, "a redirect was followed");
    drop(issuer);
    eventually("the issuer is unreachable", async || authenticator.refresh().await.err()).await;
    assert_eq!(ask(&bench, &key).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_unknown_keys_is_one_request_to_the_issuer() {
    let key = SigningKey::generate("key");
    let issuer = Issuer::with(jwks_of(&[&key]));
    let authenticator = Arc::new(authenticator(&issuer.url(), NEVER).unwrap());
    authenticator.refresh().await.unwrap();
    let bench = Bench::trusting(authenticator).await;
    assert_eq!(issuer.asked(), 1);
    let strangers: Vec<_> = (0..200).map(|n| SigningKey::generate(&format!("forged-{n}"))).collect();
    for status in join_all(strangers.iter().map(|stranger| ask(&bench, stranger))).await {
        assert_eq!(status, 401);
    }
    assert_eq!(issuer.asked(), 1);
    // A token of a known key causes no read.
    assert_eq!(ask(&bench, &key).await, 200);
    assert_eq!(issuer.asked(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_tokens_of_a_new_key_are_all_accepted() {
    let [old, new] = ["old", "new"].map(SigningKey::generate);
    let issuer = Issuer::with(jwks_of(&[&old]));
    let authenticator = Arc::new(authenticator(&issuer.url(), NEVER).unwrap());
    authenticator.refresh().await.unwrap();
    let bench = Bench::trusting(authenticator).await;
    issuer.serves(jwks_of(&[&old, &new]));
    for status in join_all((0..50).map(|_| ask(&bench, &new))).await {
        assert_eq!(status, 200);
    }
    assert_eq!(issuer.asked(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn unusable_keys_do_not_invalidate_the_set() {
    let key = SigningKey::generate("key");
    let mut set: serde_json::Value = serde_json::from_str(&jwks_of(&[&key])).unwrap();
    let others = [
        r#"{"kty":"RSA","kid":"rsa","alg":"RS256","use":"sig","n":"AQAB","e":"AQAB"}"#,
        r#"{"kty":"oct","kid":"secret","alg":"HS256","k":"AQAB"}"#,
        r#"{"kty":"AKP","kid":"later","alg":"ML-DSA-44","pub":"AQAB"}"#,
        r#"{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","x":"AQAB"}"#,
        r#""no key""#,
    ];
    set["keys"].as_array_mut().unwrap().extend(others.map(|other| serde_json::from_str(other).unwrap()));
    let authenticator =
        Authenticator::from_jwks(&set.to_string(), TokenPolicy::of(ISSUER, AUDIENCE)).unwrap();
    let bench = Bench::trusting(Arc::new(authenticator)).await;
    assert_eq!(ask(&bench, &key).await, 200);
    assert_eq!(ask(&bench, &SigningKey::generate("rsa")).await, 401);
}
