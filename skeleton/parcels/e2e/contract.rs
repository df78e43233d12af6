//! The responses of parcels.

use e2e::{Part, Stack};
use harness::Request;
use serde_json::json;
use uuid::Uuid;

use super::ServiceSide;
use crate::recorder::Recorder;

const PARCELS: Part = Part::of("parcels");

/// The contract of parcels.
pub(crate) struct Side;

impl ServiceSide for Side {
    async fn responses(stack: &Stack, recorder: &mut Recorder<'_>) {
        let order = recorder.customer.places(1).await;
        recorder.customer.sees(order, "confirmed").await;
        stack.settled().await;
        let list = Request::get(PARCELS, "/v1/parcels?limit=1");
        let listed = recorder.gets(200, "", &list).await.json();
        recorder.gets(400, "request-invalid", &Request::get(PARCELS, "/v1/parcels?limit=0")).await;
        recorder.gets(404, "not-found", &Request::get(PARCELS, "/v1/parcels?cursor=made-up")).await;
        let parcel: Uuid = listed["data"][0]["id"].as_str().and_then(|id| id.parse().ok()).expect("a parcel");
        let complete = |parcel: Uuid| {
            let body = json!({ "note": "by Ada" });
            Request::post(PARCELS, format!("/v1/parcels/{parcel}/complete"), &body)
        };
        let completed = complete(parcel);
        recorder.gets(200, "", &completed).await;
        recorder.gets(409, "parcel-completed", &complete(parcel)).await;
        recorder
            .gets(404, "not-found", &complete(Uuid::from_u128(0x0193_f0c0_0000_7000_8000_0000_0000_0000)))
            .await;
        let key = completed.key.unwrap();
        recorder.gets(200, "", &Request::get(PARCELS, format!("/v1/idempotency-keys/{key}"))).await;
        stack.at_rest().await;
    }
}
