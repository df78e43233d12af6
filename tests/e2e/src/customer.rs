//! What people do with it: put items on sale, order, cancel, look.

use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};
use testkit::{eventually, http, identity};
use uuid::Uuid;

use crate::Stack;

/// The item that [`Customer::stocked`] puts on sale.
pub const TEA: &str = "TEA";

/// A new idempotency key.
pub fn key() -> String {
    Uuid::new_v4().to_string()
}

/// A client of one tenant, with all scopes.
pub struct Customer {
    tenant: String,
    client: reqwest::Client,
    orders: String,
    inventory: String,
    payments: String,
}

impl Customer {
    /// A customer of this stack, of a tenant of its own.
    pub fn of(stack: &Stack) -> Self {
        let (orders, inventory, payments) =
            (stack.address("orders"), stack.address("inventory"), stack.address("payments"));
        Self {
            tenant: format!("t-{}", Uuid::new_v4().simple()),
            client: http::client(),
            orders,
            inventory,
            payments,
        }
    }

    /// A customer whose shop has this much TEA at 4.50 EUR.
    pub async fn stocked(stack: &Stack, quantity: i64) -> Self {
        let customer = Self::of(stack);
        customer.put_item(TEA, 450).await;
        customer.adjust(TEA, quantity).await;
        customer
    }

    fn authorised(&self, request: RequestBuilder) -> RequestBuilder {
        request.bearer_auth(self.token())
    }

    /// A bearer token, with all scopes that it needs.
    pub fn token(&self) -> String {
        let scopes = "orders:read orders:write inventory:read inventory:write payments:read payments:write \
                      payments:refund";
        identity::token(&self.tenant, "e2e", scopes)
    }

    /// Whose data it is.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// Puts an item on sale.
    pub async fn put_item(&self, sku: &str, price: i64) {
        let item = json!({"name": sku, "unit_price": {"amount": price, "currency": "EUR"}});
        let put = self.client.put(format!("{}/v1/items/{sku}", self.inventory)).json(&item);
        let answer = self.authorised(put).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    }

    /// Brings stock in.
    pub async fn adjust(&self, sku: &str, delta: i64) {
        let url = format!("{}/v1/items/{sku}/adjustments", self.inventory);
        let adjustment = json!({"delta": delta, "reason": "delivery"});
        let post = self.client.post(url).header("Idempotency-Key", key()).json(&adjustment);
        let answer = self.authorised(post).send().await.unwrap();
        assert_eq!(answer.status(), 201, "{}", answer.text().await.unwrap());
    }

    /// What inventory says of an item.
    pub async fn item(&self, sku: &str) -> Value {
        self.read(&format!("{}/v1/items/{sku}", self.inventory)).await
    }

    /// What orders says of an order.
    pub async fn order(&self, id: &str) -> Value {
        self.read(&format!("{}/v1/orders/{id}", self.orders)).await
    }

    /// What payments says of a payment.
    pub async fn payment(&self, id: &str) -> Value {
        self.read(&format!("{}/v1/payments/{id}", self.payments)).await
    }

    async fn read(&self, url: &str) -> Value {
        let answer = self.authorised(self.client.get(url)).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{url}");
        answer.json().await.unwrap()
    }

    /// An order, ready to be sent.
    pub fn placing(&self, key: &str, quantity: i64, card: &str) -> RequestBuilder {
        let order = json!({"lines": [{"sku": TEA, "quantity": quantity}], "payment_method": card});
        let post = self
            .client
            .post(format!("{}/v1/orders", self.orders))
            .header("Idempotency-Key", key)
            .json(&order);
        self.authorised(post)
    }

    /// Places an order for TEA; returns its id. Waits for the catalogue to know TEA.
    pub async fn places(&self, quantity: i64, card: &str) -> String {
        let key = key();
        let order = eventually("the order is accepted", async || {
            let answer = self.placing(&key, quantity, card).send().await.unwrap();
            // The catalogue follows within moments: the same request again, as the answer says.
            (answer.status() != 422).then_some(answer)
        });
        let answer = order.await;
        assert_eq!(answer.status(), 201);
        id_of(&answer.json().await.unwrap())
    }

    /// A charge without an order, ready to be sent.
    pub fn charging(&self, key: &str, amount: i64, card: &str) -> RequestBuilder {
        let charge = json!({"amount": {"amount": amount, "currency": "EUR"}, "payment_method": card});
        self.paying("", key, &charge)
    }

    /// A refund, ready to be sent.
    pub fn refunding(&self, key: &str, payment: &str, amount: i64) -> RequestBuilder {
        let refund = json!({"amount": {"amount": amount, "currency": "EUR"}, "reason": "broken"});
        self.paying(&format!("/{payment}/refunds"), key, &refund)
    }

    fn paying(&self, path: &str, key: &str, body: &Value) -> RequestBuilder {
        let url = format!("{}/v1/payments{path}", self.payments);
        self.authorised(self.client.post(url).header("Idempotency-Key", key).json(body))
    }

    /// Cancels an order.
    pub async fn cancels(&self, id: &str, reason: &str) -> Response {
        let url = format!("{}/v1/orders/{id}/cancel", self.orders);
        let post = self.client.post(url).header("Idempotency-Key", key()).json(&json!({"reason": reason}));
        self.authorised(post).send().await.unwrap()
    }

    /// Waits until an order has this status; returns it.
    pub async fn sees(&self, id: &str, status: &str) -> Value {
        eventually(&format!("order {id} is {status}"), async || {
            Some(self.order(id).await).filter(|order| order["status"] == status)
        })
        .await
    }
}

/// The `id` of a view.
pub(crate) fn id_of(view: &Value) -> String {
    view["id"].as_str().expect("an id").to_owned()
}
