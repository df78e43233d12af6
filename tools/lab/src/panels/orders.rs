//! The latest orders of the lab's tenant.

use std::collections::BTreeSet;

use contracts::Money;
use harness::{Part, Result};
use serde::{Deserialize, Serialize};

use crate::lab::Lab;

/// How many orders one look reads, and how many of them the page shows.
const READ: usize = 100;
const SHOWN: usize = 8;

/// The latest hundred orders, the newest first.
#[derive(Debug, Serialize)]
pub(crate) struct Orders {
    latest: Vec<Order>,
    /// How many were read.
    read: usize,
    /// How many of these are neither confirmed nor cancelled.
    open: usize,
    #[serde(skip)]
    payments: BTreeSet<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Order {
    id: String,
    status: String,
    total: Money,
    placed_at: String,
    payment_id: Option<String>,
}

impl Orders {
    /// The ids of their payments.
    pub(super) fn payments(&self) -> BTreeSet<String> {
        self.payments.clone()
    }
}

pub(super) async fn read(lab: &Lab) -> Result<Orders> {
    #[derive(Deserialize)]
    struct Page {
        data: Vec<Order>,
    }
    let page = lab.api.get(Part::ORDERS, format!("/v1/orders?limit={READ}")).await?.read::<Page>(200)?;
    let mut latest = page.data;
    let is_open = |order: &&Order| matches!(order.status.as_str(), "pending" | "awaiting_payment");
    let (read, open) = (latest.len(), latest.iter().filter(is_open).count());
    let payments = latest.iter().filter_map(|order| order.payment_id.clone()).collect();
    latest.truncate(SHOWN);
    Ok(Orders { latest, read, open, payments })
}
