//! The parcel of an order: created once, and completed once.

use harness::{Part, Request, Result, until};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::clients::concurrently;
use crate::demo::{Demo, LIMIT};
use crate::report::Step;
use crate::steps::Run;
use crate::steps::of_services::ServiceSide;

const PARCELS: Part = Part::of("parcels");
const TIMES: usize = 20;
const HINT: &str = "./dev logs parcels";

/// The side of parcels.
pub(crate) struct Side;

impl ServiceSide for Side {
    async fn steps(run: &mut Run<'_, '_, '_>) {
        let demo = run.demo;
        run.step("A parcel, completed 20 times at once", async |step| completed(demo, step).await).await;
    }
}

/// The same completion 20 times at once: it takes effect once.
async fn completed(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    let order = demo.ends(demo.order_tea("parcel").await?.id).await?;
    let parcel = parcel_of(demo, order.id).await?;
    step.equal("the first status", "open", parcel["status"].as_str().unwrap_or_default(), HINT);

    let path = format!("/v1/parcels/{}/complete", parcel["id"].as_str().unwrap_or_default());
    let request = Request::post(PARCELS, path, &json!({ "note": "by Ada" }));
    let api = demo.with_connections(TIMES, PARCELS, "/v1/parcels?limit=1").await?;
    let received = concurrently(TIMES, async || api.send(&request).await).await?;
    let completed = received.iter().filter(|(response, _)| response.status == 200).count();
    let replays = received.iter().filter(|(response, _)| response.is_replay()).count();
    step.equal("responses with 200", TIMES, completed, HINT);
    step.equal("replayed responses", TIMES - 1, replays, HINT);

    let parcel = parcel_of(demo, order.id).await?;
    let status = parcel["status"].as_str().unwrap_or_default();
    step.equal("the last status", "completed", status, HINT);
    step.figure(format!("{status}, with {replays} replays"));
    Ok(())
}

/// The parcel of an order, once it is in the list.
async fn parcel_of(demo: &Demo<'_>, order: Uuid) -> Result<Value> {
    until(format!("order {order} has one parcel"), LIMIT, HINT, async || {
        let list: Value = demo.api.get(PARCELS, "/v1/parcels?limit=100").await?.read(200)?;
        let mut found: Vec<Value> = list["data"].as_array().cloned().unwrap_or_default();
        found.retain(|parcel| parcel["order_id"] == json!(order));
        let count = found.len();
        Ok(found.pop().filter(|_| count == 1).ok_or_else(|| format!("{count} parcels")))
    })
    .await
}
