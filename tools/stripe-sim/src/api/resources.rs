//! What can be read: each kind of object with its name, its place and its queries.

use std::future::Future;

use database::{Result, Tx};
use serde_json::Value;

use crate::objects;
use crate::protocol::Page;
use crate::protocol::page::From;
use crate::store::{balance, charges, events, intents, refunds};

/// A kind of object.
pub(crate) trait Resource: 'static {
    /// What refusals call it.
    const NAME: &'static str;
    /// The parameter that a refusal of its id names.
    const PARAM: &'static str = "id";

    /// One of them.
    fn find(tx: &mut Tx, id: &str) -> impl Future<Output = Result<Option<Value>>> + Send;
}

/// A kind of object that can be listed.
pub(crate) trait Listed: Resource {
    /// The path of the list.
    const URL: &'static str;
    /// The parameter that narrows it, beside those of every list.
    const FILTER: Option<&'static str> = None;

    /// Where an object stands in the list.
    fn position(tx: &mut Tx, id: &str) -> impl Future<Output = Result<Option<i64>>> + Send;

    /// One more than the page holds, if there is one.
    fn page(
        tx: &mut Tx,
        page: &Page,
        from: From,
        filter: Option<&str>,
    ) -> impl Future<Output = Result<Vec<Value>>> + Send;
}

pub(crate) struct Intents;
pub(crate) struct Refunds;
pub(crate) struct Charges;
pub(crate) struct BalanceTransactions;
pub(crate) struct Events;

impl Resource for Intents {
    const NAME: &'static str = "payment_intent";
    const PARAM: &'static str = "intent";

    async fn find(tx: &mut Tx, id: &str) -> Result<Option<Value>> {
        Ok(intents::find(tx, id).await?.as_ref().map(objects::payment_intent))
    }
}

impl Listed for Intents {
    const URL: &'static str = "/v1/payment_intents";

    async fn position(tx: &mut Tx, id: &str) -> Result<Option<i64>> {
        intents::position(tx, id).await
    }

    async fn page(tx: &mut Tx, page: &Page, from: From, _filter: Option<&str>) -> Result<Vec<Value>> {
        Ok(intents::list(tx, page, from).await?.iter().map(objects::payment_intent).collect())
    }
}

impl Resource for Refunds {
    const NAME: &'static str = "refund";
    const PARAM: &'static str = "refund";

    async fn find(tx: &mut Tx, id: &str) -> Result<Option<Value>> {
        Ok(refunds::find(tx, id).await?.as_ref().map(objects::refund))
    }
}

impl Listed for Refunds {
    const URL: &'static str = "/v1/refunds";
    const FILTER: Option<&'static str> = Some("payment_intent");

    async fn position(tx: &mut Tx, id: &str) -> Result<Option<i64>> {
        refunds::position(tx, id).await
    }

    async fn page(tx: &mut Tx, page: &Page, from: From, intent: Option<&str>) -> Result<Vec<Value>> {
        Ok(refunds::list(tx, page, from, intent).await?.iter().map(objects::refund).collect())
    }
}

impl Resource for Charges {
    const NAME: &'static str = "charge";

    async fn find(tx: &mut Tx, id: &str) -> Result<Option<Value>> {
        Ok(charges::find(tx, id).await?.as_ref().map(objects::charge))
    }
}

impl Resource for BalanceTransactions {
    const NAME: &'static str = "balance transaction";

    async fn find(tx: &mut Tx, id: &str) -> Result<Option<Value>> {
        Ok(balance::find(tx, id).await?.as_ref().map(objects::balance_transaction))
    }
}

impl Resource for Events {
    const NAME: &'static str = "event";

    async fn find(tx: &mut Tx, id: &str) -> Result<Option<Value>> {
        Ok(events::find(tx, id).await?.as_ref().map(objects::event))
    }
}

impl Listed for Events {
    const URL: &'static str = "/v1/events";
    const FILTER: Option<&'static str> = Some("type");

    async fn position(tx: &mut Tx, id: &str) -> Result<Option<i64>> {
        events::position(tx, id).await
    }

    async fn page(tx: &mut Tx, page: &Page, from: From, kind: Option<&str>) -> Result<Vec<Value>> {
        Ok(events::list(tx, page, from, kind).await?.iter().map(objects::event).collect())
    }
}
