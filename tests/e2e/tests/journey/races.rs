//! Requests that use one key at the same instant, at two instances.

use contracts::{Currency, Money};
use e2e::{Customer, Options, Part, Stack, TEA};
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use harness::inventory::put_item;
use harness::{Client, Endpoint, Request, Response};

/// How many races are run at a time.
const AT_ONCE: usize = 8;

/// Two instances of orders, and a customer whose item they know.
async fn two_instances() -> (Stack, Customer, Vec<Endpoint>) {
    let stack = Stack::with(Options { two_of_each: true, ..Options::default() }).await;
    let customer = Customer::of(&stack);
    customer.send(&put_item(TEA, TEA, Money::new(450, Currency::Eur))).await;
    customer.places(1).await;
    let endpoints = stack.endpoints(&["orders", "orders-2"]);
    (stack, customer, endpoints)
}

/// Sends as a client that follows `Retry-After`: a 503, such as after a commit that the disk delays for a second, says that nothing was
/// executed, and asks for the same request again.
async fn send(client: &Client, to: &Endpoint, request: &Request) -> Response {
    for _ in 0..30 {
        let response = client.send(to, request).await.unwrap();
        match response.retry_after() {
            Some(pause) if response.status == 503 => tokio::time::sleep(pause).await,
            _ => return response,
        }
    }
    panic!("{} gets 503 for ever", request.name());
}

fn is_executed(response: &Response) -> bool {
    response.status == 201 && !response.is_replay()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_bodies_under_one_key_one_is_executed_in_each_of_a_thousand_races() {
    let (stack, customer, endpoints) = two_instances().await;
    let client = customer.api.client();
    let race = async |_| {
        let first = customer.tea(1);
        let second = Request { body: customer.tea(2).body, ..first.clone() };
        let (first, second) =
            tokio::join!(send(client, &endpoints[0], &first), send(client, &endpoints[1], &second));
        let responses = [first, second];
        let executed = responses.iter().filter(|response| is_executed(response)).count();
        let refused = responses.iter().filter(|response| {
            ["idempotency-key-in-progress", "idempotency-key-reused"].contains(&response.code().as_str())
        });
        assert_eq!((executed, refused.count()), (1, 1), "{:?}", responses.map(|it| (it.status, it.code())));
    };
    stream::iter(0..1_000).for_each_concurrent(AT_ONCE, race).await;
    assert_eq!(stack.count(Part::ORDERS, "SELECT count(*) FROM orders").await, 1 + 1_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_hundred_copies_at_two_instances_one_is_executed() {
    let (stack, customer, endpoints) = two_instances().await;
    let client = customer.api.client();
    let request = customer.tea(1);
    let copies = (0..100).map(|copy| send(client, &endpoints[copy % 2], &request));
    let responses: Vec<Response> = join_all(copies).await;
    assert_eq!(responses.iter().filter(|response| is_executed(response)).count(), 1);
    for other in responses.iter().filter(|response| !is_executed(response)) {
        assert!(other.is_replay() || other.code() == "idempotency-key-in-progress", "{}", other.json());
    }
    assert_eq!(stack.count(Part::ORDERS, "SELECT count(*) FROM orders").await, 1 + 1);
}
