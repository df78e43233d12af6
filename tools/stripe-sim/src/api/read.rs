//! The GET handlers: one object, or a page of a list, newest first.

use actix_web::HttpRequest;
use actix_web::web::{Data, Path};
use database::Tx;
use serde_json::{Value, json};

use super::{Reply, unrecognized};
use crate::keys::Response;
use crate::objects;
use crate::processor::Processor;
use crate::protocol::{ApiError, Error, Form, Page};
use crate::store::intents::Intent;
use crate::store::{balance, charges, events, intents, refunds};

/// A kind of object, by the word in its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Objects {
    Intents,
    Refunds,
    Events,
}

impl Objects {
    fn of(path: &str) -> Option<Self> {
        Some(match path {
            "payment_intents" => Self::Intents,
            "refunds" => Self::Refunds,
            "events" => Self::Events,
            _ => return None,
        })
    }

    /// Its name in error messages, and the parameter that an error about its id names.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Intents => ("payment_intent", "intent"),
            Self::Refunds => ("refund", "refund"),
            Self::Events => ("event", "id"),
        }
    }

    async fn find(self, tx: &mut Tx, id: &str, expand: bool) -> database::Result<Option<Value>> {
        Ok(match self {
            Self::Intents => match intents::find(tx, id).await? {
                Some(intent) if expand => Some(expanded(tx, &intent).await?),
                intent => intent.as_ref().map(objects::payment_intent),
            },
            Self::Refunds => refunds::find(tx, id).await?.as_ref().map(objects::refund),
            Self::Events => events::find(tx, id).await?.as_ref().map(objects::event),
        })
    }

    /// The parameter that narrows the list.
    fn filter(self) -> Option<&'static str> {
        match self {
            Self::Refunds => Some("payment_intent"),
            Self::Events => Some("type"),
            Self::Intents => None,
        }
    }

    /// The position of an object in its list.
    async fn position(self, tx: &mut Tx, id: &str) -> database::Result<Option<i64>> {
        match self {
            Self::Intents => intents::position(tx, id).await,
            Self::Refunds => refunds::position(tx, id).await,
            Self::Events => events::position(tx, id).await,
        }
    }

    /// The objects below the position, and one more than the page holds if there is one.
    async fn list(
        self,
        tx: &mut Tx,
        page: &Page,
        below: i64,
        filter: Option<&str>,
    ) -> database::Result<Vec<Value>> {
        Ok(match self {
            Self::Intents => {
                intents::list(tx, page, below).await?.iter().map(objects::payment_intent).collect()
            }
            Self::Refunds => {
                refunds::list(tx, page, below, filter).await?.iter().map(objects::refund).collect()
            }
            Self::Events => events::list(tx, page, below, filter).await?.iter().map(objects::event).collect(),
        })
    }
}

pub(super) async fn retrieve(
    processor: Data<Processor>,
    path: Path<(String, String)>,
    request: HttpRequest,
) -> Reply {
    let (objects, id) = path.into_inner();
    let Some(objects) = Objects::of(&objects) else { return unrecognized(request).await };
    let mut form = Form::parse(request.query_string().as_bytes())?;
    let expand = objects == Objects::Intents && form.expand()?;
    form.finish()?;
    let database = processor.database.clone();
    let read = async move {
        let mut tx = database.begin().await?;
        // PostgreSQL cannot store NUL, so an id with NUL does not exist.
        let object = if id.contains('\0') { None } else { objects.find(&mut tx, &id, expand).await? };
        tx.rollback().await?;
        let (name, param) = objects.names();
        let object = object.ok_or_else(|| ApiError::not_found(name, &id, param))?;
        Ok::<_, Error>(Response::ok(&object))
    };
    Ok(processor.database.detach(read).await??.into_http())
}

pub(super) async fn list(processor: Data<Processor>, path: Path<String>, request: HttpRequest) -> Reply {
    let Some(objects) = Objects::of(&path) else { return unrecognized(request).await };
    let mut form = Form::parse(request.query_string().as_bytes())?;
    let page = Page::read(&mut form)?;
    let filter = match objects.filter() {
        Some(name) => form.text(name)?,
        None => None,
    };
    form.finish()?;
    let (database, url) = (processor.database.clone(), request.path().to_owned());
    let read = async move {
        let mut tx = database.begin().await?;
        let below = match &page.starting_after {
            None => i64::MAX,
            Some(id) => {
                let position = objects.position(&mut tx, id).await?;
                position.ok_or_else(|| ApiError::no_such(objects.names().0, id, "starting_after"))?
            }
        };
        let rows = objects.list(&mut tx, &page, below, filter.as_deref()).await?;
        tx.rollback().await?;
        let (data, has_more) = page.cut(rows);
        let list = json!({ "object": "list", "url": url, "has_more": has_more, "data": data });
        Ok::<_, Error>(Response::ok(&list))
    };
    Ok(processor.database.detach(read).await??.into_http())
}

async fn expanded(tx: &mut Tx, intent: &Intent) -> database::Result<Value> {
    let charge = match &intent.latest_charge {
        Some(id) => charges::find(tx, id).await?,
        None => None,
    };
    let movement = match charge.as_ref().and_then(|charge| charge.balance_transaction.as_deref()) {
        Some(id) => balance::find(tx, id).await?,
        None => None,
    };
    Ok(objects::expanded_payment_intent(intent, charge.as_ref(), movement.as_ref()))
}
