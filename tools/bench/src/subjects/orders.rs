//! Clients of orders, each with one connection: they place orders, or replay the keys of placed orders.

use std::sync::Arc;

use harness::orders::place_order;
use harness::{Context, Endpoint, Error, Part, Request, Response, Result};
use uuid::Uuid;

use crate::environment::{Environment, Session, TENANT};
use crate::load::{Connection, Worker};

/// Puts the item of the orders into the catalogue, without inventory.
pub(crate) async fn stock_catalogue(owner: &Session) -> Result<()> {
    let insert = "INSERT INTO catalogue_item (tenant_id, sku, item_id, name, unit_price, currency, version) \
                  VALUES ($1, 'TEA', gen_random_uuid(), 'TEA', 450, 'EUR', 1)";
    owner.execute(insert, &[&TENANT]).await.context("put an item into the catalogue").map(drop)
}

/// A client of a service.
pub(crate) struct Client {
    connection: Connection,
    order: Request,
}

impl Client {
    pub(crate) async fn open(environment: &Environment, part: Part, address: &str) -> Result<Self> {
        let endpoint = Endpoint { instance: part.instance(1), address: address.to_owned() };
        let connection = Connection::open(endpoint, environment.token()).await?;
        Ok(Self { connection, order: place_order(&[("TEA", 2)], "") })
    }

    /// Sends any request.
    pub(crate) async fn send(&mut self, request: &Request) -> Result<Response> {
        self.connection.send(request).await
    }

    /// Places the order under this key.
    pub(crate) async fn place(&mut self, key: Uuid) -> Result<Response> {
        self.order.key = Some(key.to_string());
        self.connection.send(&self.order).await
    }

    /// Fails unless the response has this `Idempotency-Status`.
    async fn place_expecting(&mut self, key: Uuid, status: &str) -> Result<()> {
        let response = self.place(key).await?;
        if response.status == 201 && response.header("Idempotency-Status") == Some(status) {
            return Ok(());
        }
        Err(Error::unexpected(&response, 201))
    }
}

/// Places new orders, and keeps their keys.
pub(crate) struct Placer {
    client: Client,
    keys: Vec<Uuid>,
}

impl Placer {
    /// So many connections to orders.
    pub(crate) async fn open(
        environment: &Environment,
        address: &str,
        connections: usize,
    ) -> Result<Vec<Self>> {
        let mut placers = Vec::new();
        for _ in 0..connections {
            let client = Client::open(environment, Part::ORDERS, address).await?;
            placers.push(Self { client, keys: Vec::new() });
        }
        Ok(placers)
    }
}

impl Worker for Placer {
    async fn once(&mut self) -> Result<()> {
        let key = Uuid::new_v4();
        self.client.place_expecting(key, "executed").await?;
        self.keys.push(key);
        Ok(())
    }
}

/// Replays the keys of placed orders.
pub(crate) struct Replayer {
    client: Client,
    keys: Arc<Vec<Uuid>>,
    next: usize,
}

impl Replayer {
    /// The most keys that are replayed: enough to spread over many pages of the table.
    const KEYS: usize = 20_000;

    /// The placers' connections, which now replay the keys of all of them, each from another key on.
    pub(crate) fn after(placers: Vec<Placer>) -> Vec<Self> {
        let (clients, keys): (Vec<Client>, Vec<Vec<Uuid>>) =
            placers.into_iter().map(|placer| (placer.client, placer.keys)).unzip();
        let keys: Arc<Vec<Uuid>> = Arc::new(keys.into_iter().flatten().take(Self::KEYS).collect());
        let apart = keys.len() / clients.len().max(1);
        let replayers = clients.into_iter().enumerate();
        replayers
            .map(|(number, client)| Self { client, keys: Arc::clone(&keys), next: number * apart })
            .collect()
    }
}

impl Worker for Replayer {
    async fn once(&mut self) -> Result<()> {
        let key = self.keys.get(self.next % self.keys.len().max(1)).copied().unwrap_or_default();
        self.next += 1;
        self.client.place_expecting(key, "replayed").await
    }
}
