//! The processor: its own answers, what it has told, and what shall go wrong there.

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Api, Request, commanding, getting};
use crate::part::Part;
use crate::trouble::Trouble;

impl Api<'_> {
    /// The processor's own answer.
    pub(crate) async fn ask_processor(&self, path: &str) -> Result<Value, Trouble> {
        self.get(Part::Provider, path).await?.read(200)
    }

    /// From now on these faults and no others bite at the processor; how its `/_faults` has them.
    pub(crate) async fn set_faults(&self, rules: &Value) -> Result<(), Trouble> {
        let body = json!({ "rules": rules }).to_string();
        self.ask(&commanding(Part::Provider, "/_faults", None, &body)).await?.read::<Value>(200).map(drop)
    }

    /// Nothing goes wrong there any more, and no bite is remembered.
    pub(crate) async fn end_faults(&self) -> Result<(), Trouble> {
        let request = Request { method: Method::DELETE, ..getting(Part::Provider, "/_faults") };
        self.ask(&request).await?.read::<Value>(200).map(drop)
    }

    /// How often a fault, or a test card that is one, has bitten.
    pub(crate) async fn bites(&self, fault: &str) -> Result<i64, Trouble> {
        let faults = self.ask_processor("/_faults").await?;
        Ok(faults["bites"][fault].as_i64().unwrap_or_default())
    }

    /// Where the processor tells what has happened.
    pub(crate) async fn listeners(&self) -> Result<Vec<String>, Trouble> {
        let listeners = self.ask_processor("/_webhooks").await?;
        let urls = listeners["endpoints"].as_array().into_iter().flatten();
        Ok(urls.filter_map(|url| url.as_str().map(str::to_owned)).collect())
    }

    /// The processor's own event of this type about a payment, if there is one.
    pub(crate) async fn event(&self, kind: &str, payment: Uuid) -> Result<Option<Value>, Trouble> {
        let list = self.ask_processor(&format!("/v1/events?type={kind}&limit=100")).await?;
        let is_its = |event: &&Value| {
            event["data"]["object"]["metadata"]["reference"].as_str() == Some(&payment.to_string())
        };
        Ok(list["data"].as_array().into_iter().flatten().find(is_its).cloned())
    }
}
