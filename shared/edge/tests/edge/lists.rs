//! Lists: consecutive pages miss and repeat no row, even if rows are added between them.

use reqwest::Method;
use serde_json::Value;
use testkit::identity;

use crate::bench::{Bench, SCOPES, key, order, send};

fn ids(page: &Value) -> Vec<String> {
    let data = page["data"].as_array().unwrap().iter();
    data.map(|order| order["id"].as_str().unwrap().to_owned()).collect()
}

/// Places this many orders in turn. Returns their ids, newest first.
async fn placed(bench: &Bench, number: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..number {
        let response = bench.place(&key(), order(1)).await;
        response.assert_placed();
        ids.insert(0, response.json()["id"].as_str().unwrap().to_owned());
    }
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_follow_each_other_to_the_end_while_orders_arrive() {
    let bench = Bench::start().await;
    let all = placed(&bench, 7).await;
    let (mut seen, mut path) = (Vec::new(), "/v1/orders?limit=3".to_owned());
    loop {
        let response = bench.get(&path).await;
        assert_eq!(response.status, 200);
        let page = response.json();
        assert!(ids(&page).len() <= 3);
        seen.extend(ids(&page));
        // An order that is placed meanwhile belongs before the first page, so later pages do not shift.
        placed(&bench, 1).await;
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/orders?limit=3&cursor={cursor}");
    }
    assert_eq!(seen, all);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_just_full_is_the_last_one() {
    let bench = Bench::start().await;
    let empty = bench.get("/v1/orders").await.json();
    assert_eq!((&empty["data"], &empty["next_cursor"]), (&Value::Array(Vec::new()), &Value::Null));
    assert!(empty.as_object().unwrap().contains_key("next_cursor"));
    let all = placed(&bench, 22).await;
    let page = bench.get("/v1/orders?limit=22").await.json();
    assert_eq!((ids(&page), &page["next_cursor"]), (all.clone(), &Value::Null));
    let page = bench.get("/v1/orders").await.json();
    assert_eq!(ids(&page), all[..20]);
    assert!(page["next_cursor"].is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_page_is_refused_by_name() {
    let bench = Bench::start().await;
    for (query, pointer) in [
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=101", "limit"),
        ("limit=9223372036854775808", "limit"),
        ("limit=ten", "limit"),
        ("limit=+1", "limit"),
        ("limit=2.5", "limit"),
        ("limit=", "limit"),
        ("limit=1&limit=2", "limit"),
        ("cursor=AAAA&cursor=AAAA", "cursor"),
        ("offset=1", "query"),
    ] {
        let response = bench.get(&format!("/v1/orders?{query}")).await;
        assert_eq!(response.refuses(400, "request-invalid").pointers, [pointer], "{query}");
        let detail = response.json()["errors"][0]["detail"].as_str().unwrap().to_owned();
        for of_a_parser in ["digit", "parse", "invalid type", "duplicate field", "i64"] {
            assert!(!detail.contains(of_a_parser), "{query}: {detail}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_parameters_of_a_list_are_not_read_without_its_scope() {
    let bench = Bench::start().await;
    let token = identity::token("acme", "web-shop", "orders:write");
    for query in ["", "limit=0", "cursor=AAAA", "offset=1"] {
        let request = bench.request_as(&token, Method::GET, &format!("/v1/orders?{query}"));
        send(request).await.refuses(403, "forbidden");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_made_up_cursor_does_not_exist() {
    let bench = Bench::start().await;
    for cursor in ["", "AAAA", &"A".repeat(23), &"A".repeat(44), "%27;DROP%20TABLE%20placed"] {
        let problem = bench.get(&format!("/v1/orders?cursor={cursor}")).await.refuses(404, "not-found");
        assert!(problem.detail.contains("no such cursor"), "{cursor}: {problem:?}");
    }
}

/// Returns the cursor after a first page of one order.
async fn cursor(bench: &Bench, path: &str) -> String {
    let page = bench.get(&format!("{path}?limit=1")).await.json();
    page["next_cursor"].as_str().unwrap_or_else(|| panic!("no cursor: {page}")).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_shows_entries_of_the_callers_own_tenant_and_list_alone() {
    let bench = Bench::start().await;
    let all = placed(&bench, 3).await;
    let cursor = cursor(&bench, "/v1/orders").await;
    let path = format!("/v1/orders?cursor={cursor}");
    // Another client of the tenant may go on.
    let colleague = identity::token("acme", "call-centre", SCOPES);
    let page = send(bench.request_as(&colleague, Method::GET, &path)).await.json();
    assert_eq!(ids(&page), all[1..]);
    let elsewhere = bench.get(&format!("/v1/items/COFFEE/orders?cursor={cursor}")).await.json();
    assert_eq!(ids(&elsewhere), Vec::<String>::new());
    let stranger = identity::token("globex", "web-shop", SCOPES);
    let page = send(bench.request_as(&stranger, Method::GET, &path)).await.json();
    assert_eq!((ids(&page), &page["next_cursor"]), (Vec::<String>::new(), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_instance_goes_on_where_the_first_one_stopped() {
    let bench = Bench::start().await;
    let all = placed(&bench, 3).await;
    let cursor = cursor(&bench, "/v1/orders").await;
    let twin = bench.twin();
    let page = twin.get(&format!("/v1/orders?cursor={cursor}")).await.json();
    assert_eq!(ids(&page), all[1..]);
}
