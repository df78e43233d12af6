//! Reading one object, or a page of a list; with whole objects in the place of ids, where the client wants them.

use actix_web::{HttpRequest, web};
use database::Tx;

use crate::api::resources::{Listed, Resource};
use crate::api::{Reply, id, query};
use crate::keys::Answer;
use crate::processor::Processor;
use crate::protocol::page::{Cursor, From, list as list_object};
use crate::protocol::{Expand, Failure, Page, Refusal};

/// One object.
pub(crate) async fn retrieve<R: Resource>(
    processor: web::Data<Processor>,
    path: web::Path<String>,
    request: HttpRequest,
) -> Reply {
    let mut form = query(&request)?;
    let expand = Expand::read(&mut form)?;
    form.finish()?;
    let id = id(path, R::NAME, R::PARAM)?;
    let database = processor.database.clone();
    let read = async move {
        let mut tx = database.begin().await?;
        let Some(object) = R::find(&mut tx, &id).await? else {
            return Err(Failure::from(Refusal::not_found(R::NAME, &id, R::PARAM)));
        };
        let mut object = [object];
        expand.apply(&mut tx, &mut object).await?;
        tx.rollback().await?;
        Ok(Answer::ok(&object[0]))
    };
    Ok(processor.database.detach(read).await??.into_response())
}

/// A page, newest first.
pub(crate) async fn list<R: Listed>(processor: web::Data<Processor>, request: HttpRequest) -> Reply {
    let mut form = query(&request)?;
    let page = Page::read(&mut form)?;
    let filter = match R::FILTER {
        Some(name) => form.text(name)?,
        None => None,
    };
    let expand = Expand::read_for_list(&mut form)?;
    form.finish()?;
    let database = processor.database.clone();
    let read = async move {
        let mut tx = database.begin().await?;
        let from = from::<R>(&mut tx, page.cursor.as_ref()).await?;
        let found = R::page(&mut tx, &page, from, filter.as_deref()).await?;
        let (mut objects, has_more) = page.cut(from, found);
        expand.apply(&mut tx, &mut objects).await?;
        tx.rollback().await?;
        Ok::<_, Failure>(Answer::ok(&list_object(R::URL, &objects, has_more)))
    };
    Ok(processor.database.detach(read).await??.into_response())
}

async fn from<R: Listed>(tx: &mut Tx, cursor: Option<&Cursor>) -> Result<From, Failure> {
    let (id, param) = match cursor {
        None => return Ok(From::Top),
        Some(Cursor::After(id)) => (id, "starting_after"),
        Some(Cursor::Before(id)) => (id, "ending_before"),
    };
    match (R::position(tx, id).await?, cursor) {
        (None, _) => Err(Refusal::no_such(R::NAME, id, param).into()),
        (Some(at), Some(Cursor::Before(_))) => Ok(From::Above(at)),
        (Some(at), _) => Ok(From::Below(at)),
    }
}
