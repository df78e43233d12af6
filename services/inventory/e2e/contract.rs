//! The responses of inventory: items, stock and what its rules refuse.

use contracts::{Currency, Money};
use diesel_async::SimpleAsyncConnection;
use e2e::{Part, Stack};
use harness::Request;
use harness::inventory::{adjust_stock, put_item};

use super::ServiceSide;
use crate::recorder::Recorder;

/// The contract of inventory.
pub(crate) struct Side;

impl ServiceSide for Side {
    const WRITTEN_WITHOUT_KEY: Option<&'static str> = Some("UPDATE ON item");

    async fn responses(stack: &Stack, recorder: &mut Recorder<'_>) {
        let price = |amount| Money::new(amount, Currency::Eur);
        let tea = put_item("TEA", "Sencha, 100 g", price(450));
        recorder.gets(201, "", &tea).await;
        let cheaper = put_item("TEA", "Sencha, 100 g", price(420));
        recorder.gets(200, "", &cheaper).await;
        recorder.gets(200, "", &tea).await;
        recorder.gets(412, "precondition-failed", &cheaper.with_header("If-Match", "\"1\"")).await;
        recorder.gets(404, "not-found", &put_item("two%20words", "Sencha", price(450))).await;
        recorder.gets(201, "", &put_item("CUP", "Cup", Money::new(990, Currency::Usd))).await;
        recorder.gets(201, "", &put_item("HOUSE", "House", price(900_000_000_000))).await;

        let stock = adjust_stock("TEA", 100);
        recorder.gets(201, "", &stock).await;
        recorder.gets(409, "stock-insufficient", &adjust_stock("TEA", -500)).await;
        let full = "UPDATE item SET on_hand = 1000000000000 WHERE sku = 'HOUSE'";
        stack.database(Part::INVENTORY).owner().await.batch_execute(full).await.unwrap();
        recorder.gets(422, "stock-limit", &adjust_stock("HOUSE", 1)).await;
        recorder.gets(404, "not-found", &adjust_stock("COFFEE", 1)).await;

        let get = |path: &str| Request::get(Part::INVENTORY, path);
        recorder.gets(200, "", &get("/v1/items/TEA")).await;
        recorder.gets(404, "not-found", &get("/v1/items/COFFEE")).await;
        recorder.gets(200, "", &get("/v1/items?limit=2")).await;
        recorder.gets(400, "request-invalid", &get("/v1/items?limit=0")).await;
        recorder.gets(404, "not-found", &get("/v1/items?cursor=made-up")).await;
        recorder.gets(404, "not-found", &get("/v1/reservations/0193f0c0-0000-7000-8000-000000000000")).await;
        let key = stock.key.unwrap();
        recorder.gets(200, "", &get(&format!("/v1/idempotency-keys/{key}"))).await;
    }
}
