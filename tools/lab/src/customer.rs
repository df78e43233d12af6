//! The client of the page. It follows the retry policy of docs/clients.md: a request without a response is sent again under the
//! same key.

use std::time::{Duration, Instant};

use contracts::{Currency, Money};
use futures_util::future::join_all;
use harness::inventory::{adjust_stock, put_item};
use harness::orders::place_order;
use harness::{Error, Part, Request, Result, until};
use serde_json::Value;

use crate::lab::Lab;
use crate::state::{Exchange, Source};

const ITEM: &str = "green-tea";
const PRICE: Money = Money::new(450, Currency::Eur);
const PIECES: i64 = 100_000;

/// Between two sendings, unless the response names a pause.
const PAUSE: Duration = Duration::from_millis(500);
/// How long the client repeats a request.
const LIMIT: Duration = Duration::from_mins(5);
/// How long the catalogue of orders may take to learn an item.
const CATALOGUE_LIMIT: Duration = Duration::from_mins(1);

/// Puts the item on sale, stocks it, and waits until orders knows its price. Repeats this until it succeeds, with one delivery:
/// its key stays.
pub(crate) async fn prepare(lab: &Lab) {
    let delivery = adjust_stock(ITEM, PIECES);
    while let Err(error) = try_prepare(lab, &delivery).await {
        let away = Source::Away(format!("the item is not on sale: {error}"));
        lab.state.send_modify(|state| state.shop = away);
        tokio::time::sleep(PAUSE).await;
    }
    lab.state.send_modify(|state| state.shop = Source::Read(()));
}

async fn try_prepare(lab: &Lab, delivery: &Request) -> Result<()> {
    let put = lab.api.send(&put_item(ITEM, "Green tea, 100 g", PRICE)).await?;
    // Otherwise the response of the delivery, 404, would be stored under its key.
    if put.status >= 400 {
        return Err(Error::unexpected(&put, 200));
    }
    lab.api.send(delivery).await?.read::<Value>(201)?;
    until("orders knows the item", CATALOGUE_LIMIT, "./dev logs orders", async || {
        let known = lab.api.get(Part::ORDERS, format!("/v1/catalogue/{ITEM}")).await?.status == 200;
        Ok(if known { Ok(()) } else { Err("it is not in the catalogue".to_owned()) })
    })
    .await
}

/// Sends one order so many times at once, under one new key.
pub(crate) async fn place(lab: &Lab, copies: usize) -> Result<()> {
    send(lab, "order", &order(1), copies).await;
    Ok(())
}

/// Sends another order under the key of an order that is placed first.
pub(crate) async fn reuse_key(lab: &Lab) -> Result<()> {
    let first = order(1);
    send(lab, "order", &first, 1).await;
    let other = order(2).with_key(first.key.unwrap_or_default());
    send(lab, "other body, same key", &other, 1).await;
    Ok(())
}

/// Sends one order twice, each time under a new key. No server can tell that from two orders.
pub(crate) async fn replace_key(lab: &Lab) -> Result<()> {
    send(lab, "order", &order(1), 1).await;
    send(lab, "same order, new key", &order(1), 1).await;
    Ok(())
}

fn order(quantity: i64) -> Request {
    place_order(&[(ITEM, quantity)], "lab")
}

async fn send(lab: &Lab, title: &'static str, request: &Request, copies: usize) {
    let key = request.key.clone().unwrap_or_default();
    let mut number = 0;
    lab.state.send_modify(|state| number = state.begin(title, &key, copies));
    join_all((0..copies).map(|_| send_until_final(lab, request, number))).await;
}

/// Repeats the request until there is a final response, and counts lost responses in the log.
async fn send_until_final(lab: &Lab, request: &Request, number: u64) {
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        let pause = match lab.api.try_send(request).await {
            Ok(response) => match response.pause_before_retry(PAUSE) {
                Some(pause) => pause,
                None => {
                    return lab.state.send_modify(|state| {
                        state.exchange(number).into_iter().for_each(|exchange| exchange.end(&response));
                    });
                }
            },
            // Without a connection nothing was sent, so no response was lost.
            Err(error) => {
                let lost = usize::from(!error.is_connect());
                lab.state.send_modify(|state| {
                    state.exchange(number).into_iter().for_each(|exchange| exchange.lost += lost);
                });
                PAUSE
            }
        };
        tokio::time::sleep(pause).await;
    }
    lab.state.send_modify(|state| {
        state.exchange(number).into_iter().for_each(Exchange::give_up);
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Reads one request, and sends the response, or closes the connection without one. Returns the key of the request, if it has
    /// one.
    async fn serve(listener: &TcpListener, response: &str) -> String {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        let read = connection.read(&mut request).await.unwrap();
        connection.write_all(response.as_bytes()).await.unwrap();
        let request = String::from_utf8_lossy(&request[..read]).to_lowercase();
        let key = request.lines().find_map(|line| line.strip_prefix("idempotency-key: "));
        key.unwrap_or_default().to_owned()
    }

    fn documented(status: &str, body: &Value) -> String {
        let body = body.to_string();
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    }

    #[tokio::test]
    async fn the_item_is_put_on_sale_until_it_succeeds_and_its_delivery_keeps_its_key() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let lab = Lab::of_orders_at(listener.local_addr().unwrap());
        let id = "019a9b60-7c00-7000-8000-000000000001";
        let item = documented(
            "200 OK",
            &json!({"id": id, "sku": ITEM, "name": "Tea", "unit_price": PRICE, "version": 1, "on_hand": 0, "reserved": 0, "available": 0}),
        );
        let adjustment = documented(
            "201 Created",
            &json!({"id": id, "sku": ITEM, "delta": PIECES, "reason": "delivery", "on_hand": PIECES, "reserved": 0}),
        );
        let entry = documented(
            "200 OK",
            &json!({"item_id": id, "sku": ITEM, "name": "Tea", "unit_price": PRICE, "version": 1, "updated_at": "2026-11-20T12:00:00Z"}),
        );
        let services = async {
            // The response to the item is lost; then the response to the delivery is lost; then all succeed.
            serve(&listener, "").await;
            serve(&listener, &item).await;
            let lost = serve(&listener, "").await;
            serve(&listener, &item).await;
            let delivered = serve(&listener, &adjustment).await;
            assert_ne!(lab.state.borrow().shop, Source::Read(()));
            serve(&listener, &entry).await;
            (lost, delivered)
        };
        let ((lost, delivered), ()) = tokio::join!(services, prepare(&lab));
        assert!(!lost.is_empty() && lost == delivered, "{lost}, {delivered}");
        assert_eq!(lab.state.borrow().shop, Source::Read(()));
    }

    #[tokio::test]
    async fn a_request_without_a_final_response_is_sent_again_under_the_same_key() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let lab = Lab::of_orders_at(listener.local_addr().unwrap());
        let orders = async {
            let in_progress = "HTTP/1.1 409 Conflict\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n";
            let page_of_a_gateway = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 12\r\n\r\n<h1>502</h1>";
            let item_unknown =
                &documented("422 Unprocessable", &json!({ "code": "item-unknown", "retryable": true }));
            let replayed = "HTTP/1.1 201 Created\r\nIdempotent-Replayed: true\r\nContent-Length: 10\r\n\r\n{\"id\":\"a\"}";
            [
                serve(&listener, "").await,
                serve(&listener, in_progress).await,
                serve(&listener, page_of_a_gateway).await,
                serve(&listener, item_unknown).await,
                serve(&listener, replayed).await,
            ]
        };
        let (keys, placed) = tokio::join!(orders, place(&lab, 1));
        placed.unwrap();
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        let state = lab.state.borrow();
        let exchange = state.requests.front().unwrap();
        let counts = [exchange.lost, exchange.executed, exchange.replayed, exchange.open];
        assert_eq!((counts, exchange.order.as_deref()), ([1, 0, 1, 0], Some("a")), "{exchange:?}");
    }
}
