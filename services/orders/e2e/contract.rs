//! The responses of orders: each end of an order, and what its rules refuse.

use e2e::{Part, Stack};
use harness::Request;
use harness::orders::{cancel_order, place_order};
use serde_json::json;
use uuid::Uuid;

use super::ServiceSide;
use crate::recorder::Recorder;

/// The contract of orders.
pub(crate) struct Side;

impl ServiceSide for Side {
    async fn responses(stack: &Stack, recorder: &mut Recorder<'_>) {
        stack.settled().await; // the catalogue has the prices of all items
        let get = |path: String| Request::get(Part::ORDERS, path);
        let order = place_order(&[("TEA", 2)], "invoice 17");
        let id = recorder.creates(&order).await;
        recorder.customer.sees(id, "confirmed").await;
        stack.settled().await;
        let path = format!("/v1/orders/{id}");
        let etag = recorder.gets(200, "", &get(path.clone())).await.header("etag").unwrap().to_owned();
        recorder.gets(304, "", &get(path.clone()).with_header("If-None-Match", etag)).await;
        recorder.gets(400, "request-invalid", &get(path.clone()).with_header("If-None-Match", "none")).await;
        recorder.gets(200, "", &get(format!("{path}/timeline"))).await;
        recorder.gets(409, "order-not-cancellable", &cancel_order(id)).await;

        let regretted = recorder.customer.places_with(1, "pm_card_idem_slow").await;
        // While the charge is in flight, so that the ledger always has it and its refund.
        recorder.customer.sees(regretted, "awaiting_payment").await;
        stack.counts(Part::PAYMENTS, "SELECT count(*) FROM payment WHERE state = 'capturing'", 1).await;
        let cancel = cancel_order(regretted);
        recorder.gets(200, "", &cancel).await;
        let otherwise = Request::post(Part::ORDERS, cancel.path, &json!({ "reason": "too late" }));
        recorder.gets(409, "order-cancelled-otherwise", &otherwise).await;

        let unknown = Uuid::from_u128(0x0193_f0c0_0000_7000_8000_0000_0000_0000);
        for path in [format!("/v1/orders/{unknown}"), format!("/v1/orders/{unknown}/timeline")] {
            recorder.gets(404, "not-found", &get(path)).await;
        }
        recorder.gets(404, "not-found", &cancel_order(unknown)).await;
        recorder.gets(200, "", &get("/v1/orders?limit=1&status=confirmed".to_owned())).await;
        recorder.gets(400, "request-invalid", &get("/v1/orders?limit=0".to_owned())).await;
        recorder.gets(404, "not-found", &get("/v1/orders?cursor=made-up".to_owned())).await;

        let place = |lines: &[(&str, i64)]| place_order(lines, "");
        recorder.gets(422, "item-unknown", &place(&[("COFFEE", 1)])).await;
        recorder.gets(422, "currency-mixed", &place(&[("TEA", 1), ("CUP", 1)])).await;
        recorder.gets(422, "total-too-large", &place(&[("HOUSE", 2)])).await;
        let shown = json!({
            "lines": [{ "sku": "TEA", "quantity": 2 }],
            "payment_method": "pm_card_visa",
            "expected_total": { "amount": 840, "currency": "EUR" },
        });
        recorder.gets(422, "price-changed", &Request::post(Part::ORDERS, "/v1/orders", &shown)).await;

        let tea = "/v1/catalogue/TEA".to_owned();
        let etag = recorder.gets(200, "", &get(tea.clone())).await.header("etag").unwrap().to_owned();
        recorder.gets(304, "", &get(tea.clone()).with_header("If-None-Match", etag)).await;
        recorder.gets(400, "request-invalid", &get(tea).with_header("If-None-Match", "none")).await;
        recorder.gets(404, "not-found", &get("/v1/catalogue/COFFEE".to_owned())).await;
        recorder.gets(200, "", &get(format!("/v1/idempotency-keys/{}", order.key.unwrap()))).await;

        let reservation = Request::get(Part::INVENTORY, format!("/v1/reservations/{id}"));
        let etag = recorder.gets(200, "", &reservation).await.header("etag").unwrap().to_owned();
        recorder.gets(304, "", &reservation.clone().with_header("If-None-Match", etag)).await;
        recorder.gets(400, "request-invalid", &reservation.with_header("If-None-Match", "none")).await;
        stack.at_rest().await;
    }
}
