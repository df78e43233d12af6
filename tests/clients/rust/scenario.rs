//! Drives the services by clients that openapi-generator generated. tests/scenario starts the services and reads the output.

use std::collections::BTreeSet;
use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use client::retries::Retries;
use http::{Extensions, StatusCode};
use inventory::apis::items_api::{self, AdjustStockSuccess, PutItemError};
use inventory::models::{AdjustStock, PutItem};
use orders::apis::orders_api::{
    self, CancelOrderSuccess, GetOrderError, GetOrderSuccess, ListOrdersSuccess, PlaceOrderError,
    PlaceOrderSuccess,
};
use orders::models::{
    CancelOrder, KeyConflictProblem, KeyedRequestRefusedProblem, Order, OrderLine, OrderStatus, PlaceOrder,
    PlaceOrderUnprocessable,
};
use payments::apis::operations_api::{self, GetOperationSuccess};
use payments::apis::payments_api::{self, CreatePaymentError, CreatePaymentSuccess};
use payments::apis::refunds_api::{self, CreateRefundSuccess};
use payments::models::{CreatePayment, CreateRefund, Currency, Money, Payment};
use reqwest::{Client, Request, Response};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Next};
use tokio::time::sleep;
use uuid::Uuid;

type Orders = orders::apis::configuration::Configuration;
type Payments = payments::apis::configuration::Configuration;
type Inventory = inventory::apis::configuration::Configuration;

const VISA: &str = "pm_card_visa";
const SLOW: &str = "pm_card_idem_slow"; // charged after three seconds
const TIMEOUT: Duration = Duration::from_mins(1);

fn given(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

fn client() -> ClientWithMiddleware {
    ClientBuilder::new(Client::new()).with(Retries::default()).build()
}

fn orders_at(url: &str, token: String) -> Orders {
    Orders { base_path: given(url), bearer_access_token: Some(token), client: client(), ..Orders::default() }
}

fn payments_at(url: &str, token: String) -> Payments {
    Payments {
        base_path: given(url),
        bearer_access_token: Some(token),
        client: client(),
        ..Payments::default()
    }
}

fn inventory_at(url: &str, token: String) -> Inventory {
    Inventory {
        base_path: given(url),
        bearer_access_token: Some(token),
        client: client(),
        ..Inventory::default()
    }
}

/// Whether a response was a replay. The generated functions do not return headers.
struct Replayed(Arc<AtomicBool>);

#[async_trait::async_trait]
impl Middleware for Replayed {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<Response> {
        let response = next.run(request, extensions).await?;
        let is_replay = response.headers().get("Idempotent-Replayed").is_some_and(|value| value == "true");
        self.0.store(is_replay, Ordering::Relaxed);
        Ok(response)
    }
}

fn key() -> String {
    Uuid::new_v4().to_string()
}

fn tea(pieces: i64, card: &str) -> PlaceOrder {
    PlaceOrder::new(vec![OrderLine::new(pieces, "TEA".to_owned())], card.to_owned())
}

fn euros(amount: i64) -> Money {
    Money::new(amount, Currency::Eur)
}

async fn place(orders: &Orders, key: &str, order: PlaceOrder) -> Result<Order, PlaceOrderError> {
    match orders_api::place_order(orders, key, order).await {
        Ok(response) => match response.entity {
            Some(PlaceOrderSuccess::Status201(order)) => Ok(order),
            other => panic!("{other:?}"),
        },
        Err(orders::apis::Error::ResponseError(response)) => Err(response.entity.expect("a problem")),
        Err(error) => panic!("{error}"),
    }
}

async fn item(inventory: &Inventory) {
    let euros = |amount| inventory::models::Money::new(amount, inventory::models::Currency::Eur);
    let tea = |amount| PutItem::new("Sencha".to_owned(), euros(amount));
    let put = items_api::put_item(inventory, "TEA", tea(450), None, None).await.unwrap();
    assert_eq!(put.status, StatusCode::CREATED, "{put:?}");
    let delivery = AdjustStock::new(100, "delivery".to_owned());
    let stock = items_api::adjust_stock(inventory, "TEA", &key(), delivery).await.unwrap().entity;
    assert!(matches!(&stock, Some(AdjustStockSuccess::Status201(it)) if it.on_hand == 100), "{stock:?}");
    let refused = items_api::put_item(inventory, "TEA", tea(500), Some("\"9\""), None).await.unwrap_err();
    let inventory::apis::Error::ResponseError(refused) = refused else { panic!("{refused}") };
    assert!(matches!(refused.entity, Some(PutItemError::Status412(_))), "{refused:?}");
}

async fn placed(orders: &Orders, order: PlaceOrder) -> Order {
    // Orders learns of a new item within moments, and asks for a retry before.
    place(orders, &key(), order).await.unwrap()
}

async fn lost_response(orders: &Orders) -> Order {
    placed(orders, tea(1, VISA)).await;
    let replayed = Arc::new(AtomicBool::new(false));
    let mut lossy = orders_at("IDEM_ORDERS_LOSSY", given("IDEM_TOKEN"));
    lossy.client =
        ClientBuilder::new(Client::new()).with(Replayed(replayed.clone())).with(Retries::default()).build();
    let order = place(&lossy, &key(), tea(2, VISA)).await.unwrap();
    assert!(replayed.load(Ordering::Relaxed), "the response is not a replay");
    order
}

async fn confirmed(orders: &Orders, order: Order) {
    let until = Instant::now() + TIMEOUT;
    let mut status = order.status;
    while matches!(status, OrderStatus::Pending | OrderStatus::AwaitingPayment) {
        assert!(Instant::now() < until, "still {status}");
        sleep(Duration::from_millis(100)).await;
        let seen = orders_api::get_order(orders, &order.id.to_string(), None).await.unwrap().entity;
        let Some(GetOrderSuccess::Status200(seen)) = seen else { panic!("{seen:?}") };
        status = seen.status;
    }
    assert_eq!(status, OrderStatus::Confirmed);
}

async fn pages(orders: &Orders) {
    let mut ids = BTreeSet::new();
    let mut cursor = None;
    loop {
        let page =
            orders_api::list_orders(orders, Some(1), cursor.as_deref(), None, None).await.unwrap().entity;
        let Some(ListOrdersSuccess::Status200(page)) = page else { panic!("{page:?}") };
        for order in page.data {
            assert!(ids.insert(order.id), "listed twice: {}", order.id);
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(ids.len(), 2, "{ids:?}");
}

async fn problems(orders: &Orders, payments: &Payments) {
    let used = key();
    place(orders, &used, tea(1, VISA)).await.unwrap();
    let reused = place(orders, &used, tea(2, VISA)).await.unwrap_err();
    let is_reused =
        |it: &KeyConflictProblem| matches!(it, KeyConflictProblem::IdempotencyKeyReusedProblem(_));
    assert!(matches!(&reused, PlaceOrderError::Status409(it) if is_reused(it)), "{reused:?}");
    let stranger = orders_at("IDEM_ORDERS", "nobody".to_owned());
    let anonymous = place(&stranger, &key(), tea(1, VISA)).await.unwrap_err();
    assert!(matches!(anonymous, PlaceOrderError::Status401(_)), "{anonymous:?}");
    let reader = orders_at("IDEM_ORDERS", given("IDEM_READER_TOKEN"));
    let forbidden = place(&reader, &key(), tea(1, VISA)).await.unwrap_err();
    assert!(matches!(forbidden, PlaceOrderError::Status403(_)), "{forbidden:?}");
    let missing = orders_api::get_order(orders, &key(), None).await.unwrap_err();
    let orders::apis::Error::ResponseError(missing) = missing else { panic!("{missing}") };
    assert!(matches!(missing.entity, Some(GetOrderError::Status404(_))), "{missing:?}");
    let none = PlaceOrder::new(Vec::new(), VISA.to_owned());
    let invalid = place(orders, &key(), none).await.unwrap_err();
    let PlaceOrderError::Status400(KeyedRequestRefusedProblem::RequestInvalidProblem(invalid)) = invalid
    else {
        panic!("{invalid:?}")
    };
    assert_eq!(invalid.errors.unwrap()[0].pointer, "/lines");
    let price = orders::models::Money::new(1, orders::models::Currency::Eur);
    let cheaper = PlaceOrder { expected_total: Some(Box::new(price)), ..tea(1, VISA) };
    let changed = place(orders, &key(), cheaper).await.unwrap_err();
    let is_changed =
        |it: &PlaceOrderUnprocessable| matches!(it, PlaceOrderUnprocessable::PriceChangedProblem(_));
    assert!(matches!(&changed, PlaceOrderError::Status422(it) if is_changed(it)), "{changed:?}");
    let card = CreatePayment::new(euros(100), "pm_card_visa_chargeDeclined".to_owned());
    let declined = payments_api::create_payment(payments, &key(), card).await.unwrap_err();
    let payments::apis::Error::ResponseError(declined) = declined else { panic!("{declined}") };
    assert!(matches!(declined.entity, Some(CreatePaymentError::Status402(_))), "{declined:?}");
}

async fn cancelled(orders: &Orders) {
    let order = placed(orders, tea(1, SLOW)).await;
    let reason = CancelOrder::new("changed my mind".to_owned());
    let after = orders_api::cancel_order(orders, &order.id.to_string(), &key(), reason).await.unwrap().entity;
    let Some(CancelOrderSuccess::Status200(after)) = after else { panic!("{after:?}") };
    assert_eq!(after.status, OrderStatus::Cancelled);
}

async fn charge(payments: &Payments, amount: i64, card: &str) -> CreatePaymentSuccess {
    let charge = CreatePayment::new(euros(amount), card.to_owned());
    payments_api::create_payment(payments, &key(), charge).await.unwrap().entity.expect("a body")
}

async fn charged(payments: &Payments) -> Payment {
    match charge(payments, 1250, VISA).await {
        CreatePaymentSuccess::Status201(payment) => payment,
        other => panic!("{other:?}"),
    }
}

async fn followed(payments: &Payments) {
    let accepted = charge(payments, 700, SLOW).await;
    let CreatePaymentSuccess::Status202(accepted) = accepted else { panic!("{accepted:?}") };
    let id = accepted.operation_id.to_string();
    let until = Instant::now() + TIMEOUT;
    loop {
        let operation = operations_api::get_operation(payments, &id).await.unwrap().entity;
        let Some(GetOperationSuccess::Status200(operation)) = operation else { panic!("{operation:?}") };
        if let Some(reply) = operation.reply {
            assert_eq!(reply.status, 201, "{reply:?}");
            return;
        }
        assert!(Instant::now() < until, "{operation:?}");
        sleep(Duration::from_millis(200)).await;
    }
}

async fn refunded(payments: &Payments, payment: Payment) {
    let part = CreateRefund { amount: Some(Box::new(euros(250))), ..CreateRefund::new("broken".to_owned()) };
    let refund =
        refunds_api::create_refund(payments, &payment.id.to_string(), &key(), part).await.unwrap().entity;
    let Some(CreateRefundSuccess::Status201(refund)) = refund else { panic!("{refund:?}") };
    assert_eq!(refund.amount.amount, 250);
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let orders = orders_at("IDEM_ORDERS", given("IDEM_TOKEN"));
    let payments = payments_at("IDEM_PAYMENTS", given("IDEM_TOKEN"));
    item(&inventory_at("IDEM_INVENTORY", given("IDEM_TOKEN"))).await;
    println!("holds: item");
    let order = lost_response(&orders).await;
    println!("holds: lost response");
    confirmed(&orders, order).await;
    println!("holds: confirmed");
    pages(&orders).await;
    println!("holds: pages");
    problems(&orders, &payments).await;
    println!("holds: problems");
    cancelled(&orders).await;
    println!("holds: cancelled");
    let payment = charged(&payments).await;
    println!("holds: charged");
    followed(&payments).await;
    println!("holds: followed");
    refunded(&payments, payment).await;
    println!("holds: refunded");
}
