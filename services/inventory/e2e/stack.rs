//! The stock that a customer of the tests sees.

use harness::inventory::Stock;

use super::ServiceSide;
use crate::{Customer, TEA};

/// The side of inventory.
pub(crate) struct Side;

impl ServiceSide for Side {}

impl Customer {
    /// The stock of TEA.
    pub async fn stock(&self) -> Stock {
        self.api.stock(TEA).await.unwrap()
    }
}
