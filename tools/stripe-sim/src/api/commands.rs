//! The POST handlers of payment intents and refunds.

use actix_web::HttpResponse;
use actix_web::http::header::HeaderValue;
use actix_web::web::{Data, Path};

use super::call::Call;
use super::{REPLAYED, Reply, body};
use crate::operations::cancel::CancelIntent;
use crate::operations::capture::CaptureIntent;
use crate::operations::cards::Card;
use crate::operations::create::CreateIntent;
use crate::operations::refund::CreateRefund;
use crate::processor::{Command, Executed, Processor, RequestContext};
use crate::protocol::ApiError;

pub(super) async fn create(processor: Data<Processor>, call: Call) -> Reply {
    let command = CreateIntent::read(call.form)?;
    execute(&processor, call.context, command).await
}

pub(super) async fn capture(processor: Data<Processor>, path: Path<String>, call: Call) -> Reply {
    let command = CaptureIntent::read(intent_id(path)?, call.form)?;
    execute(&processor, call.context, command).await
}

pub(super) async fn cancel(processor: Data<Processor>, path: Path<String>, call: Call) -> Reply {
    let command = CancelIntent::read(intent_id(path)?, call.form)?;
    execute(&processor, call.context, command).await
}

pub(super) async fn refund(processor: Data<Processor>, call: Call) -> Reply {
    let command = CreateRefund::read(call.form)?;
    execute(&processor, call.context, command).await
}

/// The id in the path. PostgreSQL cannot store NUL, so an id with NUL does not exist.
fn intent_id(path: Path<String>) -> Result<String, ApiError> {
    let id = path.into_inner();
    if id.contains('\0') { Err(ApiError::not_found("payment_intent", &id, "intent")) } else { Ok(id) }
}

async fn execute<C: Command>(processor: &Data<Processor>, context: RequestContext, command: C) -> Reply {
    let card = command.card();
    let Executed { response, replayed } = processor.execute(context, command).await?;
    if card == Some(Card::ChargesWithoutReply) && response.status().is_success() && !replayed {
        processor.faults.count_card_without_reply();
        tracing::warn!("the card was charged, and its response is dropped, as the test card asks");
        return Ok(body::dropped());
    }
    let mut http: HttpResponse = response.into_http();
    if replayed {
        http.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(http)
}
