//! `/v1/payment_intents`.

use actix_web::{HttpRequest, get, post, web};

use crate::api::call::Call;
use crate::api::{Reply, id, query, reply, withheld};
use crate::error::{Failure, Refusal};
use crate::intents::{CancelIntent, CreateIntent};
use crate::keys::Answer;
use crate::objects;
use crate::page::Page;
use crate::processor::Processor;
use crate::store::intents;

/// Creates an intent, and charges it if it is confirmed at once.
#[post("/payment_intents")]
pub(crate) async fn create(processor: web::Data<Processor>, call: Call) -> Reply {
    let wish = CreateIntent::read(call.form)?;
    let card = wish.card();
    let executed = processor.execute(call.stamp, wish).await?;
    let charged = card.is_some() && executed.answer.status().is_success() && !executed.replayed;
    if charged && processor.faults.withholds_reply(card) {
        tracing::warn!("a charge was made, and its answer is withheld as a test asked");
        return Ok(withheld::response());
    }
    Ok(reply(executed))
}

/// One intent.
#[get("/payment_intents/{id}")]
pub(crate) async fn retrieve(
    processor: web::Data<Processor>,
    path: web::Path<String>,
    request: HttpRequest,
) -> Reply {
    query(&request)?.finish()?;
    let id = id(path, "payment_intent", "intent")?;
    let database = processor.database.clone();
    let asked = id.clone();
    let found = async move { intents::find(&mut database.connection().await?, &asked).await };
    match processor.database.detach(found).await?? {
        Some(intent) => Ok(Answer::ok(&objects::payment_intent(&intent)).into_response()),
        None => Err(Refusal::not_found("payment_intent", &id, "intent").into()),
    }
}

/// Intents, newest first, in pages.
#[get("/payment_intents")]
pub(crate) async fn list(processor: web::Data<Processor>, request: HttpRequest) -> Reply {
    let mut form = query(&request)?;
    let page = Page::read(&mut form)?;
    form.finish()?;
    let database = processor.database.clone();
    let listed = async move {
        let mut connection = database.connection().await?;
        let after = match &page.starting_after {
            None => None,
            Some(id) => match intents::position(&mut connection, id).await? {
                None => return Err(Refusal::no_such("payment_intent", id, "starting_after").into()),
                after => after,
            },
        };
        let rows = intents::list(&mut connection, &page, after).await?;
        Ok::<_, Failure>(page.of("/v1/payment_intents", &rows, objects::payment_intent))
    };
    Ok(Answer::ok(&processor.database.detach(listed).await??).into_response())
}

/// Ends an intent that has not been charged.
#[post("/payment_intents/{id}/cancel")]
pub(crate) async fn cancel(processor: web::Data<Processor>, path: web::Path<String>, call: Call) -> Reply {
    let wish = CancelIntent::read(id(path, "payment_intent", "intent")?, call.form)?;
    Ok(reply(processor.execute(call.stamp, wish).await?))
}
