//! Clients of orders: each with one connection, placing orders or asking again for what was placed.

use std::sync::Arc;

use hyper::Method;
use hyper::body::Bytes;
use uuid::Uuid;

use crate::ground::{Ground, Session, TENANT};
use crate::load::{Answer, Connection, Worker};
use crate::trouble::{Doing, Trouble};

/// One order for two pieces of the item that [`stock_catalogue`] knows.
const ORDER: &str = r#"{"lines":[{"sku":"TEA","quantity":2}],"payment_method":"pm_card_visa"}"#;

/// Puts the item on sale, without inventory.
pub(crate) async fn stock_catalogue(owner: &Session) -> Result<(), Trouble> {
    let insert = "INSERT INTO catalogue_item (tenant_id, sku, item_id, name, unit_price, currency, version) \
                  VALUES ($1, 'TEA', gen_random_uuid(), 'TEA', 450, 'EUR', 1)";
    owner.execute(insert, &[&TENANT]).await.doing("put an item into the catalogue").map(drop)
}

/// A client of orders.
pub(crate) struct Client {
    connection: Connection,
    authorization: String,
}

impl Client {
    pub(crate) async fn open(ground: &Ground, address: &str) -> Result<Self, Trouble> {
        Ok(Self {
            connection: Connection::open(address).await?,
            authorization: format!("Bearer {}", ground.token),
        })
    }

    /// Sends the order under this key; whatever comes back.
    pub(crate) async fn post(&mut self, key: &str) -> Result<Answer, Trouble> {
        let body = Bytes::from_static(ORDER.as_bytes());
        self.connection.send(Method::POST, "/v1/orders", Some(&self.authorization), Some(key), body).await
    }

    pub(crate) async fn get(&mut self, path: &str) -> Result<Answer, Trouble> {
        self.connection.get(path, Some(&self.authorization)).await
    }

    /// Any other command.
    pub(crate) async fn command(
        &mut self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: &str,
    ) -> Result<Answer, Trouble> {
        let body = Bytes::from(body.to_owned());
        self.connection.send(method, path, Some(&self.authorization), key, body).await
    }

    async fn expect(&mut self, key: &str, how: &str) -> Result<(), Trouble> {
        let answer = self.post(key).await?;
        if answer.status == 201 && answer.header("Idempotency-Status") == how {
            return Ok(());
        }
        Err(answer.unexpected(&format!("an order that was to be {how}")))
    }
}

/// Places new orders, and remembers their keys.
pub(crate) struct Placer {
    pub(crate) client: Client,
    pub(crate) keys: Vec<Uuid>,
}

impl Worker for Placer {
    async fn once(&mut self) -> Result<(), Trouble> {
        let key = Uuid::new_v4();
        self.client.expect(&key.to_string(), "executed").await?;
        self.keys.push(key);
        Ok(())
    }
}

/// Sends again what was placed before.
pub(crate) struct Replayer {
    pub(crate) client: Client,
    pub(crate) keys: Arc<Vec<Uuid>>,
    pub(crate) next: usize,
}

impl Worker for Replayer {
    async fn once(&mut self) -> Result<(), Trouble> {
        let key = self.keys.get(self.next % self.keys.len().max(1)).copied().unwrap_or_default();
        self.next += 1;
        self.client.expect(&key.to_string(), "replayed").await
    }
}
