//! Charges at the stand-in for the processor, without payments.

use std::time::Duration;

use harness::{Error, Part, Request, Result};
use serde_json::Value;
use uuid::Uuid;

use crate::load::Connection;
use crate::subjects::stack::Stack;

/// An open connection that charges the cards of new references.
pub(super) struct Charger(Connection);

impl Charger {
    pub(super) async fn open(stack: &Stack<'_>) -> Result<Self> {
        Ok(Self(Connection::open(stack.endpoint(Part::PROVIDER)?, "sk_test_bench").await?))
    }

    /// Sends one charge as payments does. Returns the time to its response.
    pub(super) async fn charge(&mut self) -> Result<Duration> {
        let id = Uuid::now_v7();
        let body = format!(
            "amount=900&currency=eur&payment_method=pm_card_visa&payment_method_types%5B%5D=card&confirm=true\
             &off_session=true&error_on_requires_action=true&metadata%5Breference%5D={id}\
             &metadata%5Bdeployment%5D=bench&expand%5B%5D=latest_charge.balance_transaction"
        );
        let request = Request::post(Part::PROVIDER, "/v1/payment_intents", &Value::Null)
            .with_key(format!("idem-{id}-capture"))
            .with_header("content-type", "application/x-www-form-urlencoded");
        let response = self.0.send(&Request { body: Some(body), ..request }).await?;
        if response.status != 200 {
            return Err(Error::unexpected(&response, 200));
        }
        Ok(response.took)
    }
}
