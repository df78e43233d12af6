//! The stand-in for the processor, as tests arrange it: what goes wrong there.

use serde_json::{Value, json};
use testkit::http;

use crate::Stack;

impl Stack {
    /// Sets these faults of the processor in the place of those before.
    pub async fn faults(&self, rules: Value) {
        let url = format!("{}/_faults", self.address("provider"));
        let set = http::client().post(url).json(&json!({ "rules": rules })).send().await.unwrap();
        assert_eq!(set.status(), 200, "{}", set.text().await.unwrap());
    }

    /// How often a fault has bitten since the first was set.
    pub async fn bites(&self, kind: &str) -> u64 {
        let shown = http::client().get(format!("{}/_faults", self.address("provider"))).send().await.unwrap();
        shown.json::<Value>().await.unwrap()["bites"][kind].as_u64().unwrap()
    }

    /// Captured and refunded minor units, by the processor's own books.
    pub async fn taken_and_returned(&self) -> (i64, i64) {
        let captured = "SELECT coalesce(sum(amount_captured), 0)::bigint AS count FROM charge";
        let refunded =
            "SELECT coalesce(sum(amount), 0)::bigint AS count FROM refund WHERE status = 'succeeded'";
        (self.count("provider", captured).await, self.count("provider", refunded).await)
    }
}
