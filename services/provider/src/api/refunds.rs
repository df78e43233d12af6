//! `/v1/refunds`.

use actix_web::{HttpRequest, get, post, web};

use crate::api::call::Call;
use crate::api::{Reply, id, query, reply};
use crate::error::{Failure, Refusal};
use crate::keys::Answer;
use crate::objects;
use crate::page::Page;
use crate::processor::Processor;
use crate::refunds::CreateRefund;
use crate::store::refunds;

/// Gives money back.
#[post("/refunds")]
pub(crate) async fn create(processor: web::Data<Processor>, call: Call) -> Reply {
    let wish = CreateRefund::read(call.form)?;
    Ok(reply(processor.execute(call.stamp, wish).await?))
}

/// One refund.
#[get("/refunds/{id}")]
pub(crate) async fn retrieve(
    processor: web::Data<Processor>,
    path: web::Path<String>,
    request: HttpRequest,
) -> Reply {
    query(&request)?.finish()?;
    let id = id(path, "refund", "refund")?;
    let database = processor.database.clone();
    let asked = id.clone();
    let found = async move { refunds::find(&mut database.connection().await?, &asked).await };
    match processor.database.detach(found).await?? {
        Some(refund) => Ok(Answer::ok(&objects::refund(&refund)).into_response()),
        None => Err(Refusal::not_found("refund", &id, "refund").into()),
    }
}

/// Refunds, of one intent or of all, newest first, in pages.
#[get("/refunds")]
pub(crate) async fn list(processor: web::Data<Processor>, request: HttpRequest) -> Reply {
    let mut form = query(&request)?;
    let page = Page::read(&mut form)?;
    let intent = form.text("payment_intent")?;
    form.finish()?;
    let database = processor.database.clone();
    let listed = async move {
        let mut connection = database.connection().await?;
        let after = match &page.starting_after {
            None => None,
            Some(id) => match refunds::position(&mut connection, id).await? {
                None => return Err(Refusal::no_such("refund", id, "starting_after").into()),
                after => after,
            },
        };
        let rows = refunds::list(&mut connection, &page, after, intent.as_deref()).await?;
        Ok::<_, Failure>(page.of("/v1/refunds", &rows, objects::refund))
    };
    Ok(Answer::ok(&processor.database.detach(listed).await??).into_response())
}
