//! `GET /events`: the state as server-sent events, whenever it has changed, twice a second at most.

use std::convert::Infallible;
use std::time::Duration;

use actix_web::web::{Bytes, Data};
use actix_web::{HttpResponse, get};
use futures_util::stream::unfold;
use tokio::time::{sleep, timeout};

use super::PageData;

/// The least time between two events.
const LEAST: Duration = Duration::from_millis(500);
/// How much longer an event waits for a change. The age of the audit changes without one.
const LONGER: Duration = Duration::from_millis(500);

#[get("/events")]
pub(super) async fn events(data: Data<PageData>) -> HttpResponse {
    let first = (data.state.subscribe(), true);
    let events = unfold(first, async |(mut state, is_first)| {
        if !is_first {
            sleep(LEAST).await;
            if let Ok(Err(_)) = timeout(LONGER, state.changed()).await {
                return None; // the program ends
            }
        }
        let json = serde_json::to_string(&*state.borrow_and_update()).unwrap_or_default();
        Some((Ok::<_, Infallible>(Bytes::from(format!("data: {json}\n\n"))), (state, false)))
    });
    HttpResponse::Ok().content_type("text/event-stream").streaming(events)
}
