//! The Idempotency-Key header: the accepted notations, and the refused ones.

use idempotency::KeyPolicy;
use reqwest::Method;

use crate::bench::{Bench, KEY, json_body, order, send};
use crate::shop;

#[tokio::test(flavor = "multi_thread")]
async fn a_command_without_a_key_is_refused() {
    let bench = Bench::start().await;
    let response = send(json_body(bench.request(Method::POST, "/v1/orders"), order(1))).await;
    let problem = response.refuses(400, "idempotency-key-missing");
    assert!(problem.detail.contains("Idempotency-Key"), "{problem:?}");
    bench.assert_untouched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_key_is_refused() {
    let bench = Bench::start().await;
    for empty in ["", "\"\"", "\"\";a=1"] {
        bench.place(empty, order(1)).await.refuses(400, "idempotency-key-invalid");
    }
    bench.assert_untouched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn quoted_and_bare_are_the_same_key() {
    let bench = Bench::start().await;
    let quoted = format!("\"{KEY}\"");
    let first = bench.place(&quoted, order(1)).await;
    first.assert_placed();
    // Without quotes, with parameters, in upper case and between blanks, the key is the same.
    let upper = KEY.to_uppercase();
    for same in
        [KEY, &format!("{quoted};foo=1"), &format!("{quoted}; a;b=\"c\""), &upper, &format!("\"{upper}\"")]
    {
        bench.place(same, order(1)).await.assert_replays(&first);
    }
    let blanks = bench.head(
        "/v1/orders",
        &[
            "Content-Type: application/json",
            &format!("Content-Length: {}", order(1).len()),
            &format!("IDEMPOTENCY-KEY:  \t{KEY} \t"),
        ],
    );
    bench.raw(format!("{blanks}\r\n{}", order(1))).await.assert_replays(&first);
    bench.assert_orders(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_key_comes_back_quoted() {
    let bench = Bench::start().await;
    let first = bench.place(KEY, order(1)).await;
    first.assert_placed();
    bench.place(&format!("\"{KEY}\""), order(1)).await.assert_replays(&first);
    bench.assert_orders(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_key_lines_are_refused_even_if_they_agree() {
    let bench = Bench::start().await;
    for other in [KEY, "00000000-0000-4000-8000-000000000000", ""] {
        let request = bench.command("/v1/orders", KEY, order(1)).header("Idempotency-Key", other);
        let problem = send(request).await.refuses(400, "idempotency-key-invalid");
        assert!(problem.detail.contains("more than one"), "{problem:?}");
    }
    bench.assert_untouched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_not_a_key() {
    let bench = Bench::start().await;
    for list in [format!("{KEY}, {KEY}"), format!("\"{KEY}\", \"{KEY}\""), format!("(\"{KEY}\")")] {
        bench.place(&list, order(1)).await.refuses(400, "idempotency-key-invalid");
    }
    bench.assert_untouched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_uuid_is_a_key_unless_the_setting_says_otherwise() {
    let bench = Bench::start().await;
    for other in [
        "order-2026-11-20-0001",
        "{8e03978e-40d5-43e8-bc93-6894a57f9324}",
        "8e03978e40d543e8bc936894a57f9324",
    ] {
        bench.place(other, order(1)).await.refuses(400, "idempotency-key-invalid");
    }
    for other in [":YWJjZGVmZ2hpamtsbW5vcA==:", "?1", "-1234567890123456", "@1659578233"] {
        bench.place(other, order(1)).await.refuses(400, "idempotency-key-invalid");
    }
    bench.assert_untouched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nil_or_max_uuid_is_not_a_key_under_any_setting() {
    for policy in [KeyPolicy::Uuid, KeyPolicy::Any] {
        let bench = Bench::with(|settings| settings.key_policy = policy).await;
        let (nil, max) = (uuid::Uuid::nil().to_string(), uuid::Uuid::max().to_string());
        for placeholder in [&nil, &max, &max.to_uppercase(), &format!("\"{nil}\"")] {
            let problem = bench.place(placeholder, order(1)).await.refuses(400, "idempotency-key-invalid");
            assert!(problem.detail.contains("variable that was never set"), "{problem:?}");
            bench.get(&format!("/v1/idempotency-keys/{nil}")).await.refuses(400, "idempotency-key-invalid");
        }
        bench.assert_untouched().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn any_key_of_16_to_255_characters_is_accepted_if_the_setting_permits() {
    let bench = Bench::with(|settings| settings.key_policy = KeyPolicy::Any).await;
    let (shortest, longest) = ("k".repeat(16), "k".repeat(255));
    bench.place(&shortest, order(1)).await.assert_placed();
    let first = bench.place(&longest, order(1)).await;
    first.assert_placed();
    bench.place(&format!("\"{longest}\""), order(1)).await.assert_replays(&first);
    // Keys are compared byte for byte, so another case is another key.
    bench.place(&"K".repeat(16), order(1)).await.assert_placed();
    for wrong in ["k".repeat(15), "k".repeat(256), format!("\"{}\"", "k".repeat(256)), "k".repeat(4000)] {
        bench.place(&wrong, order(1)).await.refuses(400, "idempotency-key-invalid");
    }
    bench.assert_orders(3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_not_text_is_refused() {
    let bench = Bench::with(|settings| settings.key_policy = KeyPolicy::Any).await;
    for bytes in [
        &b"k\xc3\xa9k-0123456789abcdef"[..],
        b"\"k\xff-0123456789abcdef\"",
        b"key with spaces 0123456789",
        b"\"tab\t0123456789abcdef\"",
    ] {
        let mut request = bench
            .head(
                "/v1/orders",
                &["Content-Type: application/json", &format!("Content-Length: {}", order(1).len())],
            )
            .into_bytes();
        request.extend_from_slice(b"Idempotency-Key: ");
        request.extend_from_slice(bytes);
        request.extend_from_slice(b"\r\n\r\n");
        request.extend_from_slice(order(1).as_bytes());
        bench.raw(request).await.refuses(400, "idempotency-key-invalid");
    }
    // The HTTP server refuses a zero byte or a bare line feed before our code runs.
    for bytes in ["k\0k-0123456789abcdef", "k\x01k-0123456789abcdef"] {
        let head = bench.head("/v1/orders", &["Content-Length: 0", &format!("Idempotency-Key: {bytes}")]);
        assert_eq!(bench.raw(format!("{head}\r\n")).await.status, 400);
    }
    bench.assert_untouched().await;
}

#[test]
fn each_command_declares_whether_it_takes_a_key() {
    let document = serde_json::json!(shop::document());
    let declared = |path: &str, method: &str| {
        let parameters = document["paths"][path][method]["parameters"].as_array();
        let key = parameters.and_then(|all| all.iter().find(|one| one["name"] == "Idempotency-Key"));
        key.map(|key| key["required"] == true)
    };
    assert_eq!(declared("/v1/orders", "post"), Some(true));
    assert_eq!(declared("/v1/items/{sku}", "put"), None);
    assert_eq!(declared("/v1/orders", "get"), None);
}
