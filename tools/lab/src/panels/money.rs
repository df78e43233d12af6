//! Our ledger, and the processor's own books.

use std::collections::BTreeSet;

use harness::Result;
use harness::payments::Account;
use serde::Serialize;
use serde_json::Value;

use crate::lab::Lab;

/// The accounts of the lab's tenant.
#[derive(Debug, Serialize)]
pub(crate) struct Ledger {
    accounts: Vec<Account>,
    /// The sum of all balances, in minor units of EUR. It is 0 if the ledger is right.
    sum: i64,
}

/// The processor's entries about the latest hundred orders of the tenant, in minor units.
#[derive(Debug, Serialize)]
pub(crate) struct ChargeTotals {
    /// The payments of these orders.
    payments: usize,
    /// Charges that succeeded: at most one for each payment.
    charges: usize,
    captured: i64,
    refunds: usize,
    refunded: i64,
}

pub(super) async fn ledger(lab: &Lab) -> Result<Ledger> {
    let accounts = lab.api.accounts().await?;
    let sum = accounts.iter().map(|account| account.balance).sum();
    Ok(Ledger { accounts, sum })
}

pub(super) async fn charges(lab: &Lab, payments: &BTreeSet<String>) -> Result<ChargeTotals> {
    let intents = list(lab, "payment_intents").await?;
    let own = intents.iter().filter(|intent| {
        let reference = intent["metadata"]["reference"].as_str();
        reference.is_some_and(|reference| payments.contains(reference)) && intent["status"] == "succeeded"
    });
    let own: Vec<&Value> = own.collect();
    let ids: BTreeSet<&str> = own.iter().filter_map(|intent| intent["id"].as_str()).collect();
    let refunds = list(lab, "refunds").await?;
    let refunds = refunds.iter().filter(|refund| {
        refund["payment_intent"].as_str().is_some_and(|id| ids.contains(id))
            && refund["status"] == "succeeded"
    });
    let refunded: Vec<i64> = refunds.filter_map(|refund| refund["amount"].as_i64()).collect();
    Ok(ChargeTotals {
        payments: payments.len(),
        charges: own.len(),
        captured: own.iter().filter_map(|intent| intent["amount_received"].as_i64()).sum(),
        refunds: refunded.len(),
        refunded: refunded.iter().sum(),
    })
}

async fn list(lab: &Lab, objects: &str) -> Result<Vec<Value>> {
    let page = lab.api.ask_processor(&format!("/v1/{objects}?limit=100")).await?;
    Ok(page["data"].as_array().cloned().unwrap_or_default())
}
