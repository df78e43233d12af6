//! Unknown paths and methods, the common headers, and the documentation pages.

use reqwest::Method;

use crate::bench::{Bench, KEY, json_body, order, send};
use crate::response::TestResponse;

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_path_is_not_found() {
    let bench = Bench::start().await;
    for path in [
        "/",
        "/v1",
        "/v1/orders/",
        "/v1/order",
        "/v2/orders",
        "/v1/orders/x/y/z",
        "/..%2f..%2fetc/passwd",
        "/%00",
    ] {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            let request = json_body(bench.request(method, path), order(1)).header("Idempotency-Key", KEY);
            let problem = send(request).await.refuses(404, "not-found");
            assert!(problem.detail.contains("/openapi.json"), "{path}: {problem:?}");
        }
    }
    bench.assert_untouched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_method_gets_405_with_the_allowed_methods() {
    let bench = Bench::start().await;
    let id = "0190a5c4-7e3b-7abc-8def-0123456789ab";
    for (method, path, allowed) in [
        (Method::DELETE, "/v1/orders".to_owned(), "GET, HEAD, POST"),
        (Method::PATCH, "/v1/orders".to_owned(), "GET, HEAD, POST"),
        (Method::GET, format!("/v1/orders/{id}/cancel"), "POST"),
        (Method::POST, format!("/v1/orders/{id}"), "GET, HEAD"),
        (Method::POST, "/v1/items/TEA".to_owned(), "GET, HEAD, PUT"),
        (Method::from_bytes(b"BREW").unwrap(), "/v1/orders".to_owned(), "GET, HEAD, POST"),
    ] {
        let request = json_body(bench.request(method, &path), order(1)).header("Idempotency-Key", KEY);
        let response = send(request).await;
        let problem = response.refuses(405, "method-not-allowed");
        assert_eq!(response.header("allow"), Some(allowed), "{path}");
        assert!(problem.detail.contains(allowed), "{problem:?}");
    }
    bench.assert_untouched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_id_is_404() {
    let bench = Bench::start().await;
    for path in ["/v1/orders/1", "/v1/orders/null", "/v1/orders/'%20OR%201=1"] {
        bench.get(path).await.refuses(404, "not-found");
        send(bench.command(&format!("{path}/cancel"), KEY, "{}")).await.refuses(404, "not-found");
    }
    bench.assert_untouched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_response_has_the_common_headers() {
    let bench = Bench::start().await;
    let responses = [
        bench.place(KEY, order(1)).await,
        bench.place(KEY, order(1)).await,
        bench.place(KEY, "{").await,
        bench.get("/v1/orders").await,
        bench.get("/nowhere").await,
        send(bench.plain(Method::GET, "/openapi.json")).await,
    ];
    let mut ids = Vec::new();
    for response in responses {
        assert_eq!(response.header("cache-control"), Some("no-store"), "{response:?}");
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
        assert_eq!((response.header("server"), response.header("x-powered-by")), (None, None));
        let id = response.header("x-request-id").unwrap();
        assert!(response.status < 400 || response.json()["request_id"] == id, "{response:?}");
        ids.push(id.to_owned());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_loads_nothing_from_elsewhere() {
    let bench = Bench::with(|settings| settings.docs = true).await;
    let page = async |path: &str| send(bench.plain(Method::GET, path)).await;
    let redirect = page("/docs").await;
    assert_eq!((redirect.status, redirect.header("location")), (308, Some("/docs/")));

    let index = page("/docs/").await;
    let policy = index.header("content-security-policy").unwrap();
    let sources = ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"];
    assert!(sources.iter().all(|source| policy.contains(source)), "{policy}");
    let index = text(&index);
    let mut loaded = 0;
    for attribute in ["src=\"", "href=\""] {
        for part in index.split(attribute).skip(1) {
            let target = part.split('"').next().unwrap();
            assert!(!target.contains(':') && !target.starts_with('/'), "{target}");
            let response = page(&format!("/docs/{target}")).await;
            assert_eq!(response.status, 200, "{target}");
            if target.contains(".css") {
                let style = text(&response);
                assert!(!style.contains("url(http") && !style.contains("@import"), "{target}");
            }
            loaded += 1;
        }
    }
    assert_eq!(loaded, 4, "{index}");
    assert_eq!(page("/docs/nothing.js").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_setting_there_is_a_document_but_no_page() {
    let bench = Bench::start().await;
    for (path, status) in [("/docs", 404), ("/docs/", 404), ("/docs/page.js", 404), ("/openapi.json", 200)] {
        assert_eq!(send(bench.plain(Method::GET, path)).await.status, status, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_is_served_and_describes_every_command() {
    let bench = Bench::start().await;
    let response = send(bench.plain(Method::GET, "/openapi.json")).await;
    assert_eq!((response.status, response.header("content-type")), (200, Some("application/json")));
    let document = response.json();
    for (path, method) in
        [("/v1/orders", "post"), ("/v1/orders/{id}/cancel", "post"), ("/v1/items/{sku}", "put")]
    {
        let operation = &document["paths"][path][method];
        let parameters = operation["parameters"].as_array().unwrap();
        let key = parameters.iter().find(|parameter| parameter["name"] == "Idempotency-Key");
        assert_eq!(key.is_some(), method == "post", "{path}");
        if let Some(key) = key {
            assert_eq!(
                (&key["required"], &key["schema"]["format"]),
                (&true.into(), &serde_json::Value::Null)
            );
        }
        for status in ["400", "401", "403", "408", "413", "415", "429", "500", "503"] {
            let reference = operation["responses"][status]["$ref"].as_str().unwrap();
            let response = document.pointer(reference.trim_start_matches('#')).unwrap();
            assert!(response["content"]["application/problem+json"].is_object(), "{path} {status}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_problem_is_explained_where_its_type_points() {
    let bench = Bench::start().await;
    for kind in edge::problem_types::ALL {
        let page = send(bench.plain(Method::GET, &format!("/problems/{}", kind.code))).await;
        assert_eq!((page.status, page.header("content-type")), (200, Some("text/markdown; charset=utf-8")));
        let page = text(&page);
        assert!(page.starts_with(&format!("## {}\n", kind.code)), "{page}");
        assert!(!page.contains("\n## ") && !page.contains("](../"), "{page}");
    }
    for none in ["nothing", "%2e%2e", "## not-found", ""] {
        bench.get(&format!("/problems/{none}")).await.refuses(404, "not-found");
    }
    let request = bench.request(Method::POST, "/problems/not-found");
    send(request).await.refuses(404, "not-found");
}

fn text(response: &TestResponse) -> String {
    assert_eq!(response.status, 200);
    String::from_utf8(response.body.clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_has_a_schema_for_each_problem() {
    let bench = Bench::start().await;
    let document = send(bench.plain(Method::GET, "/openapi.json")).await.json();
    let schemas = &document["components"]["schemas"];
    let reused = &schemas["IdempotencyKeyReusedProblem"]["properties"];
    assert_eq!(
        (&reused["code"]["const"], &reused["status"]["const"]),
        (&"idempotency-key-reused".into(), &409.into())
    );
    let conflict = schemas["KeyConflictProblem"]["oneOf"].as_array().unwrap();
    assert!(
        conflict.contains(&serde_json::json!({ "$ref": "#/components/schemas/IdempotencyKeyReusedProblem" }))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn head_is_get_without_the_body() {
    let bench = Bench::start().await;
    bench.place(KEY, order(1)).await.assert_placed();
    let get = bench.get("/v1/orders").await;
    let head = send(bench.request(Method::HEAD, "/v1/orders")).await;
    assert_eq!((head.status, head.body.len()), (200, 0), "{head:?}");
    for name in ["content-type", "content-length", "cache-control"] {
        assert_eq!(head.header(name), get.header(name), "{name}");
    }
    // The connection can be used again: no byte of a body was left on it.
    for path in ["/v1/orders", "/nowhere"] {
        let head = send(bench.request(Method::HEAD, path)).await;
        assert_eq!((head.status, head.body.len()), (if path == "/nowhere" { 404 } else { 200 }, 0));
    }
    let head = send(bench.plain(Method::HEAD, "/v1/orders")).await;
    assert_eq!(head.status, 401, "{head:?}");
}

const PAGE: &str = "https://shop.example";

async fn preflight(bench: &Bench, origin: &str) -> TestResponse {
    let request = bench.plain(Method::OPTIONS, "/v1/orders").header("Origin", origin);
    let request = request.header("Access-Control-Request-Method", "POST");
    let headers = "authorization,baggage,content-type,idempotency-key,sentry-trace,tracestate";
    send(request.header("Access-Control-Request-Headers", headers)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_an_allowed_origin_may_call_and_read_the_headers() {
    let bench = Bench::with(|settings| settings.cors_origins = PAGE.parse().unwrap()).await;
    let allowed = preflight(&bench, PAGE).await;
    assert_eq!(
        (allowed.status, allowed.header("access-control-allow-origin")),
        (200, Some(PAGE)),
        "{allowed:?}"
    );
    let headers = allowed.header("access-control-allow-headers").unwrap().to_lowercase();
    for name in ["authorization", "baggage", "idempotency-key", "tracestate"] {
        assert!(headers.contains(name), "{name}: {headers}");
    }
    assert_eq!(allowed.header("access-control-allow-credentials"), None);

    for body in [order(1), "{".to_owned()] {
        let request = bench.command("/v1/orders", KEY, body).header("Origin", PAGE);
        let response = send(request).await;
        assert_eq!(response.header("access-control-allow-origin"), Some(PAGE), "{response:?}");
        let exposed = response.header("access-control-expose-headers").unwrap().to_lowercase();
        for name in
            ["idempotent-replayed", "idempotency-status", "location", "retry-after", "x-request-id", "link"]
        {
            assert!(exposed.contains(name), "{name}: {exposed}");
        }
        assert!(response.header("vary").unwrap().to_lowercase().contains("origin"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_origin_may_not_read_a_response() {
    let bench = Bench::with(|settings| settings.cors_origins = PAGE.parse().unwrap()).await;
    for origin in ["https://shop.example.evil", "http://shop.example", "null"] {
        let refused = preflight(&bench, origin).await;
        assert_eq!(refused.header("access-control-allow-origin"), None, "{origin}");
        refused.refuses(400, "request-invalid");
        let read = send(bench.request(Method::GET, "/v1/orders").header("Origin", origin)).await;
        assert_eq!(read.header("access-control-allow-origin"), None, "{origin}");
    }
    // Without the setting, no page may.
    let bench = Bench::start().await;
    assert_eq!(preflight(&bench, PAGE).await.header("access-control-allow-origin"), None);
}
