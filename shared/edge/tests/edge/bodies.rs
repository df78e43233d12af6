//! Invalid bodies: each response names the error and its place, and nothing is stored.

use reqwest::Method;

use crate::bench::{Bench, KEY, json_body, order, send};

/// Sends each body twice. It is refused with this pointer, and the key stays unused.
async fn assert_refused(cases: &[(&str, &str)]) {
    let bench = Bench::start().await;
    for (body, pointer) in cases {
        for _ in 0..2 {
            let problem = bench.place(KEY, *body).await.refuses(400, "request-invalid");
            assert_eq!(problem.pointers, [*pointer], "{body}: {problem:?}");
        }
    }
    bench.assert_untouched().await;
    bench.place(KEY, order(1)).await.assert_placed();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_not_json_is_refused() {
    assert_refused(&[
        ("", ""),
        ("  ", ""),
        ("{", ""),
        ("nonsense", ""),
        ("{} {}", ""),
        ("{'lines':[]}", ""),
        (r#"{"lines":[{"sku":"TEA","amount":1,}]}"#, "/lines/0"),
        (r#"{"lines":[{"sku":"TEA","amount":01}]}"#, "/lines/0/amount"),
        (r#"{"lines":[{"sku":"TEA","amount":NaN}]}"#, "/lines/0/amount"),
        (r#"{"lines":[{"sku":"TEA","amount":+1}]}"#, "/lines/0/amount"),
        (r#"{"note":"\ud800"}"#, "/note"),
        (r#"{"note":"\u0000"}"#, "/note"),
        ("{\"note\":\"a\nb\"}", "/note"),
        ("\u{feff}{}", ""),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_members_are_refused() {
    assert_refused(&[
        (r#"{"lines":[{"sku":"TEA","amount":1}],"discount":5}"#, "/discount"),
        (r#"{"lines":[{"sku":"TEA","amount":1,"price":0}]}"#, "/lines/0/price"),
        (r#"{"lines":[{"sku":"TEA","amount":1}],"__proto__":{}}"#, "/__proto__"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_types_are_refused() {
    assert_refused(&[
        ("[]", ""),
        ("null", ""),
        (r#""text""#, ""),
        ("{}", ""),
        (r#"{"lines":null}"#, "/lines"),
        (r#"{"lines":{}}"#, "/lines"),
        (r#"{"lines":[null]}"#, "/lines/0"),
        (r#"{"lines":[{"amount":1}]}"#, "/lines/0"),
        (r#"{"lines":[{"sku":7,"amount":1}]}"#, "/lines/0/sku"),
        (r#"{"lines":[{"sku":"no spaces","amount":1}]}"#, "/lines/0/sku"),
        (r#"{"lines":[{"sku":"TEA","amount":"1"}]}"#, "/lines/0/amount"),
        (r#"{"lines":[{"sku":"TEA","amount":true}]}"#, "/lines/0/amount"),
        (r#"{"lines":[{"sku":"TEA","amount":1.5}]}"#, "/lines/0/amount"),
        (r#"{"lines":[{"sku":"TEA","amount":1}],"note":[]}"#, "/note"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn huge_numbers_are_refused() {
    let digits = format!(r#"{{"lines":[{{"sku":"TEA","amount":{}}}]}}"#, "9".repeat(65));
    assert_refused(&[
        (r#"{"lines":[{"sku":"TEA","amount":9223372036854775808}]}"#, "/lines/0/amount"),
        (r#"{"lines":[{"sku":"TEA","amount":1e30}]}"#, "/lines/0/amount"),
        (r#"{"lines":[{"sku":"TEA","amount":1e999999999}]}"#, "/lines/0/amount"),
        (r#"{"lines":[{"sku":"TEA","amount":1}],"weight":1e399}"#, "/weight"),
        (&digits, "/lines/0/amount"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_nesting_is_refused() {
    let bench = Bench::start().await;
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for depth in [65, 5000] {
            let body = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let problem = bench.place(KEY, body).await.refuses(400, "request-invalid");
            assert_eq!(problem.pointers.len(), 1, "{problem:?}");
        }
    }
    bench.assert_untouched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_rules_of_form_are_named_all_at_once() {
    let bench = Bench::start().await;
    let body = format!(
        r#"{{"lines":[{{"sku":"TEA","amount":0}},{{"sku":"TEA","amount":-1}}],"note":"{}","weight":0}}"#,
        "n".repeat(100)
    );
    let problem = bench.place(KEY, body).await.refuses(400, "request-invalid");
    assert_eq!(problem.pointers, ["/lines", "/lines/0/amount", "/lines/1/amount", "/note", "/weight"]);
    bench.assert_untouched().await;
    // The corrected request succeeds under the same key.
    bench.place(KEY, order(1)).await.assert_placed();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stricter_rule_does_not_refuse_the_retry_of_an_earlier_success() {
    use diesel_async::SimpleAsyncConnection;
    let bench = Bench::start().await;
    // An older version accepted this body, which is now invalid. Its fingerprint is that of "{}".
    let first = bench.place(KEY, order(1)).await;
    let wrong = bench.place("00000000-0000-4000-8000-000000000000", noted_long()).await;
    wrong.refuses(400, "request-invalid");
    let mut owner = bench.database.owner().await;
    owner
        .batch_execute(&format!(
            "UPDATE idempotency_record SET fingerprint = decode('{}', 'hex')",
            fingerprint_of(&noted_long())
        ))
        .await
        .unwrap();
    bench.place(KEY, noted_long()).await.assert_replays(&first);
}

/// A note longer than this version allows.
fn noted_long() -> String {
    crate::bench::noted(&"n".repeat(100))
}

fn fingerprint_of(body: &str) -> String {
    use std::fmt::Write as _;
    let body = idempotency::canonicalise(body.as_bytes()).unwrap();
    let fingerprint = idempotency::Fingerprint::of(&idempotency::FingerprintInput {
        method: "POST",
        route_template: "/v1/orders",
        path_parameters: &[],
        query: &[],
        media_type: "application/json",
        actor: "web-shop",
        body: &body,
    });
    fingerprint.digest().iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_is_read_as_strictly() {
    let bench = Bench::start().await;
    let put = async |path: &str, body: &str| send(json_body(bench.request(Method::PUT, path), body)).await;
    for (body, pointer) in [
        ("{", ""),
        (r#"{"price":0}"#, "/price"),
        (r#"{"price":1,"price":2}"#, "/price"),
        (r#"{"price":1,"cost":1}"#, "/cost"),
    ] {
        let problem = put("/v1/items/TEA", body).await.refuses(400, "request-invalid");
        assert_eq!(problem.pointers, [pointer], "{body}");
    }
    put("/v1/items/no%20name", r#"{"price":1}"#).await.refuses(404, "not-found");
    assert_eq!(bench.number("SELECT count(*) AS number FROM item").await, 0);
    bench.assert_untouched().await;
    // The command needs no key. Sent twice, it takes effect once.
    for _ in 0..2 {
        let response = put("/v1/items/TEA", r#"{"price":3}"#).await;
        assert_eq!((response.status, response.header("idempotency-status")), (200, None));
    }
    assert_eq!(bench.number("SELECT price AS number FROM item").await, 3);
}
