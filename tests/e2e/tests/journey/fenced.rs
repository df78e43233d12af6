//! A client gives up and fences its key, while its request is still on the way.

use e2e::{Customer, Part, Stack};
use futures_util::FutureExt;
use harness::{Endpoint, Request, Response, fence};
use serde_json::json;
use testkit::eventually;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A proxy that holds one request. The client disconnects, and the request arrives later.
struct HeldRequest(Vec<u8>);

impl HeldRequest {
    /// Sends a request of this customer through a proxy, and gives up once the proxy has all of its bytes.
    async fn of(customer: &Customer, request: &Request, at: &Endpoint) -> Self {
        let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = proxy.local_addr().unwrap().to_string();
        let through = Endpoint { address, ..at.clone() };
        let mut sent = customer.api.client().send(&through, request).boxed();
        let held = async {
            let (mut client, _) = proxy.accept().await.unwrap();
            let (mut bytes, end) = (Vec::new(), request.body.clone().unwrap_or_default());
            while !bytes.ends_with(end.as_bytes()) || bytes.is_empty() {
                assert!(client.read_buf(&mut bytes).await.unwrap() > 0, "the request is not complete");
            }
            bytes
        };
        tokio::select! {
            bytes = held => Self(bytes),
            response = &mut sent => panic!("the proxy gives no response: {response:?}"),
        }
    }

    /// Lets the request arrive. Returns what its client would have read.
    async fn arrives(self, at: &Endpoint) -> String {
        let mut server = TcpStream::connect(&at.address).await.unwrap();
        server.write_all(&self.0).await.unwrap();
        let mut response = Vec::new();
        eventually("the response", async || {
            server.read_buf(&mut response).await.unwrap();
            let text = String::from_utf8_lossy(&response).into_owned();
            text.contains("\r\n\r\n").then_some(text)
        })
        .await
    }
}

async fn fenced(customer: &Customer, request: &Request) -> Response {
    let fenced = customer.send(&fence(request.part, request.key.as_deref().unwrap())).await;
    assert_eq!(fenced.status, 200, "{}", fenced.json());
    fenced
}

async fn orders(stack: &Stack) -> i64 {
    stack.count(Part::ORDERS, "SELECT count(*) FROM orders").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_held_back_until_its_key_was_fenced_takes_no_effect() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 100).await;
    customer.places(1).await;
    let endpoint = &stack.endpoints(&["orders"])[0];
    let held = HeldRequest::of(&customer, &customer.tea(2), endpoint).await;
    let given_up = customer.tea(2);
    let late = HeldRequest::of(&customer, &given_up, endpoint).await;
    // Without a fence, the request takes effect although its client has given up.
    assert!(held.arrives(endpoint).await.starts_with("HTTP/1.1 201"));
    assert_eq!(orders(&stack).await, 2);

    assert_eq!(fenced(&customer, &given_up).await.json()["data"], json!([]));
    // The client knows that it may order again.
    let again = customer.places(2).await;
    let response = late.arrives(endpoint).await;
    assert!(response.starts_with("HTTP/1.1 409"), "{response}");
    assert_eq!(orders(&stack).await, 3);
    customer.sees(again, "confirmed").await;
    stack.settled().await;
    for asked in stack.books().audit().await {
        assert_eq!(asked.found().unwrap(), [] as [&str; 0], "{}", asked.question);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_arrived_before_its_fence_is_told_with_its_resource() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 100).await;
    customer.places(1).await;
    let endpoint = &stack.endpoints(&["orders"])[0];
    let given_up = customer.tea(2);
    let late = HeldRequest::of(&customer, &given_up, endpoint).await;
    assert!(late.arrives(endpoint).await.starts_with("HTTP/1.1 201"));
    let told = fenced(&customer, &given_up).await.json();
    let records = told["data"].as_array().unwrap();
    let [record] = records.as_slice() else { panic!("{told}") };
    assert_eq!((&record["state"], &record["status"]), (&json!("completed"), &json!(201)));
    let read = Request::get(Part::ORDERS, record["location"].as_str().unwrap());
    assert_eq!(customer.send(&read).await.json()["lines"][0]["quantity"], json!(2));
    assert!(customer.send(&given_up).await.is_replay());
    assert_eq!(orders(&stack).await, 2);
}
