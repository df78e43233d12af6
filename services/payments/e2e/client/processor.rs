//! The stand-in for the processor: its objects, its events, and its injected faults.

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{Api, Part, Request, Result};

const FAULTS: &str = "/_faults";

impl Api<'_> {
    /// A read of the processor.
    pub async fn ask_processor(&self, path: &str) -> Result<Value> {
        self.get(Part::PROVIDER, path).await?.read(200)
    }

    /// Replaces the faults of the processor by these rules.
    pub async fn set_faults(&self, rules: &Value) -> Result<()> {
        let request = Request::post(Part::PROVIDER, FAULTS, &json!({ "rules": rules })).without_key();
        self.send(&request).await?.read::<Value>(200).map(drop)
    }

    /// Removes all faults and their counters.
    pub async fn clear_faults(&self) -> Result<()> {
        let request = Request { method: Method::DELETE, ..Request::get(Part::PROVIDER, FAULTS) };
        self.send(&request).await?.read::<Value>(200).map(drop)
    }

    /// Returns how often a fault, or a test card that acts as one, has taken effect.
    pub async fn fault_count(&self, fault: &str) -> Result<i64> {
        let faults = self.ask_processor(FAULTS).await?;
        Ok(faults["bites"][fault].as_i64().unwrap_or_default())
    }

    /// The processor's own event of this type about a payment.
    pub async fn find_event(&self, kind: &str, payment: Uuid) -> Result<Option<Value>> {
        let list = self.ask_processor(&format!("/v1/events?type={kind}&limit=100")).await?;
        let is_about_it = |event: &&Value| {
            event["data"]["object"]["metadata"]["reference"].as_str() == Some(&payment.to_string())
        };
        Ok(list["data"].as_array().into_iter().flatten().find(is_about_it).cloned())
    }
}
